"""`/v1/matrix` in the OpenAPI document."""

from collections.abc import Callable

from service.api.accept import CSV, HTML, JSON
from service.api.matrix_question import QUERY_PARAMETERS
from service.api.openapi_parameters import query
from service.api.openapi_schemas import (
    ANY_OBJECT,
    NUMBER,
    TEXT,
    TEXTS,
    WHOLE,
    Json,
    array,
    described,
    record,
    ref,
)
from service.api.training import Names
from service.core.matrix.compute import MEASURES
from service.core.matrix.question import AXES, MOST_CELLS

_SUMMARY = "Models x accelerators x formats x contexts in one answer."
_VALUE: Json = {"anyOf": [NUMBER, TEXT, {"type": "null"}]}


def matrix_path(get: Callable[..., Json]) -> Json:
    """The operation; get: what makes the GET of a resource."""
    text = {"schema": TEXT}
    content = {JSON: {"schema": ref("Matrix")}, HTML: text, CSV: text}
    operation = get("matrix", _SUMMARY, content, _parameters(), ("unknown-model",))
    operation["get"]["description"] = (
        f"At most {MOST_CELLS:,} cells. Parameters of the scenario apply to every cell; a cell that is no "
        "scenario is `unsupported` and null."
    )
    return operation


def matrix_schemas() -> dict[str, Json]:
    """The columns of the JSON answer."""
    measure = record(
        "One figure of every cell.",
        {
            "axes": described(
                array({"type": "string", "enum": list(AXES)}), "The axes along which the figure varies."
            ),
            "values": array(_VALUE, "Over those axes in row-major order: the last changes fastest."),
        },
    )
    axes: Json = {name: TEXTS for name in AXES if name != "contexts"} | {"contexts": array(WHOLE)}
    return {
        "Matrix": record(
            "Figures of all cells, by column.",
            {
                "axes": record("Entries of the axes, in order.", axes),
                "cells": WHOLE,
                "scenario": described(ANY_OBJECT, "The parameters that were given for all cells."),
                "measures": record("By name.", dict.fromkeys(MEASURES, ref("MatrixMeasure"))),
                "versions": record("What answered.", {"service": TEXT, "data_digest": TEXT}),
            },
        ),
        "MatrixMeasure": measure,
    }


def _parameters() -> list[Json]:
    found = query(QUERY_PARAMETERS)
    for documented in found:
        if isinstance(QUERY_PARAMETERS[documented["name"]], Names):  # a list is as long as an address may be
            documented["schema"].pop("maxLength")
    return found
