"""Limits as inequalities: what is left at the limit, and what is missing one step beyond it."""

from dataclasses import replace

from service.core.derivation.expressions import Expression
from service.core.derivation.facts import config, rule
from service.core.derivation.steps import Topic, Trace, Unit
from service.core.engines import ENGINES
from service.core.evidence import Evidence, weakest
from service.core.scenario import Scenario
from service.core.size import with_gpu_count
from service.core.sizing import EnginePlan, Sizing, Sourced
from service.errors import InvalidParameters

_SEARCHED = "largest value for which nothing is missing, found by search over the engine's plan"
_SMALLEST = "smallest number for which nothing is missing, found by search over the engine's plan"
_PLANNED = "the engine's plan of the same scenario with only this value changed"


def limit_steps(trace: Trace, sizing: Sizing, usable: Expression | None, capacity: Expression | None) -> None:
    """Each limit with what is left there (>= 0) and one step further (< 0), where there is a step further."""
    trace.about(Topic.LIMITS)
    _capacity(trace, sizing, capacity)
    limits, scenario = sizing.limits, sizing.scenario
    searched = rule(_SEARCHED, _known(sizing.plan))
    if (context := limits.max_context_tokens) is not None:
        native = scenario.model.architecture.max_context_tokens
        own = trace.given("model_context_tokens", native, Unit.TOKENS, config(scenario.model))
        _limit(trace, "max_context_tokens", context, Unit.TOKENS, searched, own)
        _around(trace, scenario, usable, "context_tokens", context)
    if (sequences := limits.max_concurrent_sequences) is not None:
        _limit(trace, "max_concurrent_sequences", sequences, Unit.SEQUENCES, searched)
        _around(trace, scenario, usable, "concurrent_sequences", sequences)
    if (count := limits.min_gpu_count) is not None:
        _limit(trace, "min_gpu_count", count, Unit.GPUS, rule(_SMALLEST, _known(sizing.plan)))
        _left(trace, _with_count(scenario, count), usable, "gpu_count", count, fits=True)
        _left(trace, _with_count(scenario, count - 1), usable, "gpu_count", count - 1, fits=False)


def _capacity(trace: Trace, sizing: Sizing, formula: Expression | None) -> None:
    engine, figure = ENGINES[sizing.scenario.engine], sizing.limits.kv_cache_capacity_tokens
    if figure is not None:
        source = rule(f"{engine.id} {engine.version}, as the engine prints it")
        prints = ("limits.kv_cache_capacity_tokens",)
        trace.follows("kv_cache_capacity_tokens", formula, Unit.TOKENS, source, figure=figure, prints=prints)


def _limit(
    trace: Trace, name: str, limit: int, unit: Unit, source: Sourced, formula: Expression | None = None
) -> None:
    trace.follows(name, formula, unit, source, figure=limit, prints=(f"limits.{name}",))


def _known(plan: EnginePlan) -> Evidence:
    """How well the total of a plan is known: as its weakest term."""
    return weakest(Evidence.CHECKPOINT, *(sourced.evidence for sourced in plan.evidence.values()))


def _changed(scenario: Scenario, name: str, value: int) -> Scenario:
    """The scenario with another context or number of sequences."""
    if name == "context_tokens":
        return replace(scenario, context_tokens=value)
    return replace(scenario, concurrent_sequences=value)


def _around(trace: Trace, scenario: Scenario, usable: Expression | None, name: str, limit: int) -> None:
    """What is left at a limit, and what is missing beyond it."""
    if limit:
        _left(trace, _changed(scenario, name, limit), usable, name, limit, fits=True)
    _left(trace, _changed(scenario, name, limit + 1), usable, name, limit + 1, fits=False)


def _with_count(scenario: Scenario, count: int) -> Scenario | None:
    """The scenario on that many GPUs, None where they have no layout."""
    try:
        return with_gpu_count(scenario, count) if count else None
    except InvalidParameters:
        return None


def _left(
    trace: Trace,
    scenario: Scenario | None,
    usable: Expression | None,
    parameter: str,
    value: int,
    *,
    fits: bool,
) -> None:
    """Bytes left (or missing) on the fullest GPU of a changed scenario, where that is what sets the limit."""
    if scenario is None or usable is None:
        return
    plan = ENGINES[scenario.engine].plan(scenario, limits=False)
    need, offered = plan.fullest.total, plan.usable_bytes
    if offered is None or (need <= offered) is not fits:
        return
    source = rule(_PLANNED, _known(plan))
    key = f"{parameter}_{value}"
    if offered != usable.value:  # engines whose share depends on what they profile
        usable = trace.given(
            f"usable_at_{key}", offered, Unit.BYTES, source, title="usable_at", parameter=parameter, at=value
        )
    needed = trace.given(
        f"total_at_{key}", need, Unit.BYTES, source, title="total_at", parameter=parameter, at=value
    )
    title = "left_at" if fits else "missing_at"
    trace.follows(
        f"left_at_{key}", usable - needed, Unit.BYTES, source, title=title, parameter=parameter, at=value
    )
