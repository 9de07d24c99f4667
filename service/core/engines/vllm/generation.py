"""GPU generations as vLLM's attention backends tell them apart."""

from enum import StrEnum

from service.core.hardware import Gpu


class Generation(StrEnum):
    """What decides the attention backend, hence block sizes, packed KV rows and state checkpoints.

    Source: vLLM 0.33.0 platforms/cuda.py, _get_backend_priorities.
    """

    HOPPER = "sm90"
    BLACKWELL_DATACENTER = "sm100"
    BLACKWELL_CONSUMER = "sm120"
    OTHER = "other"  # Ampere, Ada, and every accelerator that is not NVIDIA's

    @property
    def flash_linear_attention(self) -> bool:
        """FlashInfer GDN and FlashKDA prefill kernels exist, which export state checkpoints."""
        return self is not Generation.OTHER


def generation(gpu: Gpu) -> Generation:
    """The generation of a GPU by its compute capability."""
    capability = gpu.compute_capability or 0
    if capability >= 120:
        return Generation.BLACKWELL_CONSUMER
    if capability >= 100:
        return Generation.BLACKWELL_DATACENTER
    return Generation.HOPPER if capability >= 90 else Generation.OTHER
