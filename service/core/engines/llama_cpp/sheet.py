"""llama.cpp's allocation for many formats, contexts and accelerators at once, by the formulas of `plan`."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.core.arrays import Whole, as_number
from service.core.catalogued import Model
from service.core.engines.llama_cpp.frames import Frame, frames
from service.core.engines.llama_cpp.limits import steps
from service.core.engines.llama_cpp.plan import pools, refusals
from service.core.engines.llama_cpp.search import Search
from service.core.engines.platforms import context_bytes
from service.core.engines.sheets import Case, Flags, Places, Sheet
from service.core.identity import ByIdentity

# Bytes at every step of the search, by settings; models have some hundred to 41,000 steps.
_MOST_SETTINGS = 8
_by_step: ByIdentity[Model, dict[Hashable, Whole]] = ByIdentity(lambda _: {})


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
        refused=_refused(cases),
        usable=places.offered[:, None],
        longest=search.longest[:, None],
    )
    for frame in frames(cases):
        needed = _filled(found, frame, contexts)
        none, longest = np.zeros_like(frame.format), frame.load.architecture.max_context_tokens
        if frame.single:  # its weights come on top
            search.add(frame.rows, needed, none, frame.placed[frame.format], longest)
        else:
            search.add(frame.rows, needed, frame.format, none, longest)
    search.run()
    return replace(found, fullest=found.fullest + overheads[:, None])


def _filled(found: Sheet, frame: Frame, contexts: Whole) -> list[Whole]:
    """Fill the rows of a frame; what `_fill` returns for every step of the search.

    The steps of a single device follow from the model and its settings alone, so they are remembered.
    """
    known = _by_step(frame.scenario.model)
    key = (*frame.settings, contexts.dtype)
    remembered = known.get(key) if frame.single else None
    if remembered is not None:
        _fill(found, frame, contexts, len(contexts))
        return [remembered]
    every = steps(frame.load.architecture.max_context_tokens).astype(contexts.dtype)
    needed = _fill(found, frame, np.concatenate([contexts, every]), len(contexts))
    if frame.single:
        if len(known) >= _MOST_SETTINGS:
            known.clear()
        known[key] = needed[0].copy()
    return needed


def _refused(cases: Sequence[Case]) -> Flags:
    flags = [bool(refusals(case.scenario)) for case in cases]
    return np.repeat(flags, [len(case.quantizations) for case in cases])[:, None]


def _fill(found: Sheet, frame: Frame, tried: Whole, contexts: int) -> list[Whole]:
    """Every term and total of a frame's rows at the first `contexts` of the tried ones.

    What is returned is what the fullest device needs at the others: a row for each format, or one of a single
    device without its weights, which is the same in every format.
    """
    load = frame.load
    pool = pools(frame.scenario, load)(as_number(tried), frame.scenario.concurrent_sequences)
    memories = load.memories(pool)
    kept, states, buffers = (
        sum(getattr(memory, name) * group.count for memory, group in zip(memories, load.groups, strict=True))
        for name in ("kv_cache", "recurrent_state", "compute_buffers")
    )
    rows, here = frame.rows, slice(contexts)
    found.terms["weights"][rows, 0] = frame.placed[frame.format]
    found.terms["kv_cache"][rows] = _at(kept, here)
    found.terms["recurrent_state"][rows] = states
    found.terms["compute_buffers"][rows] = _at(buffers, here)
    found.host[rows] = frame.hosted[frame.format, None] + _at(load.host_bytes(pool), here)
    if len(memories) == 1:
        (memory,) = memories
        beside = np.asarray(replace(memory, weights=0).total)
        found.fullest[rows] = frame.placed[frame.format, None] + beside[here]
        return [beside[contexts:]]
    fullest = np.maximum.reduce([np.asarray(memory.total) for memory in memories])
    found.fullest[rows] = fullest[frame.format, here]
    return list(fullest[:, contexts:])


def _at(amounts: int, here: slice) -> NDArray[Any] | int:
    """Amounts over contexts at some of them; one number is that of every context."""
    return amounts[here] if isinstance(amounts, np.ndarray) else amounts
