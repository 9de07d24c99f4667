"""Usable memory against need: headroom, utilization, and where the verdict changes."""

from service.core.derivation.expressions import Expression, lift, rounded
from service.core.derivation.facts import gpu_memory, rule
from service.core.derivation.ranks import UNSTATED
from service.core.derivation.steps import Topic, Trace, Unit
from service.core.size import TIGHT_ABOVE
from service.core.sizing import Sizing
from service.core.units import GIB

_RULE = rule("verdict: fits up to 95 % of the usable memory, tight up to all of it")


def fit_steps(
    trace: Trace, sizing: Sizing, total: Expression, usable: Expression | None
) -> Expression | None:
    """Steps of the fit on the fullest GPU; returns the usable memory, None where it is not known."""
    trace.about(Topic.FIT)
    trace.follows("bytes_per_gib", lift(GIB), Unit.BYTES, rule("1 GiB = 2**30 bytes"))
    gpu, plan = sizing.scenario.gpu, sizing.plan
    if gpu.memory_bytes is not None:
        gpu_memory(trace, gpu)
    if plan.usable_bytes is None:
        return None
    source = plan.evidence.get("usable", UNSTATED)
    if usable is None:
        usable = _what_is_left(trace, sizing)
    found = trace.follows(
        "usable", usable, Unit.BYTES, source, figure=plan.usable_bytes, prints=("fit.usable",)
    )
    trace.follows(
        "headroom",
        found - total,
        Unit.BYTES,
        _RULE,
        figure=sizing.headroom_bytes,
        prints=("fit.headroom",),
    )
    if sizing.utilization is not None:
        _utilization(trace, total / found, sizing.utilization)
    above = trace.given("tight_above", TIGHT_ABOVE, Unit.RATIO, _RULE)
    trace.follows("tight_from", above * found, Unit.BYTES, _RULE)
    return found


def _utilization(trace: Trace, share: Expression, figure: float) -> None:
    """The exact ratio, and the same as it is printed in percent."""
    prints = ("fit.utilization", "fit.utilization_percent")
    exact = trace.follows("utilization", share, Unit.RATIO, _RULE, figure=figure, prints=prints[:1])
    percent = rounded(exact * 100, 1)
    trace.follows("utilization_percent", percent, Unit.PERCENT, _RULE, prints=prints[1:])


def _what_is_left(trace: Trace, sizing: Sizing) -> Expression | None:
    """The memory less what the platform keeps and what the caller reserved."""
    scenario, usable = sizing.scenario, sizing.plan.usable_bytes
    total, reserved = scenario.gpu.memory_bytes, scenario.reserved_memory_bytes
    if total is None or usable is None or total - usable - reserved < 0:
        return None
    source = sizing.plan.evidence.get("usable", UNSTATED)
    kept = trace.given("kept_by_platform", total - usable - reserved, Unit.BYTES, source)
    left = gpu_memory(trace, scenario.gpu) - kept
    if not reserved:
        return left
    return left - trace.asked(scenario, "reserved_memory_bytes", Unit.BYTES)
