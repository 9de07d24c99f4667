"""TensorRT-LLM's allocation for many formats, contexts and accelerators at once, by `plan`'s formulas."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.core.arrays import NOTHING, Whole, as_number, saturated
from service.core.engines.sheets import Case, Flags, Places, Sheet
from service.core.engines.tensorrt_llm.budget import Stage
from service.core.engines.tensorrt_llm.plan import drafts, fraction, sees, stages_with
from service.core.engines.tensorrt_llm.stack import Stack, stack
from service.core.parallel import stage_weights
from service.core.scenario import Layout
from service.core.units import ceil_div
from service.core.weights.derived import FromWeights

_sizes: FromWeights[Layout, tuple[int, ...]] = FromWeights(
    lambda model, table, layout: stage_weights(table, model.architecture, layout)
)


@dataclass(frozen=True, slots=True)
class _Rows:
    """The plans of all rows.

    stages: of all rows, one after the other; first: the place of a row's first, of `count`. alike: ranks of a
    stage; each: sequences of a replica; longest: tokens that the model was made for.
    """

    stages: Stack
    first: NDArray[np.intp]
    count: NDArray[np.intp]
    alike: Whole
    each: Whole
    longest: Whole


def sheet(cases: Sequence[Case], contexts: Whole, places: Places) -> Sheet:
    """The plan of every row at every context, on every place."""
    rows, scenario = _rows(cases), cases[0].scenario
    pinned = scenario.kv_cache_memory_bytes
    each = rows.each.repeat(rows.count)[:, None]
    stages = rows.stages.stage(slice(None), column=True)
    memory = stages.memory(as_number(contexts[None, :]), as_number(each))
    needed = np.asarray(memory.kv_cache) + memory.recurrent_state
    fullest = np.maximum.reduceat(np.asarray(memory.total), rows.first, axis=0)

    def whole(amounts: int) -> NDArray[Any]:
        return np.add.reduceat(np.asarray(amounts), rows.first, axis=0) * rows.alike[:, None]

    short = np.zeros((1, 1), np.bool_)
    if pinned is not None:
        short = np.logical_or.reduceat(needed > pinned, rows.first, axis=0)
    ranks = _Ranks(rows, places, fraction(scenario), pinned)
    return Sheet(
        terms={
            "weights": whole(memory.weights),
            "kv_cache": whole(memory.kv_cache),
            "recurrent_state": whole(memory.recurrent_state),
            "compute_buffers": whole(memory.compute_buffers),
            "runtime_overhead": whole(memory.runtime_overhead),
        },
        fullest=fullest,
        host=np.zeros((1, 1), np.int64),
        short=short,
        refused=np.zeros((1, 1), np.bool_),
        usable=ranks.usable(needed, fullest),
        longest=ranks.longest(contexts.dtype.type)[:, None],
        crowded=ranks.crowded[:, None],
    )


def _rows(cases: Sequence[Case]) -> _Rows:
    stages: list[Stage] = []
    rows: list[tuple[int, ...]] = []
    for case in cases:
        scenario, layout = case.scenario, case.scenario.layout
        blank = stages_with(scenario, (0,) * layout.pipeline)
        each = ceil_div(scenario.concurrent_sequences, layout.data)
        longest = scenario.model.architecture.max_context_tokens
        for name in case.quantizations:
            sizes = _sizes(scenario.model, name, layout, mtp=drafts(scenario), vision=sees(scenario))
            rows.append((len(stages), len(sizes), layout.tensor * layout.data, each, longest))
            stages += (replace(stage, weights=size) for stage, size in zip(blank, sizes, strict=True))
    columns = np.array(rows, np.int64).T
    return _Rows(stack(stages), columns[0].astype(np.intp), columns[1].astype(np.intp), *columns[2:])


class _Ranks:
    """Every stage of the row of every place whose memory is known, or of all where the pools are fixed."""

    def __init__(self, rows: _Rows, places: Places, fraction: float, pinned: int | None) -> None:
        self._rows, self._places = rows, places
        self._fraction, self._pinned = fraction, pinned
        self._wanted = np.flatnonzero(places.known) if pinned is None else np.arange(len(places.row))
        self._row = places.row[self._wanted]
        count = rows.count[self._row]
        self._starts = np.cumsum(count) - count
        self._place = np.repeat(np.arange(len(count)), count)
        within = np.arange(len(self._place)) - self._starts[self._place]
        self._stage = rows.first[self._row][self._place] + within
        self._free = places.offered[self._wanted][self._place]

    def usable(self, needed: NDArray[Any], fullest: NDArray[Any]) -> Whole:
        """Usable bytes of the fullest rank: places x contexts. needed: of the pools, over stages."""
        found = np.full((len(self._places.row), needed.shape[1]), NOTHING, np.int64)
        if len(self._wanted):
            stages = self._rows.stages.stage(self._stage, column=True)
            spare = stages.spare(
                as_number(self._free[:, None]),
                self._fraction,
                as_number(needed[self._stage]),
                pinned=self._pinned is not None,
            )
            least = np.minimum.reduceat(np.asarray(spare), self._starts, axis=0)
            found[self._wanted] = saturated(fullest[self._row] + least)
            found[~self._places.known] = NOTHING
        return found

    @property
    def crowded(self) -> Flags:
        """Whether pools fixed by hand have no room beside weights and activations, for each place."""
        if self._pinned is None or not len(self._wanted):
            return np.zeros(len(self._places.row), np.bool_)
        peaks = np.asarray(self._rows.stages.stage(self._stage).peak)
        most: Whole = np.maximum.reduceat(peaks, self._starts)
        found: Flags = self._places.known & (most + self._pinned > self._places.offered)
        return found

    def longest(self, dtype: type) -> Whole:
        """The largest context of each place, by bisection."""
        found = np.full(len(self._places.row), NOTHING, np.int64)
        if not len(self._wanted):
            return found
        stages = self._rows.stages.stage(self._stage)
        each = as_number(self._rows.each[self._row][self._place].astype(dtype))
        pools = stages.pool(as_number(self._free), self._fraction) if self._pinned is None else self._pinned

        def fits(contexts: Whole) -> Flags:
            needed = stages.need(as_number(contexts.astype(dtype)[self._place]), each)
            return np.logical_and.reduceat(np.asarray(pools >= needed), self._starts)

        low, high = np.zeros(len(self._wanted), np.int64), self._rows.longest[self._row]
        while (low < high).any():
            middle = (low + high + 1) // 2
            holds = fits(middle) | (low == high)
            low, high = np.where(holds, middle, low), np.where(holds, high, middle - 1)
        found[self._wanted] = low
        found[self.crowded] = 0
        return found
