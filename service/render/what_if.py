"""The same question with one thing changed, for tables that compare."""

from dataclasses import dataclass, replace
from typing import Any

from service.core.engines import ENGINES
from service.core.request import PARAMETERS, Request
from service.core.resolve import resolve
from service.core.scenario import DEGREES, Scenario
from service.core.size import judge as judge
from service.core.sizing import EnginePlan, Sizing, Verdict
from service.errors import InvalidParameters

# Settings whose values belong to one engine; another engine is asked with its own defaults.
_OF_THE_ENGINE = (
    "engine",
    "backend",
    "kv_cache_dtype",
    "kv_cache_dtype_v",
    "memory_utilization",
    "kv_cache_memory_bytes",
    "max_batched_tokens",
    "prefix_caching",
    "cpu_offload_percent",
    "vision",
    *DEGREES,
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a row of a comparison shows: a sizing without its limits, which take a search for each row."""

    scenario: Scenario
    plan: EnginePlan
    verdict: Verdict

    @classmethod
    def of(cls, sizing: Sizing) -> "Outcome":
        """The outcome of the question itself."""
        return cls(sizing.scenario, sizing.plan, sizing.verdict)


def request_of(scenario: Scenario) -> Request:
    """What was asked: the values that the caller gave, without the defaults."""
    given: dict[str, Any] = {}
    for name in PARAMETERS:
        if name not in scenario.defaulted:
            place = scenario.layout if name in DEGREES else scenario
            given[name] = getattr(place, DEGREES.get(name, name))
    return Request(model=scenario.model, gpu=scenario.gpu, **given)


def at_context(scenario: Scenario, context_tokens: int) -> Outcome | None:
    """The outcome at another context; None when the engine has no such configuration."""
    request = replace(
        request_of(scenario),
        engine=scenario.engine,
        quantization=scenario.quantization,
        context_tokens=context_tokens,
        prompt_tokens=None,  # they only matter for speed, and need not fit a shorter context
        output_tokens=None,
    )
    return _outcome(_resolved(request))


def in_format(scenario: Scenario, quantization: str) -> Outcome | None:
    """The outcome in another format with the same engine; None when the engine does not load it."""
    return _outcome(
        _resolved(replace(request_of(scenario), engine=scenario.engine, quantization=quantization))
    )


def in_format_elsewhere(scenario: Scenario, quantization: str) -> Outcome | None:
    """The outcome in a format with the first engine of the GPU that loads it; None when none does."""
    dropped: dict[str, Any] = dict.fromkeys(_OF_THE_ENGINE)
    resolved = _resolved(replace(request_of(scenario), quantization=quantization, **dropped))
    runs = resolved is not None and resolved.gpu.backends(resolved.engine)
    return _outcome(resolved) if runs else None


def _outcome(scenario: Scenario | None) -> Outcome | None:
    if scenario is None:
        return None
    plan = ENGINES[scenario.engine].plan(scenario, limits=False)
    return Outcome(scenario, plan, judge(scenario, plan)[0])


def _resolved(request: Request) -> Scenario | None:
    try:
        return resolve(request)
    except InvalidParameters:
        return None
