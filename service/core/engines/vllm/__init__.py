"""vLLM 0.33.0: one paged block pool per rank, planned as its own KV cache planner does."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from service.core.architecture.model import Architecture
from service.core.arrays import Whole
from service.core.derivation.explained import Explained
from service.core.derivation.steps import Trace
from service.core.engines.base import EngineDefaults
from service.core.engines.sheets import Case, Places, Sheet
from service.core.engines.vllm.budget import UTILIZATION, usable_bytes
from service.core.engines.vllm.buffers import batch_defaults
from service.core.engines.vllm.dtypes import KV_DTYPES, auto_dtype
from service.core.engines.vllm.explain import explain
from service.core.engines.vllm.generation import generation
from service.core.engines.vllm.plan import plan
from service.core.engines.vllm.sheet import sheet
from service.core.hardware import Gpu, Platform
from service.core.scenario import Scenario
from service.core.sizing import EnginePlan, Sizing

_FORMATS = frozenset(
    {"native", "bf16", "fp16", "fp8", "int8", "awq-int4", "gptq-int4", "mxfp4", "nvfp4", "bnb-nf4"}
)


@dataclass(frozen=True, slots=True)
class VLLM:
    """The engine as the registry sees it."""

    id: str = "vllm"
    version: str = "0.33.0"
    preference: int = 0
    modelled: bool = True
    formats: frozenset[str] = _FORMATS
    default_format: str = "native"
    kv_dtypes: tuple[str, ...] = KV_DTYPES
    separate_value_dtype: bool = False
    splits_layers: bool = False
    offloads: bool = True

    def loads_native(self, architecture: Architecture) -> bool:  # noqa: ARG002 - any published checkpoint
        """Published safetensors checkpoints load as they are."""
        return True

    def defaults(
        self,
        architecture: Architecture,
        gpu: Gpu,
        tensor_parallel: int,  # noqa: ARG002 - nothing depends on it here
        context_tokens: int,  # noqa: ARG002
    ) -> EngineDefaults:
        """API-server defaults; prefix caching is on for recurrent models too (mode "align")."""
        batched_tokens, _ = batch_defaults(gpu)
        return EngineDefaults(
            kv_cache_dtype=auto_dtype(architecture, generation(gpu)),
            memory_utilization=UTILIZATION,
            max_batched_tokens=batched_tokens,
            prefix_caching=True,
            vision=True,
        )

    def plan(self, scenario: Scenario, *, limits: bool = True) -> EnginePlan:
        """The allocation for a scenario, computed whatever the verdict."""
        return plan(scenario, limits=limits)

    def peers(self, gpu: Gpu, platform: Platform, backend: str) -> Hashable:  # noqa: ARG002 - one rule for all
        """The generation, and the batch that the API server takes."""
        return generation(gpu), batch_defaults(gpu)

    def offered(self, scenario: Scenario, gpu: Gpu, platform: Platform) -> int | None:  # noqa: ARG002
        """Its share of the memory, on every platform."""
        return usable_bytes(gpu, scenario)

    def sheet(self, cases: Sequence[Case], contexts: Whole, places: Places) -> Sheet:
        """The plan of every row at every context, on every place."""
        return sheet(cases, contexts, places)

    def explain(self, sizing: Sizing, trace: Trace) -> Explained:
        """The steps behind the plan."""
        return explain(sizing, trace)


ENGINE = VLLM()
