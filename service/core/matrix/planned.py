"""The sheet of an engine without array formulas: one plan for each row and context."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.core.arrays import NOTHING, Whole
from service.core.engines.base import Engine
from service.core.engines.broadcast import Broadcasts
from service.core.engines.sheets import Places, Sheet
from service.core.matrix.batches import Row, on
from service.core.scenario import Scenario
from service.core.sizing import EnginePlan, Memory


def planned_sheet(engine: Engine, rows: Sequence[Row], contexts: int, places: Places) -> Sheet:
    """The plans of all rows; figures of contexts without a scenario are NOTHING.

    contexts: how many. Where the engine broadcasts, what follows from the memory of each place is asked for
    apart; else all places of a row are taken to have the memory of its first.
    """
    filling = _Filling(engine, rows, contexts, places)
    for number, row in enumerate(rows):
        for column, scenario in enumerate(row.at):
            if scenario is not None:
                filling.put(number, column, scenario)
    return filling.sheet


class _Filling:
    """A sheet while it is filled."""

    def __init__(self, engine: Engine, rows: Sequence[Row], contexts: int, places: Places) -> None:
        self._engine, self._rows, self._places = engine, rows, places
        self._broadcasts = engine if isinstance(engine, Broadcasts) else None
        self._ends = np.searchsorted(places.row, np.arange(len(rows) + 1)).tolist()

        def blank(count: int = len(rows), dtype: type = object, value: object = NOTHING) -> NDArray[Any]:
            return np.full((count, contexts), value, dtype)

        self.sheet = Sheet(
            terms={name: blank() for name in Memory.__slots__},
            fullest=blank(),
            host=blank(),
            short=blank(dtype=bool, value=False),
            refused=blank(dtype=bool, value=False),
            usable=blank(len(places.row), np.int64),
            longest=blank(len(places.row), np.int64),
        )

    def put(self, row: int, column: int, scenario: Scenario) -> None:
        plan = self._engine.plan(scenario, limits=self._broadcasts is None)
        sheet, whole, cell = self.sheet, plan.total, (row, column)
        for name, term in sheet.terms.items():
            term[cell] = getattr(whole, name)
        sheet.fullest[cell], sheet.host[cell] = plan.fullest.total, plan.host_bytes
        sheet.short[cell] = bool(plan.shortages)
        sheet.refused[cell] = bool(plan.refusals)
        own = slice(self._ends[row], self._ends[row + 1])
        sheet.usable[own, column], sheet.longest[own, column] = self._limits(scenario, plan, own)
        if self._broadcasts is not None:
            self._add_unknown(row, column, scenario)

    def _limits(self, scenario: Scenario, plan: EnginePlan, own: slice) -> tuple[Whole | int, Whole | int]:
        """Usable bytes and longest context of the places of a row."""
        engine = self._broadcasts
        if engine is None:
            return _or_nothing(plan.usable_bytes), _or_nothing(plan.max_context_tokens)
        offered = self._places.offered[own].tolist()
        amounts = sorted({amount for amount in offered if amount != NOTHING})
        usable = _by_amount(amounts, engine.usable(scenario, amounts))
        longest = _by_amount(amounts, engine.longest(scenario, amounts))
        return (
            np.array([usable[amount] for amount in offered], np.int64),
            np.array([longest[amount] for amount in offered], np.int64),
        )

    def _add_unknown(self, row: int, column: int, scenario: Scenario) -> None:
        """The longest contexts of places of unknown memory, which a fixed pool may have all the same."""
        first = self._ends[row]
        for place, member in enumerate(self._rows[row].group.members, first):
            if self._places.offered[place] == NOTHING:
                planned = self._engine.plan(on(scenario, member))
                self.sheet.longest[place, column] = _or_nothing(planned.max_context_tokens)


def _by_amount(amounts: Sequence[int], found: Sequence[int | None]) -> Mapping[int, int]:
    return {NOTHING: NOTHING} | {
        amount: _or_nothing(value) for amount, value in zip(amounts, found, strict=True)
    }


def _or_nothing(value: int | None) -> int:
    return NOTHING if value is None else value
