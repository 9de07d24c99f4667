"""config/measurements/*.csv and sources.yaml -> Measurement objects, checked by hand: rows are many.

A schema library would take longer than all other facts together; each column has one reader here instead.
"""

import csv
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from io import StringIO
from math import isfinite
from sys import intern
from types import MappingProxyType
from typing import Any, NamedTuple

from service.catalog.fields import is_period
from service.catalog.schemas import MeasurementSourceSchema
from service.catalog.validation import rows
from service.catalog.yaml_files import read_yaml
from service.core.measurements import FLAGS, Measurement, Source
from service.errors import CatalogError

FOLDER = "measurements/"
SOURCES = f"{FOLDER}sources.yaml"
COLUMNS = tuple(field.name for field in fields(Measurement))
_REQUIRED = ("id", "model", "gpu", "source", "published_model", "published_gpu")


class Measured(NamedTuple):
    """All measurements: records by model id, each in the order of the files, and sources by id."""

    by_model: Mapping[str, tuple[Measurement, ...]]
    sources: Mapping[str, Source]


def measurements(files: Mapping[str, bytes], known: Mapping[str, Iterable[str]]) -> Measured:
    """The measurements among the fact files; none is a valid number of them.

    known: column -> ids that it may name (`model`, `gpu`, `engine`, `quantization`).
    Raises CatalogError with the file, the line and column, and the reason.
    """
    sources = _sources(files)
    names = {column: frozenset(ids) for column, ids in {**known, "source": sources}.items()}
    by_model: dict[str, list[Measurement]] = {}
    seen: set[str] = set()
    for file, content in files.items():
        if file.startswith(FOLDER) and file.endswith(".csv"):
            for line, row in _lines(content, file):
                found = _measurement(row, file, line, names)
                if found.id in seen:
                    raise CatalogError(file, f"line {line}: id", f"{found.id!r} occurs twice")
                seen.add(found.id)
                by_model.setdefault(found.model, []).append(found)
    return Measured(MappingProxyType({m: tuple(found) for m, found in by_model.items()}), sources)


def _sources(files: Mapping[str, bytes]) -> Mapping[str, Source]:
    if SOURCES not in files:
        return MappingProxyType({})
    found = rows(MeasurementSourceSchema(), read_yaml(files[SOURCES], SOURCES), SOURCES)
    return MappingProxyType({row["id"]: Source(**row) for row in found})


def _lines(content: bytes, file: str) -> Iterable[tuple[int, dict[str, str]]]:
    try:
        reader = csv.DictReader(StringIO(content.decode(), newline=""), strict=True, restkey="", restval=None)
        if reader.fieldnames is None or set(reader.fieldnames) != set(COLUMNS):
            wrong = set(reader.fieldnames or ()) ^ set(COLUMNS)
            raise CatalogError(file, "line 1", f"columns missing or unknown: {', '.join(sorted(wrong))}")
        for row in reader:
            if "" in row or None in row.values():
                raise CatalogError(file, f"line {reader.line_num}", "has not one value for each column")
            yield reader.line_num, row
    except (csv.Error, UnicodeDecodeError) as error:
        raise CatalogError(file, "file", str(error)) from error


def _measurement(
    row: Mapping[str, str], file: str, line: int, known: Mapping[str, frozenset[str]]
) -> Measurement:
    values: dict[str, Any] = {}
    for column, text in row.items():
        if text:
            try:
                values[column] = _READERS.get(column, intern)(text)
            except ValueError as error:
                raise CatalogError(file, f"line {line}: {column}", str(error)) from None
    for column in _REQUIRED:
        if column not in values:
            raise CatalogError(file, f"line {line}: {column}", "must not be empty")
    for column, ids in known.items():
        if column in values and values[column] not in ids:
            raise CatalogError(file, f"line {line}: {column}", f"{values[column]!r} does not exist")
    if not values.keys() & {"decode_tokens_per_second", "prefill_tokens_per_second"}:
        raise CatalogError(file, f"line {line}", "states no speed")
    values.setdefault("source_detail", "")
    return Measurement(**values)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


def _rate(text: str) -> float:
    value = float(text)
    if not isfinite(value) or value <= 0:
        raise ValueError(f"{text!r} is not a number above zero")
    return value


def _one_of(choices: Mapping[str, Any]) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        if text not in choices:
            raise ValueError(f"{text!r} is none of {', '.join(choices)}")
        return choices[text]

    return read


def _period(text: str) -> str:
    if not is_period(text):
        raise ValueError(f"{text!r} is not a day, month or year")
    return text


_flag = _one_of({flag: flag for flag in FLAGS})


def _flags(text: str) -> tuple[str, ...]:
    return tuple(_flag(flag) for flag in text.split())


_READERS: Mapping[str, Callable[[str], Any]] = {
    "equivalent": _one_of({"yes": True}),
    "speculative": _one_of({"on": True, "off": False}),
    "date": _period,
    "flags": _flags,
    **dict.fromkeys(
        (
            "gpu_count",
            "tensor_parallel",
            "expert_parallel",
            "concurrency",
            "context_tokens",
            "prompt_tokens",
            "output_tokens",
        ),
        _count,
    ),
    **dict.fromkeys(
        (
            "weights_gib",
            "draft_acceptance",
            "decode_tokens_per_second",
            "decode_tokens_per_second_per_sequence",
            "prefill_tokens_per_second",
            "time_to_first_token_ms",
            "time_per_output_token_ms",
        ),
        _rate,
    ),
}
