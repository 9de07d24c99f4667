"""The steps of a derivation as JSON, the same in the answer and in the section of the report."""

from collections.abc import Mapping
from typing import Any

from service.core.derivation.derive import derive
from service.core.derivation.steps import Step, Unit
from service.core.sizing import Sizing
from service.core.units import GIB


def steps(sizing: Sizing) -> list[dict[str, Any]]:
    """Every step in order; titles as codes with what they name."""
    return [_entry(step) for step in derive(sizing)]


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
