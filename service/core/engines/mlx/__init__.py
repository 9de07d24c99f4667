"""MLX (mlx-lm, mlx-vlm): weights, caches and buffers in the unified memory of an Apple machine."""

from collections.abc import Sequence

from service.core.architecture.model import Architecture
from service.core.arrays import Whole
from service.core.derivation.explained import Explained
from service.core.derivation.steps import Trace
from service.core.engines.base import EngineDefaults
from service.core.engines.broadcast import FillsMemory
from service.core.engines.mlx.explain import explain
from service.core.engines.mlx.kv_types import KV_TYPES
from service.core.engines.mlx.load import PREFILL_STEP
from service.core.engines.mlx.plan import plan
from service.core.engines.mlx.sheet import sheet
from service.core.engines.sheets import Case, Places, Sheet
from service.core.hardware import Gpu
from service.core.scenario import Scenario
from service.core.sizing import EnginePlan, Sizing

_FORMATS = frozenset({"mlx-3bit", "mlx-4bit", "mlx-5bit", "mlx-6bit", "mlx-8bit", "bf16", "fp16"})


class MLX(FillsMemory):
    """mlx-lm 0.32.2; models that only mlx-vlm 0.7.10 runs are planned alike, as an estimate."""

    id = "mlx"
    version = "0.32.2"
    preference = 3
    modelled = True
    formats = _FORMATS
    default_format = "mlx-4bit"
    kv_dtypes = KV_TYPES
    separate_value_dtype = False
    splits_layers = True
    offloads = False

    def loads_native(self, architecture: Architecture) -> bool:  # noqa: ARG002 - never
        """No published checkpoint as it is: it is converted first."""
        return False

    def defaults(
        self,
        architecture: Architecture,  # noqa: ARG002 - the same for every model,
        gpu: Gpu,  # noqa: ARG002 - every machine,
        tensor_parallel: int,  # noqa: ARG002 - every layout
        context_tokens: int,  # noqa: ARG002 - and every context
    ) -> EngineDefaults:
        """A cache in the activation type, prompts in chunks of 2,048 tokens, the text model only."""
        return EngineDefaults(
            kv_cache_dtype="bf16",
            memory_utilization=None,
            max_batched_tokens=PREFILL_STEP,
            prefix_caching=True,
            vision=False,
        )

    def plan(self, scenario: Scenario, *, limits: bool = True) -> EnginePlan:
        """The allocation for a scenario, whatever the machine holds."""
        return plan(scenario, limits=limits)

    def sheet(self, cases: Sequence[Case], contexts: Whole, places: Places) -> Sheet:
        """The plan of every row at every context, on every place."""
        return sheet(cases, contexts, places)

    def explain(self, sizing: Sizing, trace: Trace) -> Explained:
        """The steps behind the plan."""
        return explain(sizing, trace)


ENGINE = MLX()
