"""Grouped-query attention: query, key, value and output projections with what families add to them."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from service.core.architecture.blocks.primitives import linear, norm, vector
from service.core.architecture.caches import KeyValueCache, Reach
from service.core.architecture.tensors import Split, Tensor, TensorClass


class QueryKeyNorm(StrEnum):
    """The norm on queries and keys before the rotation."""

    NONE = "none"
    PER_HEAD = "per_head"  # one scale of head_dim for all heads (Qwen3, Gemma 3, Hunyuan)
    FULL_WIDTH = "full_width"  # a scale for every channel of every head (MiniMax M2)


class Gate(StrEnum):
    """The gate on the attention output."""

    NONE = "none"
    IN_QUERY = "in_query"  # the query projection is twice as wide (Qwen3-Next, Qwen3.5)
    PER_HEAD = "per_head"  # one value a head (Step-3.5)
    PER_CHANNEL = "per_channel"  # a separate projection as wide as the attention output


@dataclass(frozen=True, slots=True)
class GroupedQuery:
    """Sizes and additions of one grouped-query attention.

    value_dim: head_dim when None. value_projection: false where keys serve as values (Gemma 4 global).
    unused_kv: k and v exist in the checkpoint but a layer that shares another's cache never reads them.
    """

    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    value_dim: int | None = None
    qkv_bias: bool = False
    output_bias: bool = False
    norm: QueryKeyNorm = QueryKeyNorm.NONE
    gate: Gate = Gate.NONE
    sinks: bool = False
    fused_qkv: bool = False
    value_projection: bool = True
    unused_kv: bool = False

    @property
    def values(self) -> int:
        """Width of one value head."""
        return self.head_dim if self.value_dim is None else self.value_dim

    @property
    def query_rows(self) -> int:
        """Outputs of the query projection, its gate included."""
        return self.heads * self.head_dim * (2 if self.gate is Gate.IN_QUERY else 1)


def attention_tensors(shape: GroupedQuery) -> tuple[Tensor, ...]:
    """Every tensor of the mixer, without the norm of the layer before it."""
    project = _fused if shape.fused_qkv else _separate
    return (*project(shape), *_output(shape), *_norms(shape))


def key_value_cache(
    shape: GroupedQuery, reach: Reach = Reach.FULL, window: int | None = None
) -> KeyValueCache:
    """What the layer keeps of each token; `window` in tokens for sliding and chunked layers."""
    return KeyValueCache(shape.kv_heads, shape.head_dim, shape.values, reach, window)


def _separate(shape: GroupedQuery) -> Iterator[Tensor]:
    """Query, key and value as three matrices, as most checkpoints and GGUF files hold them."""
    attention = TensorClass.ATTENTION
    keys, values = shape.kv_heads * shape.head_dim, shape.kv_heads * shape.values
    pairs = [("attn_q", shape.query_rows, Split.SHARDED), ("attn_k", keys, Split.KV_HEADS)]
    if shape.value_projection:
        pairs.append(("attn_v", values, Split.KV_HEADS))
    for role, rows, split in pairs:
        read = role == "attn_q" or not shape.unused_kv
        name = f"{role}.weight"
        yield Tensor(name, (rows, shape.hidden), attention, split, linear=True, active=read)
        if shape.qkv_bias:
            yield Tensor(f"{role}.bias", (rows,), attention, split, active=read)


def _fused(shape: GroupedQuery) -> Iterator[Tensor]:
    """Query, key and value stacked in one matrix (Phi-3)."""
    rows = shape.query_rows + shape.kv_heads * (shape.head_dim + shape.values)
    yield linear("attn_qkv", rows, shape.hidden, TensorClass.ATTENTION)
    if shape.qkv_bias:
        yield vector("attn_qkv.bias", rows, TensorClass.ATTENTION, Split.SHARDED)


def _output(shape: GroupedQuery) -> Iterator[Tensor]:
    """The output projection, its bias, gate and sinks."""
    width = shape.heads * shape.values
    yield linear("attn_output", shape.hidden, width, TensorClass.ATTENTION)
    if shape.output_bias:
        yield vector("attn_output.bias", shape.hidden, TensorClass.ATTENTION)
    if shape.gate in (Gate.PER_HEAD, Gate.PER_CHANNEL):
        rows = shape.heads if shape.gate is Gate.PER_HEAD else width
        yield linear("attn_gate", rows, shape.hidden, TensorClass.ATTENTION)
    if shape.sinks:
        yield vector("attn_sinks.weight", shape.heads, TensorClass.ATTENTION, Split.SHARDED)


def _norms(shape: GroupedQuery) -> Iterator[Tensor]:
    """The scales on queries and keys; a layer that reads another's cache keeps the query's only in use."""
    if shape.norm is QueryKeyNorm.NONE:
        return
    full = shape.norm is QueryKeyNorm.FULL_WIDTH
    query_width = shape.heads * shape.head_dim if full else shape.head_dim
    key_width = shape.kv_heads * shape.head_dim if full else shape.head_dim
    yield norm("attn_q_norm", query_width)
    scale = norm("attn_k_norm", key_width)
    yield Tensor(scale.role, scale.shape, scale.tensor_class, active=not shape.unused_kv)
