"""`GET /v1/measurements`: real measurements of speed with their provenance."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flask import Blueprint, Response, g, request

from service.api.answers import json_answer
from service.api.documents.measurements import measurement_document
from service.api.openapi_parameters import choices
from service.api.paging import page
from service.api.reading import read_query
from service.api.schemas import MEASUREMENT_QUERY
from service.catalog import Catalog
from service.core.closest import same_format
from service.core.measurements import Measurement
from service.errors import InvalidParameters, ParameterError
from service.i18n import voice


def blueprint(catalog: Catalog) -> Blueprint:
    """The resource over a catalog."""
    resource = Blueprint("measurements", __name__)

    @resource.get("/v1/measurements")
    def measurements() -> Response:
        given = read_query(MEASUREMENT_QUERY, request)
        _check_choices(given)
        found = page([{"id": row.id, "row": row} for row in _selected(catalog, given)], _paging(given))
        speaker = voice(g.language)
        return json_answer({**found, "items": _documents(found["items"], catalog, speaker)})

    return resource


def _documents(items: Any, catalog: Catalog, speaker: Any) -> list[dict[str, Any]]:
    return [measurement_document(item["row"], catalog, speaker) for item in items]


def _selected(catalog: Catalog, given: Mapping[str, Any]) -> Iterator[Measurement]:
    """The records that match every filter, in the order of the catalog's models and of the files.

    Raises UnknownModel, UnknownGpu.
    """
    models = [catalog.find_model(given["model"]).id] if "model" in given else list(catalog.models)
    gpu = catalog.find_gpu(given["gpu"]).id if "gpu" in given else None
    for model in models:
        native = catalog.models[model].architecture.native.name
        for row in catalog.measurements.get(model, ()):
            if gpu in (None, row.gpu) and _matches(row, given, native):
                yield row


def _matches(row: Measurement, given: Mapping[str, Any], native: str) -> bool:
    """Filters of the row alone; a record that does not state what is asked for does not match."""
    if "engine" in given and row.engine != given["engine"]:
        return False
    if "quantization" in given:
        asked = native if given["quantization"] == "native" else given["quantization"]
        if row.quantization is None or not same_format(row.quantization, asked):
            return False
    if "comparable" in given and row.comparable is not given["comparable"]:
        return False
    return _within(row.concurrency, given.get("min_concurrency"), given.get("max_concurrency"))


def _within(value: int | None, low: int | None, high: int | None) -> bool:
    if low is None and high is None:
        return True
    return value is not None and (low is None or value >= low) and (high is None or value <= high)


def _paging(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: given[name] for name in ("limit", "cursor") if name in given}


def _check_choices(given: Mapping[str, Any]) -> None:
    errors = [
        ParameterError(name, "not_allowed", tuple(_allowed(name)))
        for name in ("engine", "quantization")
        if name in given and given[name] not in _allowed(name)
    ]
    if errors:
        raise InvalidParameters(*errors)


def _allowed(name: str) -> Sequence[str]:
    return choices()[name]
