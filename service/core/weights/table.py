"""The weights of a model in one format, tensor by tensor; what layers share stands there once."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from service.core.architecture.tensors import Tensor
from service.core.evidence import Evidence


@dataclass(frozen=True, slots=True)
class Weighed:
    """A tensor in the chosen format, of which each of its layers has one.

    layers: their numbers, in order; empty for a tensor outside the layers. bytes: of one such tensor.
    """

    tensor: Tensor
    layers: tuple[int, ...]
    bytes: int
    encoding: str

    @property
    def count(self) -> int:
        """How many of these tensors there are."""
        return len(self.layers) or 1

    @property
    def all_bytes(self) -> int:
        """Bytes of all of them."""
        return self.bytes * (len(self.layers) or 1)


@dataclass(frozen=True, slots=True, weakref_slot=True)
class WeightTable:
    """All tensors that an engine loads, with their bytes.

    tensors: in the order in which the file has them first; a tensor that is stored differently in some of
      its layers stands there once for each encoding.
    total_bytes: sum of the tensors, unless a published size replaces a missing recipe.
    published_file_bytes: size of a published file of this format, beside the recipe's bytes.
    estimated: no recipe and no file exist for the format; the bytes follow a neighbouring format.
    """

    quantization: str
    tensors: tuple[Weighed, ...]
    total_bytes: int
    evidence: Evidence
    source: str
    published_file_bytes: int | None = None
    estimated: bool = False

    @property
    def sum(self) -> int:
        """Bytes of all tensors."""
        return sum(weighed.all_bytes for weighed in self.tensors)

    @property
    def layer_count(self) -> int:
        """The number behind the last layer that has tensors."""
        return 1 + max((weighed.layers[-1] for weighed in self.tensors if weighed.layers), default=-1)

    @property
    def outside(self) -> Iterator[Weighed]:
        """The tensors outside the layers."""
        return (weighed for weighed in self.tensors if not weighed.layers)

    def kinds(self) -> Iterator[tuple[list[int], list[Weighed]]]:
        """Layers that hold the same in the same encodings, with all that each of them holds."""
        parts: dict[int, tuple[tuple[int, ...], list[Weighed]]] = {}
        for weighed in self.tensors:
            parts.setdefault(id(weighed.layers), (weighed.layers, []))[1].append(weighed)
        held: dict[int, list[list[Weighed]]] = {}
        for layers, part in parts.values():
            for layer in layers:
                held.setdefault(layer, []).append(part)
        alike: dict[tuple[int, ...], tuple[list[int], list[list[Weighed]]]] = {}
        for layer in sorted(held):
            alike.setdefault(tuple(map(id, held[layer])), ([], held[layer]))[0].append(layer)
        for numbers, together in alike.values():
            yield numbers, list(chain.from_iterable(together))
