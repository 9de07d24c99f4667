"""vLLM's allocation for many formats, contexts and accelerators at once, by the formulas of `plan`."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.core.arrays import NOTHING, Whole, as_number
from service.core.catalogued import Model
from service.core.engines.sheets import Case, Flags, Places, Sheet
from service.core.engines.vllm.budget import Stage, admits
from service.core.engines.vllm.buffers import batch_defaults
from service.core.engines.vllm.generation import Generation, generation
from service.core.engines.vllm.plan import host_bytes
from service.core.engines.vllm.stack import Stack, stack
from service.core.engines.vllm.stages import Loaded, cache_config, drafting_layers, load, stages_with
from service.core.identity import ByIdentity
from service.core.scenario import Layout
from service.core.units import ceil_div
from service.core.weights.derived import FromWeights

_loaded: FromWeights[Layout, Generation, Loaded] = FromWeights(
    lambda model, table, layout, generation: load(model, table, layout, generation)
)

_Planned = tuple[Loaded, tuple[Stage, ...]]
# Everything of a scenario that stages follow from beside its model, its format and its accelerator.
_decisive = attrgetter(
    "layout",
    "kv_cache_dtype",
    "max_batched_tokens",
    "prefix_caching",
    "speculative_tokens",
    "cpu_offload_percent",
    "vision",
)
_MOST_PLANNED = 64  # some formats on some generations of accelerators, with some settings
_by_model: ByIdentity[Model, dict[Hashable, tuple[_Planned, ...]]] = ByIdentity(lambda _: {})


@dataclass(frozen=True, slots=True)
class _Rows:
    """The plans of all rows.

    stages: of all rows, one after the other; first: the place of a row's first. alike: ranks of a stage;
    each: sequences of a replica; host: bytes in system RAM; longest: tokens that the model was made for.
    """

    stages: Stack
    first: NDArray[np.intp]
    count: NDArray[np.intp]
    alike: Whole
    each: Whole
    host: Whole
    longest: Whole


def sheet(cases: Sequence[Case], contexts: Whole, places: Places) -> Sheet:
    """The plan of every row at every context, on every place."""
    rows = _rows(cases)
    pinned = next((case.scenario.kv_cache_memory_bytes for case in cases), None)
    stage_rows = np.repeat(np.arange(len(rows.first)), rows.count)
    stages, each = rows.stages.stage(slice(None), column=True), rows.each[stage_rows][:, None]
    memory = stages.memory(as_number(contexts[None, :]), as_number(each))

    def whole(amounts: int) -> NDArray[Any]:
        return np.add.reduceat(np.asarray(amounts), rows.first, axis=0) * rows.alike[:, None]

    short = crowded = np.zeros((1, 1), np.bool_)
    if pinned is not None:
        tokens = as_number(contexts[None, :])
        fits = admits(stages, pinned, tokens, as_number(each))
        short = ~np.logical_and.reduceat(np.asarray(fits), rows.first, axis=0)
        taken = np.maximum.reduceat(np.asarray(stages.taken(tokens, as_number(each))), rows.first, axis=0)
        crowded = places.known[:, None] & (taken[places.row] + pinned > places.offered[:, None])
    return Sheet(
        terms={
            "weights": whole(memory.weights),
            "kv_cache": whole(memory.kv_cache),
            "recurrent_state": np.zeros((1, 1), np.int64),
            "compute_buffers": whole(memory.compute_buffers),
            "runtime_overhead": whole(memory.runtime_overhead),
        },
        fullest=np.maximum.reduceat(np.asarray(memory.total), rows.first, axis=0),
        host=rows.host[:, None],
        short=short,
        refused=np.zeros((1, 1), np.bool_),
        usable=places.offered[:, None],
        longest=_longest(rows, places, pinned, contexts.dtype.type)[:, None],
        crowded=crowded,
    )


def _rows(cases: Sequence[Case]) -> _Rows:
    stages: list[Stage] = []
    rows: list[tuple[int, ...]] = []
    for case in cases:
        scenario, layout = case.scenario, case.scenario.layout
        for loaded, own in _planned(case):
            rows.append(
                (
                    len(stages),
                    len(own),
                    layout.tensor * layout.data,
                    ceil_div(scenario.concurrent_sequences, layout.data),
                    host_bytes(loaded, scenario.cpu_offload_percent),
                    scenario.model.architecture.max_context_tokens,
                )
            )
            stages += own
    columns = np.array(rows, np.int64).reshape(len(rows), 6).T
    return _Rows(stack(stages), columns[0].astype(np.intp), columns[1].astype(np.intp), *columns[2:])


def _planned(case: Case) -> tuple[_Planned, ...]:
    """The weights and the stages of each format, remembered by all that they follow from."""
    known = _by_model(case.scenario.model)
    gpu = case.scenario.gpu
    key = (case.quantizations, generation(gpu), batch_defaults(gpu), *_decisive(case.scenario))
    found = known.get(key)
    if found is None:
        found = tuple(_plan(case))
        if len(known) >= _MOST_PLANNED:
            known.clear()
        known[key] = found
    return found


def _plan(case: Case) -> Iterator[_Planned]:
    scenario = case.scenario
    config, of = cache_config(scenario), generation(scenario.gpu)
    vision = scenario.vision and bool(scenario.model.architecture.vision)
    drafting = bool(drafting_layers(scenario))
    for quantization in case.quantizations:
        loaded = _loaded(scenario.model, quantization, scenario.layout, of, mtp=drafting, vision=vision)
        yield loaded, stages_with(scenario, loaded, config)


def _longest(rows: _Rows, places: Places, pinned: int | None, dtype: type) -> Whole:
    """The largest context of each place."""
    found = np.full(len(places.row), NOTHING, np.int64)
    wanted = np.flatnonzero(places.known) if pinned is None else np.arange(len(places.row))
    most = rows.longest[places.row[wanted]]
    fits = _fits(rows, places, wanted, pinned, dtype)
    found[wanted] = np.where(fits(most), most, 0)
    # What is between takes a search: less than the most that the model was made for, but something.
    between = wanted[(found[wanted] == 0) & fits(np.ones_like(most))]
    if len(between):
        most = rows.longest[places.row[between]]
        found[between] = _bisected(_fits(rows, places, between, pinned, dtype), most)
    return found


def _bisected(fits: Callable[[Whole], Flags], most: Whole) -> Whole:
    """As `Budget.max_context_tokens` searches, where 1 fits and `most` does not."""
    low, high = np.ones_like(most), most
    while (high - low > 1).any():
        middle = (low + high) // 2
        holds = fits(middle)
        low, high = np.where(holds, middle, low), np.where(holds, high, middle)
    return low


def _fits(
    rows: _Rows, places: Places, wanted: NDArray[np.intp], pinned: int | None, dtype: type
) -> Callable[[Whole], Flags]:
    """Whether each of these places holds a context; every stage of its row must."""
    row = places.row[wanted]
    count = rows.count[row]
    starts = np.cumsum(count) - count
    place = np.repeat(np.arange(len(row)), count)
    stage = rows.first[row][place] + np.arange(len(place)) - starts[place]
    stages, each = rows.stages.stage(stage), as_number(rows.each[row][place].astype(dtype))
    offered = places.offered[wanted][place]

    def fits(contexts: Whole) -> Flags:
        tokens = as_number(contexts.astype(dtype)[place])
        left = as_number(offered) - stages.taken(tokens, each)
        holds = np.asarray(admits(stages, left if pinned is None else pinned, tokens, each))
        if pinned is not None:
            holds &= (np.asarray(left) >= pinned) | (offered == NOTHING)
        return np.logical_and.reduceat(holds, starts) if len(row) else np.zeros(0, np.bool_)

    return fits
