"""A matrix as columns of JSON, and as rows of CSV."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from service.core.matrix.question import AXES
from service.core.matrix.result import Matrix, Measure
from service.version import VERSION

_COLUMNS = ("model", "gpu", "quantization", "context_tokens")


def matrix_document(matrix: Matrix, data_digest: str) -> dict[str, Any]:
    """Axes, and measures that are flat lists over the axes that they name, the last changing fastest."""
    return {
        "axes": dict(zip(AXES, _axes(matrix), strict=True)),
        "cells": matrix.question.cells,
        "scenario": dict(matrix.question.values),
        "measures": {
            name: {"axes": list(found.axes), "values": found.listed()}
            for name, found in matrix.measures.items()
        },
        "versions": {"service": VERSION, "data_digest": data_digest},
    }


def matrix_csv(matrix: Matrix) -> bytes:
    """One line for each cell (RFC 4180), empty where there is no value; ids and numbers need no quotes."""
    lengths = dict(zip(AXES, matrix.question.shape, strict=True))
    columns = [list(column) for column in _cells(_axes(matrix))]
    columns += [_whole(found, lengths) for found in matrix.measures.values()]
    rows = zip(*columns, strict=True)
    lines = [",".join((*_COLUMNS, *matrix.measures)), *map(",".join, rows)]
    return ("\r\n".join(lines) + "\r\n").encode()


def _axes(matrix: Matrix) -> tuple[list[Any], ...]:
    models = [model.id for model in matrix.question.models]
    gpus = [gpu.id for gpu in matrix.question.gpus]
    return models, gpus, list(matrix.quantizations), list(matrix.contexts)


def _cells(axes: Sequence[Sequence[Any]]) -> Iterator[tuple[str, ...]]:
    """The four names of every cell, by column."""
    written = [[str(entry) for entry in axis] for axis in axes]
    return iter(zip(*product(*written), strict=True)) if all(written) else iter([()] * len(written))


def _whole(found: Measure, lengths: Mapping[str, int]) -> list[str]:
    """A measure as text for every cell, repeated along the axes that it leaves out."""
    written = np.array(["" if value is None else str(value) for value in found.listed()], object)
    shape = [lengths[axis] if axis in found.axes else 1 for axis in AXES]
    whole = np.broadcast_to(written.reshape(shape), [lengths[axis] for axis in AXES])
    texts: list[str] = whole.ravel().tolist()
    return texts
