"""The same question with one thing changed, for tables that compare."""

from dataclasses import dataclass, replace
from typing import Any

from service.core.catalogued import Model
from service.core.engines import ENGINES
from service.core.hardware import Gpu
from service.core.request import PARAMETERS, Request
from service.core.resolve import resolve
from service.core.scenario import DEGREES, Scenario
from service.core.size import at_least_nothing
from service.core.size import judge as judge
from service.core.sizing import EnginePlan, Limits, Sizing, Verdict
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
# Settings of one machine; another has its own.
OF_THE_MACHINE = ("backend", "platform", "system_memory_gib", "kv_cache_memory_bytes", *DEGREES)
# Settings that one model may have and another not.
_OF_THE_MODEL = ("kv_cache_dtype", "kv_cache_dtype_v", "vision", "speculative_tokens", *DEGREES)
# They only matter for speed, and need not fit another context.
_SPEED_ONLY: dict[str, Any] = {"prompt_tokens": None, "output_tokens": None}


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

    def sizing(self) -> Sizing:
        """The same as a sizing without limits, as far as a speed needs it."""
        limits = Limits(None, None, None, None)
        return Sizing(self.scenario, self.plan, self.verdict, None, None, (), (), limits)

    @classmethod
    def planned(cls, scenario: Scenario) -> "Outcome":
        """The outcome of a scenario."""
        plan = planned(scenario)
        return cls(scenario, plan, judge(scenario, plan)[0])


def planned(scenario: Scenario) -> EnginePlan:
    """The plan without its limits."""
    return at_least_nothing(ENGINES[scenario.engine].plan(scenario, limits=False))


def request_of(scenario: Scenario) -> Request:
    """What was asked: the values that the caller gave, without the defaults; degrees as the API has them."""
    given: dict[str, Any] = {}
    for name in PARAMETERS:
        if name not in scenario.defaulted:
            place = scenario.layout if name in DEGREES else scenario
            given[name] = getattr(place, DEGREES.get(name, name))
    if scenario.layout.data > 1:  # without the number an engine may read the degrees once more (SGLang)
        given["gpu_count"] = scenario.gpu_count
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
    return _outcome(scenario_in_format(scenario, quantization))


def scenario_in_format(scenario: Scenario, quantization: str) -> Scenario | None:
    """The same question in another format with the same engine; None when the engine does not load it."""
    return _resolved(replace(request_of(scenario), engine=scenario.engine, quantization=quantization))


def scenario_elsewhere(scenario: Scenario, quantization: str) -> Scenario | None:
    """The same question with the first engine of the GPU that loads a format; None when none does."""
    resolved = _resolved(replace(_without_engine(scenario), quantization=quantization))
    runs = resolved is not None and resolved.gpu.backends(resolved.engine)
    return resolved if runs else None


def _without_engine(scenario: Scenario) -> Request:
    """The question on as many GPUs, without what belongs to one engine."""
    dropped: dict[str, Any] = dict.fromkeys(_OF_THE_ENGINE)
    return replace(request_of(scenario), **{**dropped, "gpu_count": scenario.gpu_count})


def _outcome(scenario: Scenario | None) -> Outcome | None:
    return None if scenario is None else Outcome.planned(scenario)


def _resolved(request: Request) -> Scenario | None:
    try:
        return resolve(request)
    except InvalidParameters:
        return None


def changed(scenario: Scenario, **changes: Any) -> Outcome | None:
    """The outcome with the same engine and format and some parameters changed; None when there is none."""
    kept = {"engine": scenario.engine, "quantization": scenario.quantization}
    return _outcome(_resolved(replace(request_of(scenario), **{**kept, **_SPEED_ONLY, **changes})))


def with_engine(scenario: Scenario, engine: str) -> Outcome | None:
    """The outcome with another engine, in the same format where it loads it, else in its own default."""
    request = replace(_without_engine(scenario), engine=engine)
    resolved = _resolved(replace(request, quantization=scenario.quantization))
    return _outcome(resolved or _resolved(replace(request, quantization=None)))


def on_gpu(scenario: Scenario, gpu: Gpu, gpu_count: int) -> Outcome | None:
    """The outcome on another accelerator, whose machine has its own layout, backend and platform."""
    return _outcome(_resolved(replace(elsewhere(scenario), gpu=gpu, gpu_count=gpu_count)))


def elsewhere(scenario: Scenario) -> Request:
    """The question as it is asked of other accelerators: without what belongs to one machine."""
    dropped: dict[str, Any] = dict.fromkeys(OF_THE_MACHINE)
    return replace(here(scenario), **{**dropped, "gpu_count": scenario.gpu_count})


def here(scenario: Scenario) -> Request:
    """The question with its engine, format and number of GPUs said, whether they were given or not."""
    said = {name: getattr(scenario, name) for name in ("engine", "quantization", "gpu_count")}
    return replace(request_of(scenario), **said)


def of_model(scenario: Scenario, model: Model, quantization: str) -> Outcome | None:
    """The outcome for another model in a format, at the same context and number of sequences."""
    dropped: dict[str, Any] = dict.fromkeys(_OF_THE_MODEL)
    kept = {
        "model": model,
        "engine": scenario.engine,
        "quantization": quantization,
        "gpu_count": scenario.gpu_count,
    }
    return _outcome(_resolved(replace(request_of(scenario), **{**dropped, **kept})))
