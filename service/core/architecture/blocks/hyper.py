"""Manifold-constrained hyper-connections (mHC): several residual streams, mixed around every block."""

from service.core.architecture.tensors import Dtype, Tensor, TensorClass

_MIX = TensorClass.HYPER_CONNECTION


def hyper_connection(block: str, hidden: int, streams: int, dtype: Dtype = Dtype.F32) -> tuple[Tensor, ...]:
    """The mixing weights around one block (`attn` or `ffn`), kept at f32.

    The projection of the flattened streams gives `streams` weights to collapse, `streams` to expand and
    streams x streams to mix (transformers 5.24.0 deepseek_v4, HyperConnection).
    """
    mixes = (2 + streams) * streams
    return (
        Tensor(f"hc_{block}_fn.weight", (mixes, streams * hidden), _MIX, dtype=dtype),
        Tensor(f"hc_{block}_base.weight", (mixes,), _MIX, dtype=Dtype.F32),
        Tensor(f"hc_{block}_scale.weight", (3,), _MIX, dtype=Dtype.F32),
    )


def hyper_head(hidden: int, streams: int) -> tuple[Tensor, ...]:
    """What collapses the streams before the final norm."""
    return (
        Tensor("output_hc_fn.weight", (streams, streams * hidden), _MIX, dtype=Dtype.F32),
        Tensor("output_hc_base.weight", (streams,), _MIX, dtype=Dtype.F32),
        Tensor("output_hc_scale.weight", (1,), _MIX, dtype=Dtype.F32),
    )
