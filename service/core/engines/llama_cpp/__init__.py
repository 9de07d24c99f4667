"""llama.cpp (llama-server): GGUF weights, layer split, whole cache allocated at start."""

from collections.abc import Sequence

from service.core.architecture.model import Architecture
from service.core.arrays import Whole
from service.core.derivation.explained import Explained
from service.core.derivation.steps import Trace
from service.core.engines.base import EngineDefaults
from service.core.engines.broadcast import FillsMemory
from service.core.engines.llama_cpp.explain import explain
from service.core.engines.llama_cpp.formats import FORMATS, loads_native
from service.core.engines.llama_cpp.kv_types import KV_TYPES
from service.core.engines.llama_cpp.plan import plan
from service.core.engines.llama_cpp.pool import DEFAULT_MICRO_BATCH
from service.core.engines.llama_cpp.sheet import sheet
from service.core.engines.sheets import Case, Places, Sheet
from service.core.hardware import Gpu
from service.core.scenario import Scenario
from service.core.sizing import EnginePlan, Sizing


class LlamaCpp(FillsMemory):
    """llama.cpp as read and run at commit 0c1e57098 of 2026-10-01."""

    id = "llama.cpp"
    version = "0c1e57098"
    preference = 4
    modelled = True
    formats = FORMATS
    default_format = "q4_k_m"
    kv_dtypes = KV_TYPES
    separate_value_dtype = True
    splits_layers = True
    offloads = True

    def loads_native(self, architecture: Architecture) -> bool:
        """Whether the converter writes the published checkpoint without changing its values."""
        return loads_native(architecture)

    def defaults(
        self,
        architecture: Architecture,  # noqa: ARG002 - the same for every model,
        gpu: Gpu,  # noqa: ARG002 - every GPU,
        tensor_parallel: int,  # noqa: ARG002 - every layout
        context_tokens: int,  # noqa: ARG002 - and every context
    ) -> EngineDefaults:
        """f16 cache, `-ub 512`, prompts cached in their slot, no projector file; the same on every GPU."""
        return EngineDefaults(
            kv_cache_dtype="fp16",
            memory_utilization=None,
            max_batched_tokens=DEFAULT_MICRO_BATCH,
            prefix_caching=False,  # no flag; its prompt cache lives in system RAM
            vision=False,
        )

    def plan(self, scenario: Scenario, *, limits: bool = True) -> EnginePlan:
        """The allocation for a scenario, whatever the GPU holds."""
        return plan(scenario, limits=limits)

    def sheet(self, cases: Sequence[Case], contexts: Whole, places: Places) -> Sheet:
        """The plan of every row at every context, on every place."""
        return sheet(cases, contexts, places)

    def explain(self, sizing: Sizing, trace: Trace) -> Explained:
        """The steps behind the plan."""
        return explain(sizing, trace)


ENGINE = LlamaCpp()
