"""The sheet of an engine without array formulas: one plan for each row and context."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.core.arrays import NOTHING
from service.core.engines.base import Engine
from service.core.engines.sheets import Places, Sheet
from service.core.matrix.batches import Row
from service.core.sizing import Memory


def planned_sheet(engine: Engine, rows: Sequence[Row], contexts: int, places: Places) -> Sheet:
    """The plans of all rows; figures of contexts without a scenario are NOTHING.

    contexts: how many. All places of a row are taken to have the memory of its first.
    """

    def blank(count: int = len(rows), dtype: type = object, value: object = NOTHING) -> NDArray[Any]:
        return np.full((count, contexts), value, dtype)

    found = Sheet(
        terms={name: blank() for name in Memory.__slots__},
        fullest=blank(),
        host=blank(),
        short=blank(dtype=bool, value=False),
        refused=blank(dtype=bool, value=False),
        usable=blank(len(places.row), np.int64),
        longest=blank(len(places.row), np.int64),
    )
    ends = np.searchsorted(places.row, np.arange(len(rows) + 1)).tolist()
    for number, row in enumerate(rows):
        own = slice(ends[number], ends[number + 1])
        for column, scenario in enumerate(row.at):
            if scenario is not None:
                plan, cell = engine.plan(scenario), (number, column)
                for name, term in found.terms.items():
                    term[cell] = getattr(plan.total, name)
                found.fullest[cell], found.host[cell] = plan.fullest.total, plan.host_bytes
                found.short[cell], found.refused[cell] = bool(plan.shortages), bool(plan.refusals)
                found.usable[own, column] = _or_nothing(plan.usable_bytes)
                found.longest[own, column] = _or_nothing(plan.max_context_tokens)
    return found


def _or_nothing(value: int | None) -> int:
    return NOTHING if value is None else value
