"""Real measurements as JSON: each record as published, and how the closest ones differ from a scenario."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from service.catalog import Catalog
from service.core.closest import closest, differences
from service.core.comparison import conditions, ratios
from service.core.engines import ENGINES
from service.core.measurements import Measurement
from service.core.resolve import resolve
from service.core.scenario import Scenario
from service.core.size import judge
from service.core.sizing import Limits, Sizing
from service.core.speed.result import Speed, Withheld
from service.errors import InvalidParameters

_PUBLISHED = ("model", "gpu", "engine", "quantization")
_APART = ("source", "source_detail", "note", "flags", *(f"published_{name}" for name in _PUBLISHED))
INCOMPLETE = "incomplete_record"
# The speed of a sizing, or why there is none.
Estimator = Callable[[Sizing], Speed | Withheld | None]
_NO_LIMITS = Limits(None, None, None, None)


def record(row: Measurement, catalog: Catalog) -> dict[str, Any]:
    """One record: what its source states (null: it does not), what is missing, and whether it is compared.

    published: the names that the source uses; where they are ours, they are repeated.
    """
    stated = {name: value for name, value in asdict(row).items() if name not in _APART}
    return {
        **stated,
        "published": {name: getattr(row, f"published_{name}") or getattr(row, name) for name in _PUBLISHED},
        "source": {**asdict(catalog.measurement_sources[row.source]), "detail": row.source_detail or None},
        "remark": row.note,
        "missing": list(row.missing),
        "flags": list(row.flags),
        "comparable": row.comparable,
        "reasons": reasons(row),
    }


def reasons(row: Measurement) -> list[str]:
    """Codes of why a record is in no comparison; empty exactly when it is comparable."""
    return [*([INCOMPLETE] if row.missing else []), *row.set_aside]


def closest_records(
    scenario: Scenario, catalog: Catalog, estimator: Estimator | None = None
) -> list[dict[str, Any]]:
    """At most three records of the scenario's model on its GPU, closest first, with their differences.

    estimator: what each record is compared with; without it none is.
    """
    return [
        {
            **record(row, catalog),
            "differences": differing(row, scenario),
            "comparison": None if estimator is None else _compared(row, scenario, estimator),
        }
        for row in closest(records_of(scenario, catalog), scenario)
    ]


def _compared(row: Measurement, scenario: Scenario, estimator: Estimator) -> list[dict[str, Any]] | None:
    """Measured beside estimated under the record's own conditions; None where there is no estimate."""
    asked = conditions(row, scenario.model, scenario.gpu)
    if asked is None:
        return None
    try:
        speed = estimator(_sized(resolve(asked)))
    except InvalidParameters:  # the engine has no such configuration
        return None
    if not isinstance(speed, Speed):
        return None
    return [
        {"rate": r.rate, "measured": r.measured, "estimate": r.estimate, "ratio": round(r.ratio, 3)}
        for r in ratios(row, speed)
    ]


def _sized(scenario: Scenario) -> Sizing:
    """The sizing as far as a speed depends on it: without limits, which take a search for each record."""
    plan = ENGINES[scenario.engine].plan(scenario, limits=False)
    verdict, why = judge(scenario, plan)
    return Sizing(scenario, plan, verdict, None, None, why, (), _NO_LIMITS)


def records_of(scenario: Scenario, catalog: Catalog) -> Sequence[Measurement]:
    """All records of the scenario's model; none of a model or an accelerator that a caller described."""
    model, gpu = scenario.model, scenario.gpu
    catalogued = catalog.models.get(model.id) is model and catalog.gpus.get(gpu.id) is gpu
    return catalog.measurements.get(model.id, ()) if catalogued else ()


def differing(row: Measurement, scenario: Scenario) -> list[dict[str, Any]]:
    """What the record does not share with the scenario: parameter, value asked for, value measured."""
    return [
        {"parameter": found.parameter, "scenario": found.asked, "measured": found.measured}
        for found in differences(row, scenario)
    ]
