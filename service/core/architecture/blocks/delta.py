"""Gated DeltaNet: a linear attention with a state of constant size and a short convolution before it."""

from collections.abc import Iterator
from dataclasses import dataclass

from service.core.architecture.blocks.primitives import linear, vector
from service.core.architecture.caches import RecurrentState, StateKind
from service.core.architecture.tensors import Dtype, Split, Tensor, TensorClass

_PART = TensorClass.LINEAR_ATTENTION


@dataclass(frozen=True, slots=True)
class GatedDeltaNet:
    """Sizes of one layer; several value heads share a key head.

    fused_beta: beta and decay come from one projection `ssm_ba` (Qwen3-Next), else from two.
    single: A_log and the output norm are f32 in the checkpoint (Qwen3.5, by its published dtype counts).
    """

    hidden: int
    key_heads: int
    value_heads: int
    key_dim: int
    value_dim: int
    kernel: int
    fused_beta: bool = False
    single: bool = False

    @property
    def channels(self) -> int:
        """Convolved channels: queries, keys and values."""
        return 2 * self.key_heads * self.key_dim + self.value_heads * self.value_dim


def delta_tensors(shape: GatedDeltaNet) -> tuple[Tensor, ...]:
    """Every tensor of the mixer, as llama.cpp splits them (src/models/qwen35.cpp, qwen3next.cpp)."""
    scales = Dtype.F32 if shape.single else Dtype.BF16
    values = shape.value_heads * shape.value_dim
    return (
        linear("attn_qkv", shape.channels, shape.hidden, _PART),
        linear("attn_gate", values, shape.hidden, _PART),
        *_beta_and_decay(shape),
        Tensor("ssm_conv1d.weight", (shape.channels, shape.kernel), _PART, Split.SHARDED),
        vector("ssm_dt.bias", shape.value_heads, _PART, Split.SHARDED),
        vector("ssm_a", shape.value_heads, _PART, Split.SHARDED, scales),
        vector("ssm_norm.weight", shape.value_dim, _PART, Split.REPLICATED, scales),
        linear("ssm_out", shape.hidden, values, _PART),
    )


def delta_state(shape: GatedDeltaNet) -> RecurrentState:
    """kernel - 1 columns of every convolved channel, and a value_dim x key_dim matrix a value head."""
    return RecurrentState(
        StateKind.GATED_DELTA_NET,
        conv_channels=shape.channels,
        conv_rows=shape.kernel - 1,
        recurrent_heads=shape.value_heads,
        recurrent_rows=shape.value_dim,
        recurrent_columns=shape.key_dim,
    )


def _beta_and_decay(shape: GatedDeltaNet) -> Iterator[Tensor]:
    """The projections that give each value head its learning rate and its decay."""
    if shape.fused_beta:
        yield linear("ssm_ba", 2 * shape.value_heads, shape.hidden, _PART)
        return
    yield linear("ssm_beta", shape.value_heads, shape.hidden, _PART)
    yield linear("ssm_alpha", shape.value_heads, shape.hidden, _PART)
