"""`GET /v1/measurements`: real measurements of speed with their provenance, also what waits for a review."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from flask import Blueprint, Response, g, request

from service.api.accept import CSV, JSON
from service.api.answers import bytes_answer, negotiated
from service.api.documents.measurements_csv import measurements_csv
from service.api.documents.uploads import shipped_document, uploaded_document
from service.api.encoding import to_json
from service.api.openapi_parameters import choices
from service.api.paging import page
from service.api.reading import read_query
from service.api.schemas import MEASUREMENT_QUERY
from service.api.uploads import caller, private_answer
from service.catalog import Catalog
from service.core.closest import same_format
from service.core.measurements import UPLOADED, Measurement
from service.errors import InvalidParameters, ParameterError
from service.i18n import voice
from service.measurements import reading
from service.measurements.keys import Scope
from service.measurements.submission import Status, Stored, measurement
from service.measurements.uploads import Uploads


def blueprint(catalog: Catalog, uploads: Uploads) -> Blueprint:
    """The resource over a catalog, whose measurements hold the published uploads, and all uploads."""
    resource = Blueprint("measurements", __name__)

    @resource.get("/v1/measurements")
    def measurements() -> Response:
        given = read_query(MEASUREMENT_QUERY, request)
        _check_choices(given)
        status = Status(given.get("status", Status.PUBLISHED))
        if status is not Status.PUBLISHED:
            caller(uploads, Scope.REVIEW)
            waiting, _ = reading.with_status(uploads.database, status)
            known = [row for row in waiting if row.submission.model in catalog.models]
            of = {row.id: row for row in known if row.submission.gpu in catalog.gpus}
            rows = _selected(catalog, given, [measurement(row) for row in of.values()])
            return private_answer(_listed(rows, given, catalog, of))
        media_type = negotiated((JSON, CSV))
        found = _listed(_selected(catalog, given), given, catalog, uploads.published().by_id)
        body = to_json(found) if media_type == JSON else measurements_csv(found["items"])
        answer = bytes_answer(body, media_type)
        answer.vary.add("Authorization")
        return answer

    return resource


def _listed(
    rows: Iterable[Measurement], given: Mapping[str, Any], catalog: Catalog, of: Mapping[str, Stored]
) -> dict[str, Any]:
    """One page of the rows. of: the submissions behind those that were uploaded."""
    found = page([{"id": row.id, "row": row} for row in rows], _paging(given))
    return {**found, "items": [_document(item["row"], catalog, of) for item in _items(found)]}


def _items(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = found["items"]
    return items


def _document(row: Measurement, catalog: Catalog, of: Mapping[str, Stored]) -> dict[str, Any]:
    speaker = voice(g.language)
    if row.id.startswith(UPLOADED) and row.id in of:
        return uploaded_document(of[row.id], catalog, speaker)
    return shipped_document(row, catalog, speaker)


def _selected(
    catalog: Catalog, given: Mapping[str, Any], waiting: Sequence[Measurement] | None = None
) -> Iterator[Measurement]:
    """The records that match every filter, in the order of the catalog's models and of the files.

    waiting: the records to choose from, in their order, instead of what is published.
    Raises UnknownModel, UnknownGpu.
    """
    models = [catalog.find_model(given["model"]).id] if "model" in given else list(catalog.models)
    gpu = catalog.find_gpu(given["gpu"]).id if "gpu" in given else None
    if waiting is None:
        rows = (row for model in models for row in catalog.measurements.get(model, ()))
    else:
        rows = (row for row in waiting if row.model in models)
    for row in rows:
        native = catalog.models[row.model].architecture.native.name
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
