"""The weights of a model: elements by tensor class and encoding, and the bytes that each encoding takes."""

from dataclasses import dataclass

from service.core.architecture.tensors import TensorClass
from service.core.derivation.expressions import Expression, add
from service.core.derivation.steps import Topic, Trace, Unit
from service.core.derivation.tensors import Group, groups, layout
from service.core.evidence import Evidence
from service.core.sizing import Sourced
from service.core.weights.table import WeightTable

_SHAPES = Sourced(Evidence.CONFIG, "tensor shapes, which follow from config.json")
_STORED = Sourced(Evidence.CONFIG, "definition of the format: GGML block sizes, or values and scales")


@dataclass(frozen=True, slots=True)
class WeightSteps:
    """The model's weights and the groups that they are the sum of."""

    total: Expression
    groups: tuple[tuple[TensorClass, Expression], ...]

    def of(self, *classes: TensorClass) -> Expression:
        """The sum of the groups of these classes."""
        return add(size for tensor_class, size in self.groups if tensor_class in classes)


def model_weights(trace: Trace, table: WeightTable) -> WeightSteps:
    """The model in its format, each tensor once: a sum over classes of tensors and encodings.

    A group whose bytes are not those of its encoding (a published size spread over the tensors) is a leaf.
    """
    trace.about(Topic.WEIGHTS)
    source = Sourced(table.evidence, table.source)
    sizes: list[tuple[TensorClass, Expression]] = []
    for group in groups(table):
        size = trace.follows(
            f"weights_{group.tensor_class}_{group.encoding}",
            _group_bytes(trace, group),
            Unit.BYTES,
            source,
            figure=group.bytes,
            title="weights_of_class",
            tensor_class=str(group.tensor_class),
            encoding=group.encoding,
        )
        sizes.append((group.tensor_class, size))
    total = trace.follows(
        "model_weights",
        add(size for _, size in sizes),
        Unit.BYTES,
        source,
        figure=table.total_bytes,
        prints=("memory.model_weights",),
    )
    return WeightSteps(total, tuple(sizes))


def _group_bytes(trace: Trace, group: Group) -> Expression | None:
    """Elements times what one takes; None where the group's bytes follow something else."""
    stored = layout(group.encoding)
    if stored is None:
        return None
    if stored.block_elements:
        expected = group.elements // stored.block_elements * stored.block_bytes
    else:
        expected = group.elements * stored.bits // 8 + group.scales * stored.scale_bytes
        expected += group.matrices * stored.matrix_bytes
    # Facts are listed only where the formula holds.
    return _formula(trace, group) if expected == group.bytes else None


def _formula(trace: Trace, group: Group) -> Expression:
    stored = layout(group.encoding)
    assert stored is not None
    names = {"tensor_class": str(group.tensor_class), "encoding": group.encoding}
    key, encoding = f"{group.tensor_class}_{group.encoding}", group.encoding

    def fact(name: str, value: int, unit: Unit = Unit.BYTES) -> Expression:
        return trace.given(f"{name}_{encoding}", value, unit, _STORED, title=name, encoding=encoding)

    def count(name: str, value: int, unit: Unit) -> Expression:
        return trace.given(f"{name}_{key}", value, unit, _SHAPES, title=f"{name}_of_class", **names)

    elements = count("elements", group.elements, Unit.ELEMENTS)
    if stored.block_elements == 1:
        return elements * fact("element_bytes", stored.block_bytes)
    if stored.block_elements:
        per_block = fact("block_elements", stored.block_elements, Unit.ELEMENTS)
        return elements // per_block * fact("block_bytes", stored.block_bytes)
    total = elements * fact("value_bits", stored.bits, Unit.COUNT) // 8
    total += count("scales", group.scales, Unit.COUNT) * fact("scale_bytes", stored.scale_bytes)
    if stored.matrix_bytes:
        total += count("matrices", group.matrices, Unit.COUNT) * fact("matrix_bytes", stored.matrix_bytes)
    return total
