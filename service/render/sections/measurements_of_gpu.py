"""Real measurements on one accelerator: the most comparable ones of each model."""

from collections.abc import Mapping
from typing import Any

from service.catalog import Catalog
from service.core.hardware import Gpu
from service.core.measurements import Measurement
from service.i18n.marking import mark, mark_plural
from service.i18n.voice import Voice
from service.render.sections.measurements import row_data

_OF_A_MODEL = 2  # rows; some accelerators have a thousand records
_COUNT = mark_plural(
    "There is one real measurement on %(gpu)s.",
    "There are %(n)s real measurements on %(gpu)s.",
)
_SHOWN = mark_plural(
    "They are of one model; at most %(most)s of them are shown.",
    "They are of %(n)s models; at most %(most)s of each are shown.",
)
_NONE = mark("No real measurement on %(gpu)s is known.")
_CHOICE = mark(
    "Complete records come first, then those of few GPUs and few sequences; /v1/measurements?gpu=%(id)s "
    "lists all."
)
_NOT_ESTIMATED = mark("No figure here is an estimate.")


def data_of_gpu(gpu: Gpu, catalog: object) -> dict[str, Any]:
    """At most two records of each model, models in the order of the catalog."""
    assert isinstance(catalog, Catalog)
    by_model = {
        model: sorted((row for row in rows if row.gpu == gpu.id), key=_order)
        for model, rows in catalog.measurements.items()
    }
    measured = {model: rows for model, rows in by_model.items() if rows}
    return {
        "gpu": {"id": gpu.id, "name": gpu.name},
        "total": sum(map(len, measured.values())),
        "comparable": sum(row.comparable for rows in measured.values() for row in rows),
        "models": len(measured),
        "most_of_each": _OF_A_MODEL,
        "rows": [
            {**row_data(row, catalog), "model_name": catalog.models[model].name}
            for model, rows in measured.items()
            for row in rows[:_OF_A_MODEL]
        ],
    }


def sentences(data: Mapping[str, Any], voice: Voice) -> list[str]:
    """How many records there are, and which of them are shown."""
    gpu = data["gpu"]["name"]
    if not data["rows"]:
        return [voice.text(_NONE, gpu=gpu)]
    said = [voice.plural(*_COUNT, data["total"], gpu=gpu)]
    if len(data["rows"]) < data["total"]:
        most = voice.integer(data["most_of_each"])
        said.append(voice.plural(*_SHOWN, data["models"], most=most))
        said.append(voice.text(_CHOICE, id=data["gpu"]["id"]))
    return [*said, voice.text(_NOT_ESTIMATED)]


def _order(row: Measurement) -> tuple[bool, int, int, str]:
    return (not row.comparable, row.gpu_count or 0, row.concurrency or 0, row.id)
