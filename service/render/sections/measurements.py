"""Real measurements of the model, on one GPU or on all: every record with what it leaves out."""

from collections.abc import Mapping, Sequence
from typing import Any

from service.catalog import Catalog
from service.core.catalogued import Model
from service.core.closest import distance
from service.core.measurements import Measurement
from service.core.sizing import Sizing
from service.i18n.marking import mark, mark_plural
from service.i18n.voice import Voice
from service.render import measured

_COUNT = mark_plural(
    "There is one real measurement of %(model)s.", "There are %(n)s real measurements of %(model)s."
)
_COUNT_HERE = mark_plural(
    "There is one real measurement of %(model)s on %(gpu)s.",
    "There are %(n)s real measurements of %(model)s on %(gpu)s.",
)
_NONE = mark("No real measurement of %(model)s is known.")
_NONE_HERE = mark("No real measurement of %(model)s on %(gpu)s is known.")
_RULE = mark(
    "Each row is one measurement as it was published; a row with a missing field, or with "
    "another flaw, is marked and kept out of comparisons."
)
_COMPARED = mark_plural("One of them can be compared.", "%(n)s of them can be compared.")
_NONE_COMPARED = mark("None of them can be compared.")
_SISTER = mark(
    "Rows that name another model were measured on a sister model of the same architecture, not on %(model)s."
)
_CLOSEST_FIRST = mark("The row closest to the scenario comes first.")
_NOT_ESTIMATED = mark("No figure here is an estimate.")


def data(sizing: Sizing, catalog: object) -> dict[str, Any]:
    """The records of the scenario's model on its GPU, closest first, with their differences."""
    assert isinstance(catalog, Catalog)
    scenario = sizing.scenario
    found = [row for row in measured.records_of(scenario, catalog) if row.gpu == scenario.gpu.id]
    found.sort(key=lambda row: (distance(row, scenario), row.id))
    rows = [{**row_data(row, catalog), "differences": measured.differing(row, scenario)} for row in found]
    return _table(scenario.model, rows, {"id": scenario.gpu.id, "name": scenario.gpu.name})


def data_of_model(model: Model, catalog: object) -> dict[str, Any]:
    """All records of a catalog model, by GPU, number of GPUs, engine, format and load."""
    assert isinstance(catalog, Catalog)
    catalogued = catalog.models.get(model.id) is model
    found = list(catalog.measurements.get(model.id, ())) if catalogued else []
    order = {gpu: place for place, gpu in enumerate(catalog.gpus)}
    found.sort(key=lambda row: (order[row.gpu], *_conditions(row), row.id))
    return _table(model, [row_data(row, catalog) for row in found], None)


def row_data(row: Measurement, catalog: Catalog) -> dict[str, Any]:
    """A record, and the name of its GPU in the catalog."""
    return {**measured.record(row, catalog), "gpu_name": catalog.gpus[row.gpu].name}


def sentences(data: Mapping[str, Any], voice: Voice) -> list[str]:
    """How many records there are, how many can be compared, and what the marks mean."""
    names = {"model": data["model"]["name"]}
    none, count = _NONE, _COUNT
    if data["gpu"] is not None:
        names["gpu"] = data["gpu"]["name"]
        none, count = _NONE_HERE, _COUNT_HERE
    if not data["rows"]:
        return [voice.text(none, **names)]
    able = data["comparable"]
    said = [
        voice.plural(*count, data["total"], **names),
        voice.plural(*_COMPARED, able) if able else voice.text(_NONE_COMPARED),
        voice.text(_RULE),
    ]
    if any(row["equivalent"] for row in data["rows"]):
        said.append(voice.text(_SISTER, model=names["model"]))
    if data["gpu"] is not None:
        said.append(voice.text(_CLOSEST_FIRST))
    return [*said, voice.text(_NOT_ESTIMATED)]


def _table(model: Model, rows: Sequence[dict[str, Any]], gpu: dict[str, str] | None) -> dict[str, Any]:
    return {
        "model": {"id": model.id, "name": model.name},
        "gpu": gpu,
        "total": len(rows),
        "comparable": sum(row["comparable"] for row in rows),
        "rows": list(rows),
    }


def _conditions(row: Measurement) -> tuple[int, str, str, int, int]:
    """What records of one GPU are listed by."""
    return (
        row.gpu_count or 0,
        row.engine or row.published_engine or "",
        row.quantization or row.published_quantization or "",
        row.concurrency or 0,
        row.context_tokens or 0,
    )
