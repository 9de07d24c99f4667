"""The widest moments of llama.cpp's graph, in f32 values for each token of the micro-batch.

Fitted to what llama-fit-params prints for weightless GGUF files of 45 models (llama.cpp of 2026-10-01);
the sources of the shapes are the graph builders in llama.cpp src/models and src/llama-graph.cpp.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from service.core.architecture.caches import (
    CompressedCache,
    IndexScheme,
    LatentCache,
    RecurrentState,
    StateKind,
)
from service.core.architecture.model import Architecture, Experts, Layer
from service.core.architecture.tensors import Tensor
from service.core.arrays import chosen, larger
from service.core.engines.llama_cpp.pool import Pool

_DELTA_NETS = frozenset({StateKind.GATED_DELTA_NET, StateKind.KIMI_DELTA})
_DELTA_CHUNK = 64  # tokens that the chunked delta rule works on at a time


@dataclass(frozen=True, slots=True)
class Stages:
    """What the graph holds at its widest, apart from masks.

    per_token: f32 values a token, whatever the context. per_cell: further values a token for each cell of
    the context (index scores). logits: values a token of the last stage beside the logits.
    layers: distinct layers, for stages that depend on the sequences. known: the rule was fitted to models
    of this kind.
    """

    per_token: float
    per_cell: float
    logits: int
    layers: tuple[Layer, ...]
    known: bool


def stages(architecture: Architecture) -> Stages:
    """The stages of an architecture; cheap, but meant to be made once and evaluated for many contexts."""
    layers = _distinct(architecture.layers)
    indexed = [_attention(layer, architecture) for layer in layers]
    feed_forward = max((_feed_forward(layer, architecture, layers) for layer in layers), default=0)
    attention = max((values for values, _, _ in indexed), default=0.0)
    return Stages(
        per_token=max(feed_forward + _per_layer_embeddings(architecture), attention),
        per_cell=max((per_cell for _, per_cell, _ in indexed), default=0.0),
        logits=2 * architecture.hidden_size + 1,
        layers=layers,
        known=all(known for _, _, known in indexed),
    )


def _distinct(layers: Iterable[Layer]) -> tuple[Layer, ...]:
    """One of each kind of layer; layers that are alike share their tuple of tensors."""
    kinds = {(id(layer.tensors), layer.cache, layer.index, layer.states): layer for layer in layers}
    return tuple(kinds.values())


def _feed_forward(layer: Layer, architecture: Architecture, layers: Iterable[Layer]) -> int:
    """Values a token that a dense MLP or the chosen experts hold at once."""
    hidden = architecture.hidden_size
    shapes = {tensor.role: tensor for tensor in layer.tensors}
    if "ffn_gate_inp.weight" in shapes and architecture.experts is not None:
        return _experts(shapes, architecture.experts, hidden, _has_delta_net(layers))
    down = shapes.get("ffn_down.weight")
    if down is None:
        return 0
    # Hybrid delta-net graphs add the residual in place, so one hidden row fewer is alive.
    rows = 3 if _has_delta_net(layers) else 4
    return 3 * down.shape[-1] + rows * hidden


def _has_delta_net(layers: Iterable[Layer]) -> bool:
    return any(state.kind is StateKind.GATED_DELTA_NET for layer in layers for state in layer.states)


def _experts(shapes: dict[str, Tensor], experts: Experts, hidden: int, delta_net: bool) -> int:
    """Values of the chosen experts: gate, up and product, or what they give back before it is summed."""
    width_in = experts.latent_dim or hidden
    chosen = experts.per_token * experts.width
    gated = "ffn_gate_exps.weight" in shapes or "ffn_gate_up_exps.weight" in shapes
    if not gated:
        return experts.per_token * (2 * width_in + experts.width)
    returned = 2 * experts.per_token * width_in
    if experts.latent_dim is not None:
        return returned + 2 * chosen + 7 * hidden
    inside = 3 * chosen + (5 if experts.shared_count else 4) * hidden
    if chosen >= 6 * hidden:
        return inside
    if delta_net:
        return max(inside, returned + hidden + 8 * experts.count)
    return max(inside, returned + 2 * chosen)


def _per_layer_embeddings(architecture: Architecture) -> int:
    """Gemma's per-layer inputs: the rows of all layers at once, beside two more hidden rows."""
    for tensor in architecture.outer:
        if tensor.role == "per_layer_token_embd.weight":
            return tensor.shape[-1]
    return 0


def _attention(layer: Layer, architecture: Architecture) -> tuple[float, float, bool]:
    """Values a token, values a token and cell, and whether such attention was fitted."""
    cache, heads = layer.cache, architecture.attention_heads
    if isinstance(cache, CompressedCache):
        # The four hyper-connection streams of all heads; scores of the compressed index and their order.
        return 4.0 * heads * (cache.latent_dim + cache.rope_dim), 0.1, True
    values = 0.0
    if isinstance(cache, LatentCache):
        values = heads * _latent_head(layer, cache, heads) + 4.0 * architecture.hidden_size
    if layer.index is None:
        return values, 0.0, True
    if layer.index.scheme is IndexScheme.DSA:
        # Chosen positions with their masks, and scores and order over all cells.
        return values + 67.0 * layer.index.top_tokens, 1.5, True
    return values + 67.0 * layer.index.top_tokens, 1.5, False


def _latent_head(layer: Layer, cache: LatentCache, heads: int) -> int:
    """Query, absorbed query, latent output and value of one head (DeepSeek: 192 + 576 + 512 + 128 = 1408)."""
    shapes = {tensor.role: tensor.shape for tensor in layer.tensors}
    query = shapes.get("attn_q_b.weight") or shapes.get("attn_q.weight") or (0, 0)
    output = shapes.get("attn_output.weight") or (0, 0)
    absorbed = cache.latent_dim + cache.rope_dim
    return query[0] // heads + absorbed + cache.latent_dim + output[-1] // heads


def sequence_values(stages: Stages, architecture: Architecture, pool: Pool) -> float:
    """Values a token of the stages that grow with the sequences of the micro-batch."""
    widest = 0.0
    for layer in stages.layers:
        for state in layer.states:
            widest = larger(
                widest, _recurrent(state, architecture.hidden_size, pool.sequences, pool.micro_batch)
            )
        if isinstance(layer.cache, CompressedCache) and pool.sequences > 1:
            widest = larger(widest, _streams(layer.cache, architecture.attention_heads, pool))
    return widest


def _streams(cache: CompressedCache, heads: int, pool: Pool) -> float:
    """DeepSeek V4 joins window rows and compressed rows of every stream, 16 bit, for one attention."""
    width = cache.latent_dim + cache.rope_dim
    cells = pool.window_cells(cache.window) + (pool.stream_cells // cache.ratio if cache.ratio else 0)
    joined = (pool.sequences - 1) * cells * width / 2
    return 4.0 * heads * width + joined / pool.micro_batch


def _recurrent(state: RecurrentState, hidden: int, sequences: int, micro_batch: int) -> float:
    """Mamba-2: projections and state copies. Delta nets: chunks of 64 tokens, padded for each sequence.

    The second is fitted to 16 sequences of 32 tokens; with 64 tokens or more a sequence it is not the widest.
    """
    inner = state.recurrent_heads * state.recurrent_rows
    if state.kind is StateKind.MAMBA2:
        copies = sequences * (state.recurrent_elements + 2 * state.conv_elements) / micro_batch
        return 4 * hidden + 5 * inner + state.conv_channels + state.recurrent_heads + copies
    if state.kind not in _DELTA_NETS:
        return 0.0
    tokens = larger(micro_batch // sequences, 1)
    padded = sequences * _DELTA_CHUNK
    chunks = 3 * hidden + state.conv_channels + 11.5 * inner * padded / micro_batch / 2
    return chosen(tokens >= _DELTA_CHUNK, 0.0, chunks)
