"""Engines whose own planning is not modelled yet: another engine's allocation stands in, and says so."""

from dataclasses import dataclass, replace

from service.core.architecture.model import Architecture
from service.core.engines.base import Engine, EngineDefaults
from service.core.evidence import Evidence
from service.core.hardware import Gpu
from service.core.scenario import Scenario
from service.core.sizing import EnginePlan, Note, Sourced

# Terms that follow from the model alone and stay as certain as the other engine's figure.
_ENGINE_TERMS = ("kv_cache", "recurrent_state", "compute_buffers", "runtime_overhead", "usable")


@dataclass(frozen=True, slots=True)
class StandIn:
    """An engine that loads its own formats but is planned like `base`; every engine term is an estimate."""

    id: str
    version: str
    preference: int
    formats: frozenset[str]
    default_format: str
    kv_dtypes: tuple[str, ...]
    base: Engine
    modelled: bool = False
    separate_value_dtype: bool = False
    splits_layers: bool = False
    offloads: bool = False

    def loads_native(self, architecture: Architecture) -> bool:
        """As the engine that stands in."""
        return "native" in self.formats and self.base.loads_native(architecture)

    def defaults(
        self, architecture: Architecture, gpu: Gpu, tensor_parallel: int, context_tokens: int
    ) -> EngineDefaults:
        """The stand-in's defaults, as far as this engine has the same values."""
        defaults = self.base.defaults(architecture, gpu, tensor_parallel, context_tokens)
        if defaults.kv_cache_dtype not in self.kv_dtypes:
            defaults = replace(defaults, kv_cache_dtype=self.kv_dtypes[0])
        return defaults

    def plan(self, scenario: Scenario, *, limits: bool = True) -> EnginePlan:
        """The stand-in's allocation, its engine terms marked as estimates."""
        plan = self.base.plan(scenario, limits=limits)
        source = f"{self.base.id} {self.base.version} stands in for {self.id}"
        evidence = {
            term: Sourced(Evidence.ESTIMATE, source) if term in _ENGINE_TERMS else sourced
            for term, sourced in plan.evidence.items()
        }
        note = Note("engine_not_modelled", {"engine": self.id, "stand_in": self.base.id})
        return replace(plan, evidence=evidence, warnings=(*plan.warnings, note))
