"""The frozen input of a sizing, every value decided."""

from dataclasses import dataclass, field

from service.core.catalogued import Model
from service.core.hardware import Gpu, Platform


@dataclass(frozen=True, slots=True)
class Layout:
    """How many ways each kind of parallelism divides the work; `split` is `tensor` or `layer` (llama.cpp)."""

    tensor: int = 1
    pipeline: int = 1
    expert: int = 1
    data: int = 1
    decode_context: int = 1
    split: str = "tensor"


# Parameter of the API -> the degree of the layout that it sets.
DEGREES = {
    "tensor_parallel": "tensor",
    "pipeline_parallel": "pipeline",
    "expert_parallel": "expert",
    "data_parallel": "data",
    "decode_context_parallel": "decode_context",
}


@dataclass(frozen=True, slots=True)
class Scenario:
    """One question, with every default filled in; names and units are those of the API.

    kv_cache_dtype / kv_cache_dtype_v: never `auto` here. memory_utilization: None where the engine has none.
    max_batched_tokens: tokens of one forward pass (llama.cpp: the micro-batch).
    defaulted: names of the parameters that the caller left out.
    """

    model: Model
    gpu: Gpu
    gpu_count: int
    engine: str
    backend: str
    platform: Platform
    quantization: str
    kv_cache_dtype: str
    kv_cache_dtype_v: str
    context_tokens: int
    concurrent_sequences: int
    layout: Layout
    max_batched_tokens: int
    prompt_tokens: int = 4096
    output_tokens: int = 512
    memory_utilization: float | None = None
    kv_cache_memory_bytes: int | None = None
    prefix_caching: bool = False
    cpu_offload_percent: float = 0.0
    system_memory_gib: float | None = None
    reserved_memory_bytes: int = 0
    vision: bool = False
    speculative_tokens: int = 0
    hours_per_day: float = 4.0
    electricity_usd_per_kwh: float = 0.25
    hardware_budget_usd: float | None = None
    defaulted: tuple[str, ...] = field(default=())
