"""The tensors of a weight table, counted by class and encoding."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from service.core.architecture.tensors import TensorClass
from service.core.identity import ByIdentity
from service.core.units import ceil_div
from service.core.weights.block_types import GgmlType
from service.core.weights.encodings import ENCODINGS, affine, blocks, per_row, plain
from service.core.weights.table import Weighed, WeightTable

_AFFINE_GROUP = 64
_AFFINE_SCALE_BYTES = 4  # a 16-bit scale and a 16-bit bias


@dataclass(frozen=True, slots=True)
class Layout:
    """How an encoding stores values.

    block_elements, block_bytes: whole blocks, scales inside (GGML types and plain elements).
    bits: of a value where scales are stored apart. rows, columns: of the block that shares a scale; 0
    columns = a whole row. scale_bytes: of a scale. matrix_bytes: further ones of a matrix.
    """

    block_elements: int = 0
    block_bytes: int = 0
    bits: int = 0
    rows: int = 0
    columns: int = 0
    scale_bytes: int = 0
    matrix_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Group:
    """Tensors of one class and encoding. bytes: of the table. scales: blocks that share one."""

    tensor_class: TensorClass
    encoding: str
    elements: int
    bytes: int
    scales: int
    matrices: int


def layout(encoding: str) -> Layout | None:
    """How an encoding stores values, None where it packs more than values and scales."""
    for block_type in GgmlType:
        if block_type.label == encoding:
            return Layout(block_type.block_elements, block_type.block_bytes)
    rule = ENCODINGS.get(encoding)
    if not isinstance(rule, partial):
        return None
    facts: dict[str, int] = rule.keywords
    if rule.func is plain:
        return Layout(1, facts["size"])
    if rule.func is blocks:
        return Layout(**facts)
    if rule.func is per_row:
        return Layout(bits=facts["bits"], rows=1, scale_bytes=facts["scale_bytes"])
    if rule.func is affine:
        columns = facts.get("group", _AFFINE_GROUP)
        return Layout(bits=facts["bits"], rows=1, columns=columns, scale_bytes=_AFFINE_SCALE_BYTES)
    return None


def _grouped(table: WeightTable) -> tuple[Group, ...]:
    found: dict[tuple[TensorClass, str], list[Weighed]] = {}
    for weighed in table.tensors:
        found.setdefault((weighed.tensor.tensor_class, weighed.encoding), []).append(weighed)
    return tuple(_group(*key, tensors) for key, tensors in found.items())


def _group(tensor_class: TensorClass, encoding: str, tensors: Iterable[Weighed]) -> Group:
    stored = layout(encoding)
    elements = size = scales = matrices = 0
    for weighed in tensors:
        shape, number = weighed.tensor.shape, weighed.count
        elements += number * weighed.tensor.parameters
        size += weighed.all_bytes
        if stored is not None and stored.rows:
            height = shape[-2] if len(shape) > 1 else 1
            count = max(1, weighed.tensor.parameters // max(1, height * shape[-1]))
            across = ceil_div(shape[-1], stored.columns) if stored.columns else 1
            scales += number * count * ceil_div(height, stored.rows) * across
            matrices += number * count
    return Group(tensor_class, encoding, elements, size, scales, matrices)


groups: ByIdentity[WeightTable, tuple[Group, ...]] = ByIdentity(_grouped)
