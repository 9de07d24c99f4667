"""Ollama's allocation for many formats, contexts and accelerators: llama.cpp's, once for each batch."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.core.arrays import NOTHING, Whole, as_number
from service.core.engines.llama_cpp.frames import placed_weights
from service.core.engines.llama_cpp.sheet import sheet
from service.core.engines.ollama_batch import batch_of
from service.core.engines.sheets import Case, Flags, Places, Sheet
from service.core.sizing import Memory


def batched_sheet(cases: Sequence[Case], contexts: Whole, places: Places, refused: Flags) -> Sheet:
    """The plan of every row at every context, on every place; the places of a row have the same memory.

    refused: rows that Ollama does not serve as they are asked for.
    """
    batches = _batches(cases, contexts, places)
    sheets = {
        tokens: sheet([_with_batch(case, tokens) for case in cases], contexts, places)
        for tokens in np.unique(batches).tolist()
    }
    at_places = batches.take(places.row, axis=0)

    def of_rows(pick: Callable[[Sheet], NDArray[Any]]) -> NDArray[Any]:
        return _picked({tokens: pick(each) for tokens, each in sheets.items()}, batches)

    any_sheet = next(iter(sheets.values()))
    return replace(
        any_sheet,
        terms={name: of_rows(lambda each, n=name: each.terms[n]) for name in Memory.__slots__},  # type: ignore[misc]
        fullest=of_rows(lambda each: each.fullest),
        host=of_rows(lambda each: each.host),
        refused=any_sheet.refused | refused,
        longest=_picked({tokens: each.longest for tokens, each in sheets.items()}, at_places),
    )


def _with_batch(case: Case, tokens: int) -> Case:
    return Case(replace(case.scenario, max_batched_tokens=tokens), case.quantizations)


def _batches(cases: Sequence[Case], contexts: Whole, places: Places) -> Whole:
    """Tokens of a batch for each row and context."""
    rows = sum(len(case.quantizations) for case in cases)
    first = np.searchsorted(places.row, np.arange(rows))
    usable = np.where(places.offered == NOTHING, 0, places.offered)[first].tolist()
    found = np.zeros((rows, len(contexts)), np.int64)
    row = 0
    for case in cases:
        for quantization in case.quantizations:
            total = placed_weights(case.scenario, quantization).total
            found[row] = batch_of(case.scenario, as_number(contexts), total, usable[row])
            row += 1
    return found


def _picked(figures: Mapping[int, NDArray[Any]], batches: Whole) -> NDArray[Any]:
    """The figures of the batch that each cell takes."""
    found: NDArray[Any] | None = None
    for tokens, values in figures.items():
        found = values if found is None else np.where(batches == tokens, values, found)
    assert found is not None
    return found
