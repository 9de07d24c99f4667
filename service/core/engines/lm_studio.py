"""LM Studio: its GGUF runtime is llama.cpp; its own guardrails are not published."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from service.core.architecture.model import Architecture
from service.core.arrays import Whole
from service.core.derivation.explained import Explained
from service.core.derivation.steps import Trace
from service.core.engines import llama_cpp
from service.core.engines.base import EngineDefaults
from service.core.engines.broadcast import FillsMemory
from service.core.engines.sheets import Case, Places, Sheet
from service.core.evidence import Evidence, weakest
from service.core.hardware import Gpu
from service.core.scenario import Scenario
from service.core.sizing import EnginePlan, Sizing, Sourced

# What the file alone decides; every other term is llama.cpp's rule in a program that no one can read.
_KNOWN = frozenset({"weights"})


class LMStudio(FillsMemory):
    """llama.cpp's allocation, known only as an estimate because LM Studio is closed source."""

    id = "lm-studio"
    version = "unknown"
    preference = 6
    modelled = True
    formats = llama_cpp.ENGINE.formats
    default_format = "q4_k_m"
    kv_dtypes = llama_cpp.ENGINE.kv_dtypes
    separate_value_dtype = True
    splits_layers = True
    offloads = True

    def loads_native(self, architecture: Architecture) -> bool:
        """As llama.cpp does."""
        return llama_cpp.ENGINE.loads_native(architecture)

    def defaults(
        self, architecture: Architecture, gpu: Gpu, tensor_parallel: int, context_tokens: int
    ) -> EngineDefaults:
        """As llama.cpp has them."""
        return llama_cpp.ENGINE.defaults(architecture, gpu, tensor_parallel, context_tokens)

    def plan(self, scenario: Scenario, *, limits: bool = True) -> EnginePlan:
        """llama.cpp's allocation; whether a guardrail refuses the load earlier is not known."""
        planned = llama_cpp.ENGINE.plan(scenario, limits=limits)
        return replace(planned, evidence=_as_estimates(planned.evidence))

    def sheet(self, cases: Sequence[Case], contexts: Whole, places: Places) -> Sheet:
        """llama.cpp's figures of every row at every context, on every place."""
        return llama_cpp.ENGINE.sheet(cases, contexts, places)

    def explain(self, sizing: Sizing, trace: Trace) -> Explained:
        """The steps behind llama.cpp's plan."""
        return llama_cpp.ENGINE.explain(sizing, trace)


def _as_estimates(evidence: Mapping[str, Sourced]) -> Mapping[str, Sourced]:
    """The same sources, no term but the weights better than an estimate."""
    return {
        term: known
        if term in _KNOWN
        else Sourced(weakest(known.evidence, Evidence.ESTIMATE), f"LM Studio runs llama.cpp: {known.source}")
        for term, known in evidence.items()
    }


ENGINE = LMStudio()
