"""llama-quantize's choice of a type for every tensor of a model.

Source: llama.cpp src/llama-quant.cpp (copy of 2026-10-01), llama_model_quantize_impl.
"""

from collections.abc import Callable, Iterator
from functools import partial

from service.core.architecture.tensors import Tensor
from service.core.weights.block_types import GgmlType, fitting
from service.core.weights.gguf_contents import Placed, Subject
from service.core.weights.gguf_rules import Among, Category
from service.core.weights.gguf_schemes import Scheme
from service.core.weights.gguf_source import dimensions, source_type

# glm5-next: matrices that never go below Q8_0.
_AT_LEAST_Q8_0 = {"glm5-next": ("attn_q_a", "attn_q_b", "nextn.eh_proj")}

Chosen = tuple[GgmlType, tuple[int, ...]]  # a type, and the layers that have a tensor in it


def choose(scheme: Scheme, of: Subject, placed: Placed) -> Iterator[Chosen]:
    """The types that a tensor gets, each with the layers that have it so, the first layer's type first.

    Only values and down projections depend on where they stand.
    """
    tensor, kind = placed.tensor, placed.category
    if not placed.quantizable:
        yield source_type(tensor, of.architecture), placed.layers
        return
    settled = _special(scheme, of, kind, tensor)
    if settled is None and not placed.before:
        settled = _by_category(scheme, kind)
    if settled is not None:
        yield fitting(settled, tensor.shape[-1]), placed.layers
    else:
        yield from _by_place(scheme, of, placed)


def _by_place(scheme: Scheme, of: Subject, placed: Placed) -> Iterator[Chosen]:
    """The types of a tensor that the rules count; the down projections of experts are counted by layer."""
    by_layer = placed.category is Category.DOWN and of.experts > 1 and not scheme.low_bit
    places = placed.layers if by_layer and placed.layers else placed.before
    rule = _counted(scheme, of, placed.category)
    types = [rule(place) or scheme.base for place in places]
    raised = placed.category is Category.VALUE and of.seventy_billion and not scheme.low_bit
    finals = {chosen: _final(chosen, placed.tensor.shape[-1], raised=raised) for chosen in set(types)}
    if len(finals) == 1:
        yield finals[types[0]], placed.layers
        return
    layers: dict[GgmlType, list[int]] = {}
    for layer, chosen in zip(placed.layers, types, strict=True):
        layers.setdefault(finals[chosen], []).append(layer)
    for final, having in layers.items():
        yield final, tuple(having)


def _final(chosen: GgmlType, width: int, *, raised: bool) -> GgmlType:
    """The type that rows of this width get; raised: values of a 70B model, which have at least Q5_K."""
    if raised and chosen in (GgmlType.Q3_K, GgmlType.Q4_K):
        chosen = GgmlType.Q5_K
    return fitting(chosen, width)


def _special(scheme: Scheme, of: Subject, kind: Category, tensor: Tensor) -> GgmlType | None:
    """What stands above the table: minimum types, the head, third dimensions, eight experts."""
    if any(part in tensor.role for part in _AT_LEAST_Q8_0.get(of.architecture or "", ())):
        return GgmlType.Q8_0
    if kind is Category.HEAD or (of.tied and kind is Category.EMBEDDING):
        return scheme.head if scheme.base.fits(tensor.shape[-1]) else GgmlType.Q8_0
    if scheme.three_dimensional and dimensions(tensor.shape) > 2:
        return scheme.three_dimensional
    return _eight_experts(scheme, kind) if of.experts == 8 else None


def _eight_experts(scheme: Scheme, kind: Category) -> GgmlType | None:
    if kind is Category.ATTENTION_OUTPUT:
        return scheme.eight_experts_output or scheme.base
    if kind is Category.KEY:
        return GgmlType.Q4_K if scheme.low_bit else GgmlType.Q8_0
    if kind is Category.VALUE and not scheme.low_bit:
        return GgmlType.Q8_0
    return None


def _counted(scheme: Scheme, of: Subject, kind: Category) -> Callable[[int], GgmlType | None]:
    """The scheme's rule for values or down projections of this model."""
    if kind is Category.VALUE:
        return partial(scheme.value, Among(of.values, of.grouping, of.experts))
    return partial(scheme.down, Among(of.layers, of.grouping, of.experts))


def _by_category(scheme: Scheme, kind: Category) -> GgmlType:
    """The type of a tensor wherever it stands."""
    named = {
        Category.EMBEDDING: scheme.embedding,
        Category.KEY: scheme.key,
        Category.QUERY: scheme.query,
        Category.ATTENTION_OUTPUT: scheme.attention_output,
    }
    return named.get(kind) or scheme.base
