"""The weights of a model as llama.cpp places them: by layer, experts apart, and what stays on the host."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from service.core.architecture.tensors import TensorClass
from service.core.identity import ByIdentity
from service.core.weights.table import Weighed, WeightTable

# Tensors of the input layer, which llama.cpp always keeps on the CPU (dev_input, src/llama-model.cpp):
# the token embedding, per-layer embeddings, n-gram tables.
_INPUT_CLASSES = frozenset({TensorClass.EMBEDDING, TensorClass.LOOKUP_TABLE})
_EXPERT_CLASSES = frozenset({TensorClass.ROUTED_EXPERTS})

_EMBEDDING, _OUTPUT = "token_embd.weight", "output.weight"


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """Bytes of one layer: `rest` is all but its routed experts; `largest` the largest single tensor."""

    rest: int = 0
    experts: int = 0
    largest: int = 0


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Shares:
    """Bytes of a model by where llama.cpp puts them.

    layers: repeating layers in order, multi-token-prediction layers last. output: output matrix and final
    norms, on the last device; `duplicate` bytes of it are a copy of the token embedding. tables: input
    tensors, on the host. vision: the projector file (mmproj).
    total: everything loaded from files once.
    """

    layers: tuple[LayerWeights, ...]
    output: int
    tables: int
    vision: int
    total: int
    duplicate: int = 0


def shares(table: WeightTable) -> Shares:
    """Sort the tensors of a table; without an output matrix the token embedding is loaded a second time.

    The token embedding is an input tensor, its copy as output matrix (TENSOR_DUPLICATED) is not, so they
    cannot share memory once the output is on a device (src/llama-model-loader.cpp). Where a published size
    replaces the sum of the tensors, every tensor is scaled to it.
    """
    return _known(table)


def _sort(table: WeightTable) -> Shares:
    outside: Counter[str] = Counter()
    for item in table.tensors:
        if not item.layers or _is_input(item):
            outside[_place(item)] += item.all_bytes
    layers = [LayerWeights()] * table.layer_count
    for numbers, tensors in table.kinds():
        weights = _layer([item for item in tensors if not _is_input(item)])
        for number in numbers:
            layers[number] = weights
    duplicate, total = _duplicate(table), table.sum
    output = outside["output"] + duplicate
    found = Shares(tuple(layers), output, outside["tables"], outside["vision"], total, duplicate)
    return found if total == table.total_bytes else _scaled(found, table.total_bytes)


def _layer(tensors: Sequence[Weighed]) -> LayerWeights:
    """Bytes of a layer that holds one of each of these tensors."""
    experts = sum(item.bytes for item in tensors if item.tensor.tensor_class in _EXPERT_CLASSES)
    every = [item.bytes for item in tensors]
    return LayerWeights(sum(every) - experts, experts, max(every, default=0))


def _duplicate(table: WeightTable) -> int:
    """Bytes of the token embedding where it serves as output matrix too."""
    if any(item.tensor.role == _OUTPUT for item in table.tensors):
        return 0
    return sum(item.all_bytes for item in table.tensors if item.tensor.role == _EMBEDDING)


def _place(item: Weighed) -> str:
    """Where a tensor outside the layers goes; norms and what else is left go with the output."""
    if _is_input(item):
        return "tables"
    return "vision" if item.tensor.tensor_class is TensorClass.VISION else "output"


def _is_input(item: Weighed) -> bool:
    """Whether the tensor is looked up by row as input; DeepSeek V4's expert tables work inside a layer."""
    return item.tensor.tensor_class in _INPUT_CLASSES and not item.tensor.role.startswith("ffn_")


def _scaled(shares: Shares, total: int) -> Shares:
    """The same shares of another total."""
    if not shares.total:
        return Shares(shares.layers, total, 0, 0, total)

    def scale(size: int) -> int:
        return size * total // shares.total

    return Shares(
        layers=tuple(
            LayerWeights(scale(layer.rest), scale(layer.experts), scale(layer.largest))
            for layer in shares.layers
        ),
        output=scale(shares.output),
        tables=scale(shares.tables),
        vision=scale(shares.vision),
        total=total,
        duplicate=scale(shares.duplicate),
    )


_known: ByIdentity[WeightTable, Shares] = ByIdentity(_sort)
