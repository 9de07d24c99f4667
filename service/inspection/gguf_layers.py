"""From the tensor list of a GGUF file to layers: exact shapes, and caches by what each layer's tensors are.

Metadata keys: ggml docs/gguf.md and llama.cpp src/llama-arch.cpp, without the architecture's prefix here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from service.core.architecture.caches import (
    KeyValueCache,
    LatentCache,
    Reach,
    RecurrentState,
    StateKind,
)
from service.core.architecture.model import FeedForward, Layer, LayerKind
from service.core.architecture.tensors import Split, Tensor, TensorClass
from service.inspection.gguf_header import GgufTensor

# Beginning of a role, or a part of it, -> class and split; the first that matches.
_CLASSES: tuple[tuple[str, TensorClass, Split], ...] = (
    ("per_layer_token_embd", TensorClass.LOOKUP_TABLE, Split.VOCABULARY),
    ("token_embd", TensorClass.EMBEDDING, Split.VOCABULARY),
    ("output.weight", TensorClass.OUTPUT, Split.VOCABULARY),
    ("ffn_gate_inp_shexp", TensorClass.SHARED_EXPERTS, Split.REPLICATED),
    ("ffn_gate_inp", TensorClass.ROUTER, Split.REPLICATED),
    ("exp_probs_b", TensorClass.ROUTER, Split.REPLICATED),
    ("_exps", TensorClass.ROUTED_EXPERTS, Split.EXPERTS),
    ("_shexp", TensorClass.SHARED_EXPERTS, Split.SHARDED),
    ("norm", TensorClass.NORM, Split.REPLICATED),
    ("nextn.", TensorClass.OTHER, Split.REPLICATED),
    ("indexer", TensorClass.INDEXER, Split.REPLICATED),
    ("shortconv", TensorClass.SHORT_CONV, Split.SHARDED),
    ("ssm_", TensorClass.STATE_SPACE, Split.SHARDED),
    ("attn_q_a", TensorClass.ATTENTION, Split.REPLICATED),
    ("attn_kv_a", TensorClass.ATTENTION, Split.REPLICATED),
    ("attn_k_b", TensorClass.ATTENTION, Split.SHARDED),
    ("attn_v_b", TensorClass.ATTENTION, Split.SHARDED),
    ("attn_k", TensorClass.ATTENTION, Split.KV_HEADS),
    ("attn_v", TensorClass.ATTENTION, Split.KV_HEADS),
    ("attn_", TensorClass.ATTENTION, Split.SHARDED),
    ("ffn_", TensorClass.DENSE_FFN, Split.SHARDED),
)
_TABLES = (TensorClass.EMBEDDING, TensorClass.LOOKUP_TABLE, TensorClass.ROUTER)


@dataclass(frozen=True, slots=True)
class LayerSizes:
    """What the metadata says of one layer; window None where it sees everything."""

    kv_heads: int
    key_dim: int
    value_dim: int
    window: int | None
    latent_dim: int
    rope_dim: int
    state_width: int
    inner_width: int
    state_heads: int


def tensor_of(entry: GgufTensor, role: str) -> Tensor:
    """The tensor under its role; a matrix that is no table counts as a linear layer."""
    kind, split = next(
        ((kind, split) for part, kind, split in _CLASSES if part in role),
        (TensorClass.OTHER, Split.REPLICATED),
    )
    linear = len(entry.shape) > 1 and role.endswith(".weight") and kind not in _TABLES
    return Tensor(role, entry.shape, kind, split, linear=linear, active=kind is not TensorClass.LOOKUP_TABLE)


def layer_of(tensors: Sequence[Tensor], sizes: LayerSizes) -> Layer:
    """The layer that these tensors make."""
    shapes = {tensor.role: tensor.shape for tensor in tensors}
    states = tuple(_states(shapes, sizes))
    kind, cache = _mixer(shapes, sizes, states)
    return Layer(kind, _feed_forward(shapes), tuple(tensors), cache, states=states)


def _mixer(
    shapes: Mapping[str, tuple[int, ...]], sizes: LayerSizes, states: tuple[RecurrentState, ...]
) -> tuple[LayerKind, KeyValueCache | LatentCache | None]:
    if "attn_kv_a_mqa.weight" in shapes:
        return LayerKind.LATENT, LatentCache(sizes.latent_dim, sizes.rope_dim)
    if states:
        return _STATE_LAYERS[states[0].kind], None
    if "attn_k.weight" in shapes or "attn_qkv.weight" in shapes:
        reach = Reach.FULL if sizes.window is None else Reach.SLIDING
        kind = LayerKind.FULL if sizes.window is None else LayerKind.SLIDING
        return kind, KeyValueCache(sizes.kv_heads, sizes.key_dim, sizes.value_dim, reach, sizes.window)
    return LayerKind.FEED_FORWARD, None


_STATE_LAYERS = {
    StateKind.MAMBA2: LayerKind.MAMBA2,
    StateKind.GATED_DELTA_NET: LayerKind.GATED_DELTA_NET,
    StateKind.KIMI_DELTA: LayerKind.KIMI_DELTA,
    StateKind.SHORT_CONV: LayerKind.SHORT_CONV,
}


def _states(shapes: Mapping[str, tuple[int, ...]], sizes: LayerSizes) -> list[RecurrentState]:
    """Convolution history by the kernels' shapes (channels, …, kernel), recurrence by the metadata."""
    if "shortconv.conv.weight" in shapes:
        channels, *_, kernel = shapes["shortconv.conv.weight"]
        return [RecurrentState(StateKind.SHORT_CONV, channels, kernel - 1)]
    kernels = [shape for role, shape in shapes.items() if role.startswith("ssm_conv1d") and len(shape) > 1]
    if not kernels:
        return []
    kind = StateKind.MAMBA2 if "ssm_in.weight" in shapes else StateKind.GATED_DELTA_NET
    heads, rows, columns = sizes.state_heads, 0, sizes.state_width
    if "ssm_conv1d_q.weight" in shapes:
        kind, heads = StateKind.KIMI_DELTA, max(sizes.state_heads, 1)
        rows = columns = kernels[0][0] // heads
    elif heads:
        rows = sizes.inner_width // heads
    channels = sum(shape[0] for shape in kernels)
    return [RecurrentState(kind, channels, kernels[0][-1] - 1, heads, rows, columns)]


def _feed_forward(shapes: Mapping[str, tuple[int, ...]]) -> FeedForward:
    if "ffn_down_exps.weight" in shapes:
        return FeedForward.MOE
    return FeedForward.DENSE if "ffn_down.weight" in shapes else FeedForward.NONE
