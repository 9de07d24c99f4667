"""llama.cpp's allocation for many formats, contexts and accelerators at once, by the formulas of `plan`."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.core.arrays import Whole, as_number
from service.core.engines.llama_cpp.frames import Frame, frames
from service.core.engines.llama_cpp.limits import ladder, steps
from service.core.engines.llama_cpp.plan import pools
from service.core.engines.llama_cpp.search import Search
from service.core.engines.llama_cpp.steps import HOSTED, KV_CACHE, TOTAL, figures_at, places_of, table_of
from service.core.engines.platforms import context_bytes
from service.core.engines.sheets import Case, Places, Sheet


def sheet(cases: Sequence[Case], contexts: Whole, places: Places) -> Sheet:
    """The plan of every row at every context, on every place."""
    rows = [case.scenario for case in cases for _ in case.quantizations]
    overheads = np.array([context_bytes(scenario.backend) for scenario in rows], np.int64)
    gpus = np.array([scenario.gpu_count for scenario in rows], np.int64)
    blank = np.zeros((len(rows), len(contexts)), contexts.dtype)
    search = Search(places, places.offered - overheads[places.row])
    found = Sheet(
        terms={
            "weights": np.zeros((len(rows), 1), np.int64),
            "kv_cache": blank.copy(),
            "recurrent_state": blank[:, :1].copy(),
            "compute_buffers": blank.copy(),
            "runtime_overhead": (overheads * gpus)[:, None],
        },
        fullest=blank.copy(),
        host=blank.copy(),
        short=np.zeros((1, 1), np.bool_),
        refused=np.zeros((len(rows), 1), np.bool_),
        usable=places.offered[:, None],
        longest=search.longest[:, None],
    )
    singles = []
    for frame in frames(cases):
        if frame.setup.single:
            singles.append(frame)
        else:
            _fill(found, frame, contexts, search)
    if singles:
        _fill_singles(found, singles, contexts, search)
    search.run()
    return replace(found, fullest=found.fullest + overheads[:, None])


def _fill_singles(found: Sheet, frames: Sequence[Frame], contexts: Whole, search: Search) -> None:
    """Every term and total of the rows of frames with one device, and what it needs at every step.

    Beside its weights that is the same in every format, so they come on top.
    """
    tables = [table_of(frame.scenario, frame.setup, contexts.dtype) for frame in frames]
    places = places_of(contexts)
    figures = np.array(
        [
            figures_at(frame.scenario, frame.setup, table, contexts, places)
            for frame, table in zip(frames, tables, strict=True)
        ],
        contexts.dtype,
    )
    states = np.array([table.recurrent_state for table in tables], contexts.dtype)
    own = [
        (row, number, placed, hosted, frame.setup.refused)
        for number, frame in enumerate(frames)
        for rows, placed, hosted in zip(frame.rows, frame.setup.placed, frame.setup.hosted, strict=True)
        for row in rows
    ]
    rows, of, weights, hosted, refused = np.array(own, np.int64).T
    here, state = figures[of], states[of, None]
    found.terms["weights"][rows, 0] = weights
    found.terms["kv_cache"][rows] = here[:, KV_CACHE]
    found.terms["recurrent_state"][rows] = state
    found.terms["compute_buffers"][rows] = here[:, TOTAL] - here[:, KV_CACHE] - state
    found.host[rows] = hosted[:, None] + here[:, HOSTED]
    found.fullest[rows] = weights[:, None] + here[:, TOTAL]
    found.refused[rows, 0] = refused
    search.add(rows, [table.ladder for table in tables], of, weights)


def _fill(found: Sheet, frame: Frame, contexts: Whole, search: Search) -> None:
    """Every term and total of the rows of several devices, and what the fullest needs at every step."""
    setup, load, here = frame.setup, frame.setup.load, slice(len(contexts))
    rows = np.array([row for rows in frame.rows for row in rows], np.intp)
    format = np.repeat(np.arange(len(frame.rows)), [len(rows) for rows in frame.rows])
    longest = load.architecture.max_context_tokens
    tried = np.concatenate([contexts, steps(longest).astype(contexts.dtype)])
    pool = pools(frame.scenario, load)(as_number(tried), frame.scenario.concurrent_sequences)
    memories = load.memories(pool)
    kept, states, buffers = (
        sum(getattr(memory, name) * group.count for memory, group in zip(memories, load.groups, strict=True))
        for name in ("kv_cache", "recurrent_state", "compute_buffers")
    )
    found.terms["weights"][rows, 0] = setup.placed[format]
    found.terms["kv_cache"][rows] = _at(kept, here)
    found.terms["recurrent_state"][rows] = states
    found.terms["compute_buffers"][rows] = _at(buffers, here)
    found.host[rows] = setup.hosted[format, None] + _at(load.host_bytes(pool), here)
    fullest = np.maximum.reduce([np.asarray(memory.total) for memory in memories])
    found.fullest[rows] = fullest[format, here]
    found.refused[rows] = setup.refused
    search.add(rows, [ladder(needed, longest) for needed in fullest[:, len(contexts) :]], format, 0)


def _at(amounts: int, here: slice) -> NDArray[Any] | int:
    """Amounts over contexts at some of them; one number is that of every context."""
    return amounts[here] if isinstance(amounts, np.ndarray) else amounts
