"""Question -> Matrix: one plan for each model, format, context and group of accelerators."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.core.engines import ENGINES
from service.core.matrix.cells import Cells, Facts, GroupCells
from service.core.matrix.groups import Group, Grouping
from service.core.matrix.offers import NOTHING
from service.core.matrix.question import Question, check_size
from service.core.matrix.result import CODES, SPEEDS, VERDICT, Matrix, measure
from service.core.request import Request
from service.core.resolve import DEFAULT_CONTEXT_TOKENS, DEFAULT_ENGINE, resolve
from service.core.scenario import DEGREES, Scenario
from service.core.sizing import Memory, Verdict
from service.errors import InvalidParameters

_TERMS = tuple(f"{name}_bytes" for name in ("total", *Memory.__slots__, "per_gpu", "host"))
_WHOLE_NUMBERS = (*_TERMS, "usable_bytes", "max_context_tokens")
# The order of the measures in an answer.
MEASURES = (VERDICT, *_WHOLE_NUMBERS, *SPEEDS, "usd_per_hour")
# Parameters that may suit some cells and not others; any other fault is one of the whole question.
_OF_A_CELL = frozenset({"quantization", "gpu_count", *DEGREES})


def compute(question: Question, facts: Facts) -> Matrix:
    """Every measure of every cell; a cell without a scenario is `unsupported` and has no figures.

    Raises InvalidParameters for too many cells, and for what no cell accepts.
    """
    check_size(question)
    filling = _Filling(question, facts)
    filling.fill()
    engine = question.values.get("engine") or DEFAULT_ENGINE
    return Matrix(
        question=question,
        quantizations=tuple(name or ENGINES[engine].default_format for name in question.quantizations),
        contexts=tuple(tokens or DEFAULT_CONTEXT_TOKENS for tokens in question.contexts),
        measures={name: measure(name, filling.values(name)) for name in MEASURES},
    )


class _Filling:
    """The arrays while they are filled, accelerators last, so that a group's cells are one assignment."""

    def __init__(self, question: Question, facts: Facts) -> None:
        self._question, self._facts = question, facts
        self._rest: Mapping[str, Any] = {k: v for k, v in question.values.items() if k != "engine"}
        self._grouping = Grouping(question.gpus, question.values)
        self._known: dict[Group, GroupCells] = {}
        models, gpus, formats, contexts = question.shape
        shape = (models, formats, contexts, gpus)
        self._whole = np.full((len(_WHOLE_NUMBERS), *shape), NOTHING, np.int64)
        self._rates = np.full((len(SPEEDS) + 1, *shape), np.nan)
        self._verdicts = np.full(shape, CODES[Verdict.UNSUPPORTED], np.int8)

    def fill(self) -> None:
        """Compute all cells; raises InvalidParameters when a fault is not one of single cells."""
        filled = False
        errors: list[InvalidParameters] = []
        for cell, group, asked in self._requests():
            try:
                scenario = resolve(asked)
            except InvalidParameters as error:
                errors.append(error)
                continue
            self._put(cell, [member.place for member in group.members], self._cells(group, scenario))
            filled = True
        if not filled:
            _raise_whole(self._grouping.refused + errors)

    def _requests(self) -> Iterator[tuple[tuple[int, int, int], Group, Request]]:
        """Model, format and context by their places, a group, and what is asked of its first accelerator."""
        question = self._question
        for row, model in enumerate(question.models):
            for column, quantization in enumerate(question.quantizations):
                for group in self._grouping.groups(model, quantization):
                    request = Request(
                        model=model,
                        gpu=group.members[0].gpu,
                        engine=group.engine,
                        quantization=quantization,
                        **self._rest,
                    )
                    for depth, context in enumerate(question.contexts):
                        yield (row, column, depth), group, replace(request, context_tokens=context)

    def _cells(self, group: Group, scenario: Scenario) -> Cells:
        if group not in self._known:
            self._known[group] = GroupCells(group, scenario, self._facts)
        return self._known[group].cells(scenario)

    def _put(self, cell: tuple[int, int, int], places: list[int], found: Cells) -> None:
        whole, count = self._whole[(slice(None), *cell)], len(_TERMS)
        whole[:count, places] = np.array([found.terms[name] for name in _TERMS])[:, None]
        whole[count, places], whole[count + 1, places] = found.usable, found.longest
        rates = self._rates[(slice(None), *cell)]
        rates[:-1, places], rates[-1, places] = found.decode, found.usd_per_hour
        self._verdicts[cell][places] = found.verdicts

    def values(self, name: str) -> NDArray[Any]:
        """The array of a measure over models, accelerators, formats and contexts."""
        if name == VERDICT:
            found: NDArray[Any] = self._verdicts
        elif name in _WHOLE_NUMBERS:
            found = self._whole[_WHOLE_NUMBERS.index(name)]
        else:
            found = self._rates[SPEEDS.index(name) if name in SPEEDS else -1]
        return np.moveaxis(found, -1, 1)


def _raise_whole(errors: list[InvalidParameters]) -> None:
    """Raise what is wrong with every cell, unless the cells merely do not exist."""
    for error in errors:
        if any(wrong.parameter not in _OF_A_CELL for wrong in error.errors):
            raise error
