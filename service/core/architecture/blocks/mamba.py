"""Mamba-2: a selective state space with scalar decay per head."""

from dataclasses import dataclass

from service.core.architecture.blocks.primitives import linear, vector
from service.core.architecture.caches import RecurrentState, StateKind
from service.core.architecture.tensors import Split, Tensor, TensorClass

_SSM = TensorClass.STATE_SPACE


@dataclass(frozen=True, slots=True)
class Mamba:
    """Sizes of one Mamba-2 mixer.

    state_width: columns of the state of a head. groups: B and C are shared by heads / groups heads.
    """

    hidden: int
    heads: int
    head_dim: int
    state_width: int
    groups: int
    conv_kernel: int
    conv_bias: bool = True
    projection_bias: bool = False

    @property
    def inner(self) -> int:
        """Channels of all heads."""
        return self.heads * self.head_dim

    @property
    def conv_channels(self) -> int:
        """Channels that the convolution sees: inputs, B and C."""
        return self.inner + 2 * self.groups * self.state_width


def mamba_tensors(shape: Mamba) -> tuple[Tensor, ...]:
    """Every tensor of the mixer; the norm is (groups, channels of a group), as GGUF keeps it."""
    conv = (shape.conv_channels, shape.conv_kernel)
    per_head = (shape.heads, 1)
    tensors = [
        linear("ssm_in", shape.inner + shape.conv_channels + shape.heads, shape.hidden, _SSM),
        Tensor("ssm_conv1d.weight", conv, _SSM, Split.SHARDED),
        vector("ssm_dt.bias", shape.heads, _SSM, Split.SHARDED),
        Tensor("ssm_a", per_head, _SSM, Split.SHARDED),
        Tensor("ssm_d", per_head, _SSM, Split.SHARDED),
        Tensor(
            "ssm_norm.weight", (shape.groups, shape.inner // shape.groups), TensorClass.NORM, Split.SHARDED
        ),
        linear("ssm_out", shape.hidden, shape.inner, _SSM),
    ]
    if shape.conv_bias:
        tensors.append(vector("ssm_conv1d.bias", shape.conv_channels, _SSM, Split.SHARDED))
    if shape.projection_bias:
        tensors.append(vector("ssm_in.bias", shape.inner + shape.conv_channels + shape.heads, _SSM))
        tensors.append(vector("ssm_out.bias", shape.hidden, _SSM))
    return tuple(tensors)


def mamba_state(shape: Mamba) -> RecurrentState:
    """Convolution history and heads x head_dim x state_width of state."""
    return RecurrentState(
        StateKind.MAMBA2,
        conv_channels=shape.conv_channels,
        conv_rows=shape.conv_kernel - 1,
        recurrent_heads=shape.heads,
        recurrent_rows=shape.head_dim,
        recurrent_columns=shape.state_width,
        groups=shape.groups,
        group_width=shape.state_width,
    )
