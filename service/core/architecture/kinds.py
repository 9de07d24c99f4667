"""What layers keep of a sequence, counted by kind, so that no engine walks through every layer.

`Kept` is what one layer keeps; `Kinds` counts layers that keep the same.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import accumulate
from typing import Generic, TypeVar

from service.core.architecture.caches import Cache, IndexCache, RecurrentState
from service.core.architecture.model import Architecture, Layer
from service.core.identity import ByIdentity

Kept = tuple[Cache | None, IndexCache | None, tuple[RecurrentState, ...]]
Kinds = tuple[tuple[Kept, int], ...]
Kind = TypeVar("Kind", bound=Hashable)


class Census(Generic[Kind]):
    """How often each kind occurs among any layers.

    numbers: the kind of each layer. counted: all kinds in the order of their first layers, with their counts.
    """

    __slots__ = ("_before", "counted", "numbers")

    def __init__(self, layers: Sequence[Kind]) -> None:
        known: dict[Kind, int] = {}
        self.numbers = tuple(known.setdefault(kind, len(known)) for kind in layers)
        self.counted = tuple((kind, self.numbers.count(number)) for kind, number in known.items())
        self._before = tuple(
            tuple(accumulate((own == number for own in self.numbers), initial=0)) for number in known.values()
        )

    def among(self, layers: range) -> tuple[tuple[Kind, int], ...]:
        """The kinds of a range of layers, with their counts."""
        start, stop = layers.start, layers.stop
        counts = [before[stop] - before[start] for before in self._before]
        return tuple((kind, count) for (kind, _), count in zip(self.counted, counts, strict=True) if count)


def kept_by(layer: Layer) -> Kept:
    """What one layer keeps."""
    return layer.cache, layer.index, layer.states


def kinds(layers: Iterable[Layer]) -> Kinds:
    """What layers keep, equal ones counted together; layers that keep nothing are left out."""
    return _keeping(Counter(map(kept_by, layers)).items())


def kinds_of(architecture: Architecture, layers: range | None = None, *, drafting: bool = False) -> Kinds:
    """The kinds of a range of the model's layers, None = all; as `kinds`, but the layers are read once.

    drafting: with the MTP layers, which run behind the last layer.
    """
    census, whole = _census(architecture, drafting)
    last = len(architecture.layers)
    if layers is None or (layers.start == 0 and layers.stop == last):
        return whole
    stop = len(census.numbers) if layers.stop == last else layers.stop
    return _keeping(census.among(range(layers.start, stop)))


def _keeping(counted: Iterable[tuple[Kept, int]]) -> Kinds:
    return tuple(pair for pair in counted if any(pair[0]))


def _take(architecture: Architecture, drafting: bool) -> tuple[Census[Kept], Kinds]:
    layers = (*architecture.layers, *(architecture.mtp if drafting else ()))
    census = Census([kept_by(layer) for layer in layers])
    return census, _keeping(census.counted)


_census = ByIdentity(_take)
