"""What a caller asks, before defaults: None means "not given"."""

from dataclasses import dataclass

from service.core.catalogued import Model
from service.core.hardware import Gpu

# Smallest and largest accepted value of each numeric parameter; the API document prints the same table.
RANGES: dict[str, tuple[float, float]] = {
    "gpu_count": (1, 1024),
    "context_tokens": (1, 2**24),
    "concurrent_sequences": (1, 65_536),
    "prompt_tokens": (1, 2**24),
    "output_tokens": (1, 2**24),
    "tensor_parallel": (1, 1024),
    "pipeline_parallel": (1, 1024),
    "expert_parallel": (1, 1024),
    "data_parallel": (1, 1024),
    "decode_context_parallel": (1, 1024),
    "cpu_offload_percent": (0, 100),
    "system_memory_gib": (0, 2**20),
    "reserved_memory_bytes": (0, 2**50),
    "memory_utilization": (0.1, 1),
    "kv_cache_memory_bytes": (1, 2**50),
    "max_batched_tokens": (1, 2**20),
    "speculative_tokens": (0, 64),
    "hours_per_day": (0, 24),
    "electricity_usd_per_kwh": (0, 100),
    "hardware_budget_usd": (0, 10**12),
}


@dataclass(frozen=True, slots=True)
class Request:
    """One scenario as asked; names and units are those of the API, values already of the right type."""

    model: Model
    gpu: Gpu
    gpu_count: int | None = None
    engine: str | None = None
    backend: str | None = None
    platform: str | None = None
    quantization: str | None = None
    kv_cache_dtype: str | None = None
    kv_cache_dtype_v: str | None = None
    context_tokens: int | None = None
    concurrent_sequences: int | None = None
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    tensor_parallel: int | None = None
    pipeline_parallel: int | None = None
    expert_parallel: int | None = None
    data_parallel: int | None = None
    decode_context_parallel: int | None = None
    cpu_offload_percent: float | None = None
    system_memory_gib: float | None = None
    reserved_memory_bytes: int | None = None
    vision: bool | None = None
    memory_utilization: float | None = None
    kv_cache_memory_bytes: int | None = None
    max_batched_tokens: int | None = None
    prefix_caching: bool | None = None
    speculative_tokens: int | None = None
    hours_per_day: float | None = None
    electricity_usd_per_kwh: float | None = None
    hardware_budget_usd: float | None = None


PARAMETERS: tuple[str, ...] = tuple(n for n in Request.__slots__ if n not in ("model", "gpu"))
