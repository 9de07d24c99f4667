"""A matrix as columns of JSON, and as rows of CSV."""

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.api.encoding import to_json
from service.core.matrix.question import AXES
from service.core.matrix.result import VERDICT, Matrix, Measure
from service.version import VERSION

_COLUMNS = ("model", "gpu", "quantization", "context_tokens")


def matrix_document(matrix: Matrix, data_digest: str) -> dict[str, Any]:
    """Axes, and measures that are flat lists over the axes that they name, the last changing fastest."""
    return {
        "axes": dict(zip(AXES, _axes(matrix), strict=True)),
        "cells": matrix.question.cells,
        "scenario": dict(matrix.question.values),
        "measures": {
            name: {"axes": list(found.axes), "values": found.column()}
            for name, found in matrix.measures.items()
        },
        "versions": {"service": VERSION, "data_digest": data_digest},
    }


def matrix_csv(matrix: Matrix) -> bytes:
    """One line for each cell (RFC 4180), empty where there is no value; ids and numbers need no quotes."""
    lengths = dict(zip(AXES, matrix.question.shape, strict=True))
    names = list(map(",".join, product(*([str(entry) for entry in axis] for axis in _axes(matrix)))))
    columns = [_whole(found, lengths) for found in matrix.measures.values()]
    lines = [",".join((*_COLUMNS, *matrix.measures)), *map(",".join, zip(names, *columns, strict=True))]
    return ("\r\n".join(lines) + "\r\n").encode()


def _axes(matrix: Matrix) -> tuple[list[Any], ...]:
    models = [model.id for model in matrix.question.models]
    gpus = [gpu.id for gpu in matrix.question.gpus]
    return models, gpus, list(matrix.quantizations), list(matrix.contexts)


def _whole(found: Measure, lengths: Mapping[str, int]) -> list[str]:
    """A measure as text for every cell, repeated along the axes that it leaves out."""
    column = found.column()
    written = column if found.name == VERDICT else _numbers(column)
    shape = [lengths[axis] if axis in found.axes else 1 for axis in AXES]
    whole = np.broadcast_to(np.array(written, object).reshape(shape), [lengths[axis] for axis in AXES])
    texts: list[str] = whole.ravel().tolist()
    return texts


def _numbers(column: NDArray[Any] | list[Any]) -> list[str]:
    """Numbers as JSON writes them, empty where it has null."""
    return to_json(column)[1:-1].decode().replace("null", "").split(",") if len(column) else []
