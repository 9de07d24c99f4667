"""llama-quantize's choice of a type for every tensor of a model, in the order in which it counts them.

Source: llama.cpp src/llama-quant.cpp (copy of 2026-10-01), llama_model_quantize_impl.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from service.core.architecture.model import Architecture, Layer, LayerKind
from service.core.architecture.tensors import Tensor
from service.core.weights.block_types import GgmlType, fitting
from service.core.weights.gguf_rules import Category, Position, category
from service.core.weights.gguf_schemes import Scheme
from service.core.weights.gguf_source import dimensions, quantizable, source_type

Placed = tuple[int | None, Tensor]

# Mixers for which the converter writes 0 KV heads (conversion/kimi_k3.py, glm.py, nemotron.py, lfm2.py).
_WITHOUT_KV_HEADS = frozenset(
    {LayerKind.KIMI_DELTA, LayerKind.MAMBA2, LayerKind.SHORT_CONV, LayerKind.FEED_FORWARD}
)
# Layers at which src/models/*.cpp names a model "70B"; its narrow attn_v then gets at least Q5_K.
_SEVENTY_BILLION = {"llama": 80, "qwen2": 80}
# glm5-next: matrices that never go below Q8_0.
_AT_LEAST_Q8_0 = {"glm5-next": ("attn_q_a", "attn_q_b", "nextn.eh_proj")}


@dataclass(frozen=True, slots=True)
class Subject:
    """What the quantizer knows of the model: layers (with MTP), experts, head grouping, tied head."""

    architecture: str | None
    layers: int
    experts: int
    grouping: int
    seventy_billion: bool
    tied: bool
    values: int


def grouping(architecture: Architecture) -> int:
    """Query heads per KV head of the first layer as the GGUF header states them; 0 without KV heads.

    The converter gives MLA one KV head (conversion/deepseek.py); layers whose head counts differ are read
    from the first layer's own matrices.
    """
    layer = architecture.layers[0]
    if layer.kind in _WITHOUT_KV_HEADS:
        return 0
    roles = {tensor.role: tensor.shape for tensor in layer.tensors}
    if "attn_v.weight" in roles and "attn_output.weight" in roles:
        return roles["attn_output.weight"][-1] // roles["attn_v.weight"][0]
    if layer.kind in (LayerKind.LATENT, LayerKind.LATENT_INDEXED, LayerKind.COMPRESSED):
        return architecture.attention_heads
    return architecture.attention_heads // architecture.kv_heads if architecture.kv_heads else 0


def ordered(outer: Sequence[Tensor], layers: Iterable[Layer]) -> Iterator[Placed]:
    """Every tensor by layer and name, as the loader's map keeps them (llama-model-loader.h)."""
    for tensor in sorted(outer, key=lambda t: t.role):
        yield None, tensor
    sorted_once: dict[int, list[Tensor]] = {}
    for index, layer in enumerate(layers):
        known = sorted_once.get(id(layer.tensors))
        if known is None:
            known = sorted(layer.tensors, key=lambda t: t.role)
            sorted_once[id(layer.tensors)] = known
        for tensor in known:
            yield index, tensor


def subject(architecture: Architecture, placed: Sequence[Placed], layers: int) -> Subject:
    """The facts that the rules ask for, counted over the tensors of the file."""
    kinds = [category(tensor.role, layer) for layer, tensor in placed]
    name = architecture.gguf_architecture
    return Subject(
        architecture=name,
        layers=layers,
        experts=architecture.experts.count if architecture.experts else 0,
        grouping=grouping(architecture),
        seventy_billion=_SEVENTY_BILLION.get(name or "") == layers
        and (name != "llama" or architecture.attention_heads != architecture.kv_heads),
        tied=Category.HEAD not in kinds,
        values=kinds.count(Category.VALUE),
    )


def choose(scheme: Scheme, of: Subject, placed: Iterable[Placed]) -> Iterator[GgmlType]:
    """The type of each tensor in turn, the placed tensors in the quantizer's order.

    Alike layers share their tensors, and only values and down projections depend on the layer: the type of
    any other tensor is settled once.
    """
    values = downs = 0
    settled: dict[int, GgmlType] = {}
    for layer, tensor in placed:
        known = settled.get(id(tensor))
        if known is not None:
            yield known
            continue
        kind = category(tensor.role, layer)
        if not quantizable(tensor.role, tensor.shape, of.architecture):
            chosen = source_type(tensor, of.architecture)
        elif kind is Category.DOWN:
            index = layer if of.experts > 1 and not scheme.low_bit and layer is not None else downs
            chosen = _type(scheme, of, kind, tensor, Position(index, of.layers, of.grouping, of.experts))
            downs += 1
        else:
            chosen = _type(scheme, of, kind, tensor, Position(values, of.values, of.grouping, of.experts))
            values += kind is Category.VALUE
        if kind not in (Category.VALUE, Category.DOWN):
            settled[id(tensor)] = chosen
        yield chosen


def _type(scheme: Scheme, of: Subject, kind: Category, tensor: Tensor, at: Position) -> GgmlType:
    chosen = _special(scheme, of, kind, tensor)
    if chosen is None:
        chosen = _by_kind(scheme, kind, at) or scheme.base
        if kind is Category.VALUE and of.seventy_billion and not scheme.low_bit:
            chosen = GgmlType.Q5_K if chosen in (GgmlType.Q3_K, GgmlType.Q4_K) else chosen
    return fitting(chosen, tensor.shape[-1])


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


def _by_kind(scheme: Scheme, kind: Category, at: Position) -> GgmlType | None:
    if kind is Category.VALUE:
        return scheme.value(at)
    if kind is Category.DOWN:
        return scheme.down(at)
    return {
        Category.EMBEDDING: scheme.embedding,
        Category.KEY: scheme.key,
        Category.QUERY: scheme.query,
        Category.ATTENTION_OUTPUT: scheme.attention_output,
    }.get(kind)
