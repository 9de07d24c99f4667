"""Kimi Delta Attention (KDA): linear attention with a gate for every channel and a fixed state."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from service.core.architecture.blocks.primitives import linear, norm, vector
from service.core.architecture.caches import RecurrentState, StateKind
from service.core.architecture.tensors import Dtype, Split, Tensor, TensorClass

_KDA = TensorClass.LINEAR_ATTENTION


@dataclass(frozen=True, slots=True)
class KimiDelta:
    """Sizes of one KDA mixer; keys and values have the same head_dim.

    full_rank_gate: the output gate is one matrix (Kimi K3) rather than a low-rank pair.
    decay_slots: entries of A_log in the checkpoint, more than heads where it is padded; llama.cpp's
    converter cuts the surplus off (conversion/kimi_k3.py).
    """

    hidden: int
    heads: int
    head_dim: int
    conv_kernel: int
    full_rank_gate: bool = False
    decay_slots: int = 0

    @property
    def width(self) -> int:
        """Channels of all heads."""
        return self.heads * self.head_dim


def kimi_delta_tensors(shape: KimiDelta) -> tuple[Tensor, ...]:
    """Every tensor of the mixer; convolutions are (channels, 1, kernel) as GGUF keeps them."""
    return (*_projections(shape), *_decay(shape), *_gate(shape))


def kimi_delta_state(shape: KimiDelta) -> RecurrentState:
    """Three convolution histories and one head_dim x head_dim matrix a head.

    Source: vLLM 0.33.0 model_executor/layers/mamba/mamba_utils.py kda_state_shape.
    """
    return RecurrentState(
        StateKind.KIMI_DELTA,
        conv_channels=3 * shape.width,
        conv_rows=shape.conv_kernel - 1,
        recurrent_heads=shape.heads,
        recurrent_rows=shape.head_dim,
        recurrent_columns=shape.head_dim,
    )


def _projections(shape: KimiDelta) -> Iterator[Tensor]:
    """Queries, keys, values, their convolutions and the output."""
    for role in ("attn_q", "attn_k", "attn_v"):
        yield linear(role, shape.width, shape.hidden, _KDA)
    for role in ("ssm_conv1d_q", "ssm_conv1d_k", "ssm_conv1d_v"):
        yield Tensor(f"{role}.weight", (shape.width, 1, shape.conv_kernel), _KDA, Split.SHARDED)
    yield linear("attn_output", shape.hidden, shape.width, _KDA)


def _decay(shape: KimiDelta) -> Iterator[Tensor]:
    """The forget gate of every channel and the writing strength of every head."""
    yield linear("ssm_f_a", shape.head_dim, shape.hidden, _KDA, Split.REPLICATED)
    yield linear("ssm_f_b", shape.width, shape.head_dim, _KDA)
    yield linear("ssm_beta", shape.heads, shape.hidden, _KDA)
    yield vector("ssm_a", shape.heads, _KDA, Split.SHARDED, Dtype.F32)
    if shape.decay_slots > shape.heads:
        surplus = vector("ssm_a_padding", shape.decay_slots - shape.heads, _KDA, dtype=Dtype.F32)
        yield replace(surplus, in_gguf=False, active=False)
    yield vector("ssm_dt.bias", shape.width, _KDA, Split.SHARDED, Dtype.F32)


def _gate(shape: KimiDelta) -> Iterator[Tensor]:
    """The output gate and the norm it multiplies."""
    if shape.full_rank_gate:
        yield linear("ssm_g", shape.width, shape.hidden, _KDA)
    else:
        yield linear("ssm_g_a", shape.head_dim, shape.hidden, _KDA, Split.REPLICATED)
        yield linear("ssm_g_b", shape.width, shape.head_dim, _KDA)
    yield norm("ssm_norm", shape.head_dim)
