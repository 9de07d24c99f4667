"""What a matrix is asked for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

from service.core.catalogued import Model
from service.core.hardware import Gpu
from service.errors import InvalidParameters, ParameterError

# All models x all accelerators in eight formats at six contexts are 219,000; this many are 40 MB of JSON.
MOST_CELLS = 500_000
AXES = ("models", "gpus", "quantizations", "contexts")


@dataclass(frozen=True, slots=True)
class Question:
    """The four axes, and the scenario that all cells share.

    quantizations, contexts: an entry of None is what the scenario means when nothing is said.
    values: the other parameters of the scenario that were given, by their API names.
    """

    models: tuple[Model, ...]
    gpus: tuple[Gpu, ...]
    quantizations: tuple[str | None, ...] = (None,)
    contexts: tuple[int | None, ...] = (None,)
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Cells along each of AXES."""
        return len(self.models), len(self.gpus), len(self.quantizations), len(self.contexts)

    @property
    def cells(self) -> int:
        """Cells in all."""
        return prod(self.shape)


def check_size(question: Question, most: int = MOST_CELLS) -> None:
    """Raise InvalidParameters for more cells than are computed at once, with the parts to ask for instead."""
    if question.cells <= most:
        return
    _, gpus, formats, contexts = question.shape
    each = gpus * formats * contexts
    values: dict[str, object] = {"cells": question.cells, "maximum": most}
    if each <= most:
        raise InvalidParameters(
            ParameterError("models", "matrix_too_large", None, {**values, "at_once": most // each})
        )
    part = max(1, most // (formats * contexts))
    raise InvalidParameters(ParameterError("gpus", "matrix_too_large", None, {**values, "at_once": part}))
