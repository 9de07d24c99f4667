"""The whole derivation of a sizing: the engine explains its own terms, this module the rest."""

from collections.abc import Callable

from service.core.derivation.explained import Explained, Explains
from service.core.derivation.fit import fit_steps
from service.core.derivation.limits import limit_steps
from service.core.derivation.plain import explain_plainly
from service.core.derivation.ranks import UNSTATED, memory_steps
from service.core.derivation.steps import Step, Topic, Trace, Unit
from service.core.engines import ENGINES
from service.core.sizing import Sizing

Further = Callable[[Trace], None]
# Figure of the plan -> what it is about, and the term whose evidence it has.
_SEQUENCE = {
    "kv_bytes_per_token": (Topic.CACHE, "kv_cache"),
    "kv_window_bytes_per_sequence": (Topic.CACHE, "kv_cache"),
    "state_bytes_per_sequence": (Topic.STATE, "recurrent_state"),
}


def derive(sizing: Sizing, *further: Further) -> tuple[Step, ...]:
    """Every printed number of a sizing as a step, after the steps that it follows from.

    A figure without a formula is a leaf with its source; no step contradicts the sizing. further: add what
    else is printed beside it, in their order.
    """
    trace, plan = Trace(), sizing.plan
    engine = ENGINES[sizing.scenario.engine]
    explained = (
        engine.explain(sizing, trace) if isinstance(engine, Explains) else explain_plainly(trace, sizing)
    )
    _sequence(trace, sizing, explained)
    total = memory_steps(trace, plan, explained.ranks)
    trace.about(Topic.TOTALS)
    trace.follows(
        "host",
        explained.answers.get("host_bytes"),
        Unit.BYTES,
        plan.evidence.get("weights", UNSTATED),
        figure=plan.host_bytes,
        prints=("memory.host",),
    )
    usable = fit_steps(trace, sizing, total, explained.answers.get("usable_bytes"))
    limit_steps(trace, sizing, usable, explained.answers.get("kv_cache_capacity_tokens"))
    for add in further:
        add(trace)
    return trace.steps


def _sequence(trace: Trace, sizing: Sizing, explained: Explained) -> None:
    """What one sequence costs, before any split over GPUs."""
    plan = sizing.plan
    for name, (topic, term) in _SEQUENCE.items():
        trace.about(topic)
        trace.follows(
            name,
            explained.answers.get(name),
            Unit.BYTES,
            plan.evidence.get(term, UNSTATED),
            figure=getattr(plan, name),
            prints=(f"memory.{name}",),
        )
