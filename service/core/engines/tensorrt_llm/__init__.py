"""TensorRT-LLM (PyTorch backend): paged pools in a fraction of what weights and profiling leave free."""

from collections.abc import Hashable, Sequence

from service.core.architecture.model import Architecture
from service.core.arrays import Whole
from service.core.derivation.explained import Explained
from service.core.derivation.steps import Trace
from service.core.engines.base import EngineDefaults
from service.core.engines.platforms import free_at_start
from service.core.engines.sheets import Case, Places, Sheet
from service.core.engines.tensorrt_llm.budget import FREE_FRACTION
from service.core.engines.tensorrt_llm.buffers import MAX_TOKENS
from service.core.engines.tensorrt_llm.cache import KV_DTYPES
from service.core.engines.tensorrt_llm.explain import explain
from service.core.engines.tensorrt_llm.plan import plan
from service.core.engines.tensorrt_llm.sheet import sheet
from service.core.hardware import Gpu, Platform
from service.core.scenario import Scenario
from service.core.sizing import EnginePlan, Sizing

_FORMATS = frozenset({"native", "bf16", "fp16", "fp8", "int8", "awq-int4", "gptq-int4", "mxfp4", "nvfp4"})


class TensorRTLLM:
    """trtllm-serve with its default backend; no release was run."""

    id = "tensorrt-llm"
    version = "main of 2026"
    preference = 2
    modelled = True
    formats = _FORMATS
    default_format = "native"
    kv_dtypes = KV_DTYPES
    separate_value_dtype = False
    splits_layers = False
    offloads = False

    def loads_native(self, architecture: Architecture) -> bool:  # noqa: ARG002 - any published checkpoint
        """Published safetensors checkpoints load as they are."""
        return True

    def defaults(
        self,
        architecture: Architecture,
        gpu: Gpu,  # noqa: ARG002 - the same on every GPU,
        tensor_parallel: int,  # noqa: ARG002 - in every layout
        context_tokens: int,  # noqa: ARG002 - and at every context
    ) -> EngineDefaults:
        """The cache type that the checkpoint declares, else bf16; steps of 8,192 tokens; block reuse on."""
        declared = architecture.kv_cache_dtype
        return EngineDefaults(
            kv_cache_dtype=declared if declared in KV_DTYPES else "bf16",
            memory_utilization=FREE_FRACTION,
            max_batched_tokens=MAX_TOKENS,
            prefix_caching=True,
            vision=True,
        )

    def plan(self, scenario: Scenario, *, limits: bool = True) -> EnginePlan:
        """The allocation for a scenario, computed whatever the verdict."""
        return plan(scenario, limits=limits)

    def peers(self, gpu: Gpu, platform: Platform, backend: str) -> Hashable:  # noqa: ARG002 - the same on all
        """Nothing but the memory tells accelerators apart."""
        return ()

    def offered(self, scenario: Scenario, gpu: Gpu, platform: Platform) -> int | None:
        """What is free at start."""
        return free_at_start(gpu, platform, scenario.reserved_memory_bytes).bytes

    def sheet(self, cases: Sequence[Case], contexts: Whole, places: Places) -> Sheet:
        """The plan of every row at every context, on every place."""
        return sheet(cases, contexts, places)

    def explain(self, sizing: Sizing, trace: Trace) -> Explained:
        """The steps behind the plan."""
        return explain(sizing, trace)


ENGINE = TensorRTLLM()
