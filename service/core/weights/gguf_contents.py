"""What a GGUF file of a model holds, in llama-quantize's order, and the facts that its rules ask for.

Source: llama.cpp src/llama-quant.cpp (copy of 2026-10-01), llama_model_quantize_impl.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from service.core.architecture.model import Architecture, LayerKind
from service.core.architecture.tensors import Tensor
from service.core.identity import ByIdentity
from service.core.weights.alike import Alike, alike
from service.core.weights.gguf_rules import Category, category
from service.core.weights.gguf_source import quantizable

# Mixers for which the converter writes 0 KV heads (conversion/kimi_k3.py, glm.py, nemotron.py, lfm2.py).
_WITHOUT_KV_HEADS = frozenset(
    {LayerKind.KIMI_DELTA, LayerKind.MAMBA2, LayerKind.SHORT_CONV, LayerKind.FEED_FORWARD}
)
# Layers at which src/models/*.cpp names a model "70B"; its narrow attn_v then gets at least Q5_K.
_SEVENTY_BILLION = {"llama": 80, "qwen2": 80}
_COUNTED = (Category.VALUE, Category.DOWN)  # the rules of some file types count these


@dataclass(frozen=True, slots=True)
class Placed:
    """A tensor of a file.

    layers: those that have it, none for a tensor outside the layers. before: for each of them, how many
    tensors of its category that are quantized come before it; empty where no rule counts it.
    """

    tensor: Tensor
    category: Category
    quantizable: bool
    layers: tuple[int, ...]
    before: tuple[int, ...] = ()


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


@dataclass(frozen=True, slots=True)
class Contents:
    """The tensors of a file, in the order in which each comes first, and what the quantizer knows of it."""

    placed: tuple[Placed, ...]
    subject: Subject


def _read(architecture: Architecture, mtp: bool, unused_kv: bool) -> Contents:
    drafting = [layer for layer in architecture.mtp if any(t.in_gguf for t in layer.tensors)] if mtp else []
    own = len(architecture.layers)
    kinds = [
        list(_placed(architecture, kind, unused_kv))
        for kind in (Alike(architecture.outer, ()), *alike(architecture.layers), *alike(drafting, own))
    ]
    placed = tuple(_counted(kinds))
    return Contents(placed, _subject(architecture, placed, own + len(drafting)))


# (architecture, with the MTP layers that the converter knows, with unused K and V) -> its file.
gguf_contents: ByIdentity[Architecture, bool, bool, Contents] = ByIdentity(_read)


def _placed(architecture: Architecture, kind: Alike, unused_kv: bool) -> Iterator[Placed]:
    """The tensors of a kind of layers by name, as the loader's map keeps them (llama-model-loader.h)."""
    name = architecture.gguf_architecture
    for tensor in sorted(kind.tensors, key=lambda found: found.role):
        if tensor.in_gguf and (unused_kv or not _unused_kv(tensor)):
            found = category(tensor.role, inside=bool(kind.layers))
            yield Placed(tensor, found, quantizable(tensor.role, tensor.shape, name), kind.layers)


def _unused_kv(tensor: Tensor) -> bool:
    return not tensor.active and tensor.role.startswith(("attn_k", "attn_v"))


def _counted(kinds: Sequence[Sequence[Placed]]) -> Iterator[Placed]:
    """Each tensor with its places in its category, counted layer after layer."""
    passed = dict.fromkeys(_COUNTED, 0)
    before: dict[int, list[int]] = {}
    for _, among in sorted(_by_layer(kinds), key=lambda layer: layer[0]):
        for placed in among:
            before.setdefault(id(placed), []).append(passed[placed.category])
            passed[placed.category] += 1
    for kind in kinds:
        for placed in kind:
            places = before.get(id(placed))
            yield replace(placed, before=tuple(places)) if places else placed


def _by_layer(kinds: Sequence[Sequence[Placed]]) -> Iterator[tuple[int, list[Placed]]]:
    """Each layer's tensors that are counted; what stands outside the layers is before them."""
    for kind in kinds:
        among = [placed for placed in kind if placed.quantizable and placed.category in _COUNTED]
        if among:
            yield from ((layer, among) for layer in among[0].layers or (-1,))


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


def _subject(architecture: Architecture, placed: Sequence[Placed], layers: int) -> Subject:
    """The facts that the rules ask for, counted over the tensors of the file."""
    name = architecture.gguf_architecture
    return Subject(
        architecture=name,
        layers=layers,
        experts=architecture.experts.count if architecture.experts else 0,
        grouping=grouping(architecture),
        seventy_billion=_SEVENTY_BILLION.get(name or "") == layers
        and (name != "llama" or architecture.attention_heads != architecture.kv_heads),
        tied=all(found.category is not Category.HEAD for found in placed),
        values=sum(len(found.layers) or 1 for found in placed if found.category is Category.VALUE),
    )
