"""Question -> Matrix: the rows of each engine, their sheet, and every measure over the axes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.core.engines import ENGINES
from service.core.matrix.batches import Batch
from service.core.matrix.cells import Cells, Facts
from service.core.matrix.question import Question, check_size
from service.core.matrix.result import SPEEDS, VERDICT, Matrix, blank, measure
from service.core.matrix.rows import Resolved
from service.core.resolve import DEFAULT_CONTEXT_TOKENS, DEFAULT_ENGINE
from service.core.sizing import Memory

_TERMS = tuple(f"{name}_bytes" for name in ("total", *Memory.__slots__, "per_gpu", "host"))
# The order of the measures in an answer.
MEASURES = (VERDICT, *_TERMS, "usable_bytes", "max_context_tokens", *SPEEDS, "usd_per_hour")
# The others are alike on all accelerators of a row.
_OF_PLACES = frozenset(MEASURES) - frozenset(_TERMS)


def compute(question: Question, facts: Facts) -> Matrix:
    """Every measure of every cell; a cell without a scenario is `unsupported` and has no figures.

    Raises InvalidParameters for too many cells, and for what no cell accepts.
    """
    check_size(question)
    engine = question.values.get("engine") or DEFAULT_ENGINE
    contexts = tuple(tokens or DEFAULT_CONTEXT_TOKENS for tokens in question.contexts)
    values = _values(question, contexts, facts)
    return Matrix(
        question=question,
        quantizations=tuple(name or ENGINES[engine].default_format for name in question.quantizations),
        contexts=contexts,
        measures={name: measure(name, values[name]) for name in MEASURES},
    )


def _values(question: Question, contexts: tuple[int, ...], facts: Facts) -> dict[str, NDArray[Any]]:
    """The measures over all four axes, in their order."""
    resolved = Resolved(question)
    possible = list(resolved.tokens.possible)
    here = [contexts[place] for place in possible]
    batches = list(resolved.batches.values())
    figures = [Cells(batch, here, resolved.tokens, facts).figures() for batch in batches]
    rows, places = _lines(question, batches)
    found = {}
    for name in MEASURES:
        shared = name not in _OF_PLACES
        parts = [(each.by_row if shared else each.by_place)[name] for each in figures]
        lines = np.concatenate([np.full((1, len(here)), blank(name)), *parts])
        if len(here) < len(contexts):
            lines = _widened(lines, possible, len(contexts), name)
        found[name] = lines.take(rows if shared else places, axis=0).reshape(question.shape)
    return found


def _lines(question: Question, batches: Sequence[Batch]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The row and the place of every model, accelerator and format, from 1 over all batches; 0 = none."""
    models, gpus, formats, _ = question.shape
    rows, places = np.zeros((2, models * gpus * formats), np.intp)
    first_row = first_place = 1
    for batch in batches:
        quantizations = np.array([row.quantization for row in batch.rows], np.intp)
        own = np.array(batch.models, np.intp) * (gpus * formats) + quantizations
        line = own[batch.row] + batch.places * formats
        rows[line] = first_row + batch.row
        places[line] = first_place + np.arange(len(batch.row))
        first_row += len(batch.rows)
        first_place += len(batch.row)
    return rows, places


def _widened(lines: NDArray[Any], possible: Sequence[int], contexts: int, name: str) -> NDArray[Any]:
    """The lines with nothing at contexts that do not hold the prompt."""
    found = np.full((len(lines), contexts), blank(name), lines.dtype)
    found[:, possible] = lines
    return found
