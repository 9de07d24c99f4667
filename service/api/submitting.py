"""From the body of a POST to submissions: JSON or CSV, every fault of every row at once."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from io import StringIO
from itertools import islice
from typing import Any

from flask import Request

from service.api.accept import CSV
from service.api.json_body import json_body, whole_body
from service.api.reading import MOST_UNKNOWN, checked
from service.api.row_names import RowNames
from service.api.submission_fields import MOST_ROWS, SUBMISSION, SUBMISSION_SCHEMA
from service.catalog import Catalog
from service.core.engines import ENGINES
from service.core.impossible import CLAIMED, Claim, contradictions
from service.errors import InvalidParameters, MalformedBody, ParameterError
from service.measurements.submission import Submission

_ROWS = "measurements"
_SPEEDS = (
    "decode_tokens_per_second",
    "decode_tokens_per_second_per_sequence",
    "prefill_tokens_per_second",
)
_NATIVE = "native"
_MOST_FAULTS = 1000  # after so many no further row is looked at


def submissions(request: Request, catalog: Catalog, now: float) -> tuple[list[Submission], bool]:
    """What a request submits, and whether it is a single object.

    Raises InvalidParameters with `measurements[<index>].<field>` for each fault, MalformedBody,
    UnsupportedMediaType, RequestEntityTooLarge.
    """
    if request.mimetype == CSV:
        return read_rows(csv_rows(whole_body(request)), catalog, now), False
    body = json_body(request)
    if isinstance(body, dict) and _ROWS not in body:
        return read_rows([body], catalog, now, single=True), True
    return read_rows(_listed(body), catalog, now), False


def read_rows(
    rows: Sequence[object], catalog: Catalog, now: float, *, single: bool = False
) -> list[Submission]:
    """The submissions of raw rows, checked one by one. single: faults name the field without an index.

    Raises InvalidParameters with all faults of all rows, or of the first rows that have a thousand.
    """
    if not rows:
        raise InvalidParameters(ParameterError(_ROWS, "empty"))
    if len(rows) > MOST_ROWS:
        raise InvalidParameters(ParameterError(_ROWS, "too_many_items", None, {"maximum": MOST_ROWS}))
    names = RowNames(catalog)
    found: list[Submission] = []
    faults: list[ParameterError] = []
    for index, row in enumerate(rows):
        place = "" if single else f"{_ROWS}[{index}]"
        try:
            if not isinstance(row, Mapping):
                raise InvalidParameters(ParameterError("", "not_an_object"))
            found.append(_read(row, names, now))
        except InvalidParameters as error:
            faults += [
                replace(e, parameter=".".join(filter(None, (place, e.parameter)))) for e in error.errors
            ]
        if len(faults) >= _MOST_FAULTS:
            break
    if faults:
        raise InvalidParameters(*faults)
    return found


def read_row(row: Mapping[str, Any], catalog: Catalog, now: float) -> Submission:
    """One submission. Raises InvalidParameters."""
    return _read(row, RowNames(catalog), now)


def _read(row: Mapping[str, Any], known: RowNames, now: float) -> Submission:
    given, faults = _given(row)
    model, gpu = (_named(known, field, given, faults) for field in ("model", "gpu"))
    faults += _conditions(given, now)
    if model is not None:
        faults += _format(given, model)
    if model is None or gpu is None or faults:
        raise InvalidParameters(*faults)
    claim = Claim(model, gpu, **{name: given.get(name) for name in CLAIMED})
    if impossible := contradictions(claim):
        raise InvalidParameters(*impossible)
    if given.get("quantization") == _NATIVE:
        given["quantization"] = model.architecture.native.name
    names = {"model": model.id, "gpu": gpu.id}
    return Submission(**{**given, **names, "published_model": given["model"], "published_gpu": given["gpu"]})


def csv_rows(body: bytes, most: int | None = MOST_ROWS) -> list[dict[str, object]]:
    """The rows of a CSV with a header, of more than `most` only one more; an empty cell states nothing.

    Raises MalformedBody, InvalidParameters.
    """
    try:
        reader = csv.reader(StringIO(body.decode("utf-8-sig"), newline=""), strict=True)
        header = [name.strip() for name in next(reader, [])]
        if len(set(header)) != len(header):
            raise InvalidParameters(ParameterError(_ROWS, "repeated"))
        return list(islice(_cells(reader, header), None if most is None else most + 1))
    except (csv.Error, UnicodeDecodeError) as error:
        raise MalformedBody(str(error)) from None


def _given(row: Mapping[str, Any]) -> tuple[dict[str, Any], list[ParameterError]]:
    """The fields that are right, and the faults of the others."""
    try:
        return checked(SUBMISSION_SCHEMA, row), []
    except InvalidParameters as error:
        wrong = {fault.parameter for fault in error.errors}
        rest = {
            n: value for n, value in row.items() if n in SUBMISSION and n not in wrong and value is not None
        }
        return SUBMISSION_SCHEMA.load(rest, partial=True), list(error.errors)


def _cells(reader: Iterator[list[str]], header: Sequence[str]) -> Iterator[dict[str, object]]:
    for index, cells in enumerate(reader):
        if not cells:  # a blank line
            continue
        if len(cells) != len(header):
            raise InvalidParameters(ParameterError(f"{_ROWS}[{index}]", "malformed"))
        pairs = zip(header, cells, strict=True)
        yield {name: _typed(name, cell) for name, cell in pairs if cell.strip() or name not in SUBMISSION}


def _typed(name: str, cell: str) -> object:
    return SUBMISSION[name].from_text(cell) if name in SUBMISSION else cell


def _listed(body: object) -> list[object]:
    if not isinstance(body, dict):
        raise InvalidParameters(ParameterError("body", "not_an_object"))
    strangers = islice((name for name in body if name != _ROWS), MOST_UNKNOWN)
    unknown = [ParameterError(name[:100], "unknown_parameter", (_ROWS,)) for name in strangers]
    rows = body[_ROWS]
    if not isinstance(rows, list):
        unknown.append(ParameterError(_ROWS, "not_a_list"))
    if unknown:
        raise InvalidParameters(*unknown)
    assert isinstance(rows, list)  # just checked
    return rows


def _named(known: RowNames, field: str, given: Mapping[str, Any], faults: list[ParameterError]) -> Any:
    """The catalog's entry; None, with a fault, for a name that it does not have."""
    if field not in given:  # a fault already
        return None
    found = known.find(field, given[field])
    if found is None:
        faults.append(known.fault(field, given[field]))
    return found


def _conditions(given: Mapping[str, Any], now: float) -> Iterator[ParameterError]:
    """What can be told without the catalog."""
    if not any(name in given for name in _SPEEDS):
        yield ParameterError(_SPEEDS[0], "no_speed", _SPEEDS)
    date = given.get("date")
    # A day that has begun somewhere on earth is not in the future.
    today = datetime.fromtimestamp(now + 14 * 3600, UTC).date().isoformat()
    if date is not None and date > today[: len(date)]:
        yield ParameterError("date", "in_the_future", None, {"today": today})
    count = given.get("gpu_count", 1)
    for name in ("tensor_parallel", "expert_parallel"):
        if given.get(name, 1) > count:
            yield ParameterError(name, "exceeds_limit", None, {"maximum": count})
    if given.get("draft_acceptance") is not None and not given.get("speculative_tokens"):
        yield ParameterError("draft_acceptance", "needs", None, {"other": "speculative_tokens"})


def _format(given: Mapping[str, Any], model: Any) -> Iterator[ParameterError]:
    """A format that the engine does not load."""
    name, engine = given.get("quantization"), ENGINES.get(given.get("engine", ""))
    if name is None or engine is None:
        return
    if name not in engine.formats or (name == _NATIVE and not engine.loads_native(model.architecture)):
        values = {"engine": engine.id, "format": name}
        yield ParameterError("quantization", "format_not_supported", tuple(engine.formats), values)


assert set(SUBMISSION) == {f.name for f in fields(Submission)} - {"published_model", "published_gpu"}
