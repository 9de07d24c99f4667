"""Ollama's allocation for many formats, contexts and accelerators: llama.cpp's, once for each batch."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.core.arrays import NOTHING, Whole, as_number
from service.core.engines.llama_cpp.frames import placed_weights
from service.core.engines.llama_cpp.sheet import sheet
from service.core.engines.ollama_batch import BATCHES, Expected, asks_batch, expected
from service.core.engines.sheets import Case, Flags, Places, Sheet
from service.core.scenario import Scenario
from service.core.sizing import Memory


def batched_sheet(cases: Sequence[Case], contexts: Whole, places: Places, refused: Flags) -> Sheet:
    """The plan of every row at every context, on every place; the places of a row have the same memory.

    refused: rows that Ollama does not serve as they are asked for.
    """
    rows = _expected(cases)
    asked = cases[0].scenario if asks_batch(cases[0].scenario) else None
    batches = _batches(rows, contexts, places, asked)
    sheets = {
        tokens: sheet([_with_batch(case, tokens) for case in cases], contexts, places)
        for tokens in (BATCHES if asked is None else (asked.max_batched_tokens,))
    }

    def of_rows(pick: Callable[[Sheet], NDArray[Any]]) -> NDArray[Any]:
        return _picked({tokens: pick(each) for tokens, each in sheets.items()}, batches)

    any_sheet = next(iter(sheets.values()))
    return replace(
        any_sheet,
        terms={name: of_rows(lambda each, n=name: each.terms[n]) for name in Memory.__slots__},  # type: ignore[misc]
        fullest=of_rows(lambda each: each.fullest),
        host=of_rows(lambda each: each.host),
        refused=any_sheet.refused | refused,
        longest=any_sheet.longest if asked is not None else _longest(rows, places, sheets),
    )


def _with_batch(case: Case, tokens: int) -> Case:
    return Case(replace(case.scenario, max_batched_tokens=tokens), case.quantizations)


def _expected(cases: Sequence[Case]) -> Expected:
    """What Ollama reckons with, over rows; free: how many GPUs share a row's model."""
    rows = []
    for case in cases:
        for quantization in case.quantizations:
            total = placed_weights(case.scenario, quantization).total
            of_row = expected(case.scenario, total, 1)
            rows.append([getattr(of_row, name) for name in Expected.__slots__])
    return Expected(*map(as_number, np.array(rows, np.int64).T))


def _at(rows: Expected, places: Places, of: NDArray[np.intp]) -> Expected:
    """The same for some places: their rows' figures, and the memory of their accelerators."""
    offered = np.where(places.offered == NOTHING, 0, places.offered)[of]
    row = places.row[of]
    found = {name: np.asarray(getattr(rows, name))[row] for name in Expected.__slots__}
    return Expected(
        **{name: as_number(values) for name, values in {**found, "free": found["free"] * offered}.items()}
    )


def _batches(rows: Expected, contexts: Whole, places: Places, asked: Scenario | None) -> Whole:
    """Tokens of a batch for each row and context."""
    count = len(np.asarray(rows.free))
    if asked is not None:
        return np.full((count, len(contexts)), asked.max_batched_tokens, np.int64)
    first = _at(rows, places, np.searchsorted(places.row, np.arange(count)))
    columns = (as_number(np.asarray(getattr(first, name))[:, None]) for name in Expected.__slots__)
    return np.asarray(Expected(*columns).batch(as_number(contexts[None, :]))).astype(np.int64)


def _longest(rows: Expected, places: Places, sheets: Mapping[int, Sheet]) -> Whole:
    """The largest contexts that fit with the batch taken there."""
    every = _at(rows, places, np.arange(len(places.row)))
    fitting = {tokens: as_number(each.longest[:, 0]) for tokens, each in sheets.items()}
    found = np.asarray(every.longest_context(fitting))
    return np.where(places.known, found, NOTHING)[:, None]


def _picked(figures: Mapping[int, NDArray[Any]], batches: Whole) -> NDArray[Any]:
    """The figures of the batch that each cell takes."""
    found: NDArray[Any] | None = None
    for tokens, values in figures.items():
        found = values if found is None else np.where(batches == tokens, values, found)
    assert found is not None
    return found
