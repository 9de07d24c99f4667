"""Multi-head latent attention (MLA): keys and values as one low-rank latent a token."""

from collections.abc import Iterator
from dataclasses import dataclass

from service.core.architecture.blocks.primitives import linear, norm
from service.core.architecture.caches import LatentCache
from service.core.architecture.tensors import Split, Tensor, TensorClass

_ATTENTION = TensorClass.ATTENTION


@dataclass(frozen=True, slots=True)
class LatentAttention:
    """Sizes of one MLA mixer.

    query_rank: None when the queries are projected in one step. rope_dim: 0 when the latent has no
    rotated part (NoPE). output_gate: a full-rank gate on the attention output (Kimi K3).
    owns_latent: false when the layer reads the latent of an earlier one (Mistral Large 4).
    """

    hidden: int
    heads: int
    query_rank: int | None
    latent_dim: int
    rope_dim: int
    nope_dim: int
    value_dim: int
    output_gate: bool = False
    owns_latent: bool = True

    @property
    def query_rows(self) -> int:
        """Outputs of the last query projection."""
        return self.heads * (self.nope_dim + self.rope_dim)


def latent_tensors(shape: LatentAttention) -> tuple[Tensor, ...]:
    """Every tensor of the mixer, without the norm of the layer before it.

    The checkpoint's kv_b_proj is listed as llama.cpp splits it for absorption: attn_k_b transposed to
    (heads, latent, nope) and attn_v_b (heads, value, latent); the elements are the same
    (llama.cpp conversion/deepseek.py). The down projections are replicated under tensor parallelism
    (vLLM 0.33.0 model_executor/models/deepseek_v2.py, ReplicatedLinear).
    """
    return (*_queries(shape), *_latent(shape), *_output(shape))


def latent_cache(shape: LatentAttention) -> LatentCache | None:
    """One latent and its rotated key a token; None for a layer that reads another's."""
    return LatentCache(shape.latent_dim, shape.rope_dim) if shape.owns_latent else None


def _queries(shape: LatentAttention) -> Iterator[Tensor]:
    """Queries through a low-rank bottleneck with a norm, or directly."""
    if shape.query_rank is None:
        yield linear("attn_q", shape.query_rows, shape.hidden, _ATTENTION)
        return
    yield linear("attn_q_a", shape.query_rank, shape.hidden, _ATTENTION, Split.REPLICATED)
    yield norm("attn_q_a_norm", shape.query_rank)
    yield linear("attn_q_b", shape.query_rows, shape.query_rank, _ATTENTION)


def _latent(shape: LatentAttention) -> Iterator[Tensor]:
    """The latent down projection and the two up projections per head."""
    if shape.owns_latent:
        rows = shape.latent_dim + shape.rope_dim
        yield linear("attn_kv_a_mqa", rows, shape.hidden, _ATTENTION, Split.REPLICATED)
        yield norm("attn_kv_a_norm", shape.latent_dim)
    up = (shape.heads, shape.latent_dim, shape.nope_dim)
    yield Tensor("attn_k_b.weight", up, _ATTENTION, Split.SHARDED, linear=True)
    value = (shape.heads, shape.value_dim, shape.latent_dim)
    yield Tensor("attn_v_b.weight", value, _ATTENTION, Split.SHARDED, linear=True)


def _output(shape: LatentAttention) -> Iterator[Tensor]:
    """The output projection and its gate."""
    width = shape.heads * shape.value_dim
    if shape.output_gate:
        yield linear("attn_gate", width, shape.hidden, _ATTENTION)
    yield linear("attn_output", shape.hidden, width, _ATTENTION)
