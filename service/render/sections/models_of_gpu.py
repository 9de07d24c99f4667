"""The models that one accelerator runs, each in its best format: the plan of `/v1/plan?gpu=…` as a table."""

from collections.abc import Iterable, Mapping
from typing import Any

from service.catalog import Catalog
from service.core.catalogued import Model
from service.core.hardware import Gpu
from service.core.planning.plan import Plan, plan_models
from service.core.planning.question import Facts, Question
from service.core.resolve import DEFAULT_CONTEXT_TOKENS
from service.i18n.marking import mark, mark_plural
from service.i18n.voice import Voice
from service.render import amounts, plans
from service.render.speed_of import speed_or_reasons_by

_RUNS = mark_plural(
    "One of the %(total)s models of the catalog runs on one %(gpu)s, at a context of %(context)s tokens and "
    "one sequence.",
    "%(n)s of the %(total)s models of the catalog run on one %(gpu)s, at a context of %(context)s tokens and "
    "one sequence.",
)
_NONE = mark(
    "None of the %(total)s models of the catalog runs on one %(gpu)s at a context of %(context)s tokens."
)
_ORDER = mark(
    "Each stands in the best format that fits, with the engine that runs it fastest; formats of at least "
    "four bits come first, and among them the largest models."
)
_FEW_BITS = mark("Formats with fewer than four bits change the answers most; they come last.")


def plan_of(gpu: Gpu, catalog: Catalog, gpu_count: int = 1, models: Iterable[Model] | None = None) -> Plan:
    """The models that so many of an accelerator run, with the defaults of every other parameter.

    models: which are asked about; all of the catalog where they are not named.
    """
    facts = Facts(catalog.costs, speed_or_reasons_by(catalog))
    asked = catalog.models.values() if models is None else models
    return plan_models(gpu, asked, Question(gpu_count=gpu_count), facts)


def data_of_gpu(gpu: Gpu, catalog: object) -> dict[str, Any]:
    """One row for each model that runs, in the order of the plan."""
    assert isinstance(catalog, Catalog)
    found = plan_of(gpu, catalog)
    return {
        "gpu": {"id": gpu.id, "name": gpu.name, "memory": amounts.maybe_amount(gpu.memory_bytes)},
        "gpu_count": 1,
        "context_tokens": DEFAULT_CONTEXT_TOKENS,
        "total": len(catalog.models),
        "fitting": len(found.places),
        "rows": [_row(plans.place(number, place)) for number, place in enumerate(found.places, start=1)],
    }


def sentences(data: Mapping[str, Any], voice: Voice) -> list[str]:
    """How many models run, and in which order they stand."""
    values = {
        "total": voice.integer(data["total"]),
        "gpu": data["gpu"]["name"],
        "context": voice.integer(data["context_tokens"]),
    }
    if not data["rows"]:
        return [voice.text(_NONE, **values)]
    said = [voice.plural(*_RUNS, data["fitting"], **values), voice.text(_ORDER)]
    few = any(row["nominal_bits"] < 4 for row in data["rows"])
    return [*said, voice.text(_FEW_BITS)] if few else said


_KEPT = ("place", "model", "model_name", "engine", "quantization", "nominal_bits", "verdict", "utilization")


def _row(place: Mapping[str, Any]) -> dict[str, Any]:
    """What a table shows of a place; the whole is in the plan."""
    speed = place["speed"]
    return {
        **{name: place[name] for name in _KEPT},
        "needed": place["needed_per_gpu"],
        "usable": place["usable_per_gpu"],
        "speed": None if speed is None else speed["per_sequence"],
        "indicative": None if speed is None else speed["indicative"],
    }
