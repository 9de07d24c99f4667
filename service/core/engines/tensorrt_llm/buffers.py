"""What TensorRT-LLM needs beside weights and pools.

Source: NVIDIA aiconfigurator 0.12.0 base_backend._get_memory_usage, fitted by NVIDIA to TensorRT-LLM's own
profiling: activations of a step, NCCL, and what is outside PyTorch.
"""

from service.core.architecture.model import Architecture
from service.core.scenario import Layout
from service.core.units import GIB, MIB

MAX_TOKENS = 8192  # max_num_tokens
MAX_BATCH = 2048  # max_batch_size
FITTED_DEGREES = frozenset({1, 2, 4, 8})
# Widths of the heads that live at once, by tensor parallelism.
_DENSE = ((8, 5.0), (4, 5.0), (2, 6.5), (1, 11.0))
_EXPERTS = ((8, 10.0), (4, 10.0), (2, 13.0), (1, 22.0))
_LEAST_ACTIVATIONS = 70 * MIB
_NCCL_MIB = ((8, 392), (4, 392), (2, 342), (1, 0))
_OUTSIDE = 55 * GIB // 100


def activation_bytes(architecture: Architecture, layout: Layout, tokens: int) -> int:
    """Peak of the profiling step of `tokens` on one rank: 2 bytes * tokens * all heads * a coefficient."""
    coefficients = _EXPERTS if architecture.experts is not None else _DENSE
    coefficient = next(value for degree, value in coefficients if layout.tensor >= degree)
    heads = architecture.attention_heads * architecture.head_dim
    return max(_LEAST_ACTIVATIONS, int(2 * tokens * heads * coefficient))


def runtime_overhead(layout: Layout) -> int:
    """CUDA context, libraries and graphs, and NCCL where several GPUs work together."""
    together = layout.tensor * layout.pipeline * layout.data
    return _OUTSIDE + next(mib for degree, mib in _NCCL_MIB if together >= degree) * MIB
