"""Short convolution: a gated causal convolution over a few tokens (LFM)."""

from service.core.architecture.blocks.primitives import linear, vector
from service.core.architecture.caches import RecurrentState, StateKind
from service.core.architecture.tensors import Split, Tensor, TensorClass

_CONV = TensorClass.SHORT_CONV


def short_conv_tensors(hidden: int, kernel: int, *, bias: bool = False) -> tuple[Tensor, ...]:
    """In-projection to input and two gates, depthwise kernel (hidden, kernel), out-projection."""
    tensors = (
        linear("shortconv.in_proj", 3 * hidden, hidden, _CONV),
        Tensor("shortconv.conv.weight", (hidden, kernel), _CONV, Split.SHARDED),
        linear("shortconv.out_proj", hidden, hidden, _CONV),
    )
    if not bias:
        return tensors
    return (
        *tensors,
        vector("shortconv.in_proj.bias", 3 * hidden, _CONV, Split.SHARDED),
        vector("shortconv.conv.bias", hidden, _CONV, Split.SHARDED),
        vector("shortconv.out_proj.bias", hidden, _CONV),
    )


def short_conv_state(hidden: int, kernel: int) -> RecurrentState:
    """`kernel` columns of convolution input, as the reference keeps them (transformers 5.24.0 lfm3)."""
    return RecurrentState(StateKind.SHORT_CONV, conv_channels=hidden, conv_rows=kernel)
