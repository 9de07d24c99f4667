"""The steps of a derivation as JSON, the same in the answer and in the section of the report."""

from collections.abc import Mapping
from typing import Any

from service.core.cost.estimate import Known, SpeedOf, on_own_count
from service.core.cost.result import Comparison, Cost
from service.core.derivation.cost import IN_COSTS, IN_SIZING, cost_steps, rent_steps
from service.core.derivation.derive import Further, derive
from service.core.derivation.speed import speed_steps
from service.core.derivation.steps import Step, Trace, Unit
from service.core.sizing import Sizing
from service.core.speed.constants import SpeedConstants
from service.core.units import GIB


def steps(sizing: Sizing, *further: Further) -> list[dict[str, Any]]:
    """Every step in order; titles as codes with what they name. further: what else is printed."""
    return [_entry(step) for step in derive(sizing, *further)]


def steps_of_costs(found: Comparison, sizing: Sizing, speed_of: SpeedOf) -> list[dict[str, Any]]:
    """Every step of a comparison of costs: the offers in their order, then the own hardware."""
    trace = Trace()
    rents = [
        (offer.rent, offer.place.sizing.scenario, speed_of(offer.place.sizing))
        for offer in found.offered
        if offer.place.sizing is not None
    ]
    rent_steps(rents, "items")(trace)
    own = found.own
    if own is not None:
        sized = sizing if own.gpu_count == sizing.scenario.gpu_count else on_own_count(sizing, own.gpu_count)
        cost_steps(own, sized.scenario, speed_of(sized), IN_COSTS)(trace)
    return [_entry(step) for step in trace.steps]


def further_steps(
    sizing: Sizing, constants: SpeedConstants, speed: Known, cost: Cost | None
) -> tuple[Further, ...]:
    """What adds the speed and the cost of a sizing to its derivation."""
    return (
        speed_steps(sizing, constants, speed),
        cost_steps(cost, sizing.scenario, speed, IN_SIZING),
    )


def _entry(step: Step) -> dict[str, Any]:
    """One step; `gib` only beside bytes."""
    entry: dict[str, Any] = {
        "symbol": step.symbol,
        "topic": str(step.topic),
        "title": {"code": step.title, "parameters": dict(step.parameters)},
        "formula": step.formula,
        "substituted": step.substituted,
        "value": step.value,
        "unit": str(step.unit),
        "source": step.source,
        "evidence": None if step.evidence is None else str(step.evidence),
        "inputs": list(step.inputs),
        "prints": list(step.prints),
    }
    if step.unit is Unit.BYTES:
        entry["gib"] = round(step.value / GIB, 2)
    return entry


def by_topic(entries: list[dict[str, Any]]) -> Mapping[str, list[dict[str, Any]]]:
    """The steps of each topic, in order."""
    found: dict[str, list[dict[str, Any]]] = {}
    for entry in entries:
        found.setdefault(entry["topic"], []).append(entry)
    return found
