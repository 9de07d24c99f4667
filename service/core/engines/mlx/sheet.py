"""MLX's allocation for many formats, contexts and accelerators at once, by the formulas of `plan`."""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from service.core.arrays import Whole, as_number
from service.core.engines.llama_cpp.limits import ladder, steps
from service.core.engines.llama_cpp.search import Search
from service.core.engines.mlx.load import Load
from service.core.engines.mlx.plan import load_of, refusals
from service.core.engines.platforms import context_bytes
from service.core.engines.sheets import Case, Places, Sheet
from service.core.parallel import stage_weights
from service.core.scenario import Layout, Scenario
from service.core.weights.derived import FromWeights

_sizes: FromWeights[Layout, tuple[int, ...]] = FromWeights(
    lambda model, table, layout: stage_weights(table, model.architecture, layout)
)
# Everything of a scenario that the figures follow from beside its format, its context and its accelerator.
_decisive = attrgetter("kv_cache_dtype", "concurrent_sequences", "layout", "max_batched_tokens", "vision")


@dataclass(frozen=True, slots=True)
class _Frame:
    """Formats of one model. rows: that ask for one of them; format: of each row.

    sizes: bytes of weights, formats x machines. load: of the machines without the process's context.
    """

    scenario: Scenario
    rows: NDArray[np.intp]
    format: NDArray[np.intp]
    sizes: Whole
    load: Load


def sheet(cases: Sequence[Case], contexts: Whole, places: Places) -> Sheet:
    """The plan of every row at every context, on every place."""
    rows = [case.scenario for case in cases for _ in case.quantizations]
    overheads = np.array([context_bytes(scenario.backend) for scenario in rows], np.int64)
    machines = np.array([scenario.layout.pipeline for scenario in rows], np.int64)
    blank = np.zeros((len(rows), len(contexts)), contexts.dtype)
    search = Search(places, places.offered - overheads[places.row])
    found = Sheet(
        terms={
            "weights": np.zeros((len(rows), 1), np.int64),
            "kv_cache": blank.copy(),
            "recurrent_state": blank[:, :1].copy(),
            "compute_buffers": blank.copy(),
            "runtime_overhead": (overheads * machines)[:, None],
        },
        fullest=blank.copy(),
        host=np.zeros((len(rows), 1), np.int64),
        short=np.zeros((1, 1), np.bool_),
        refused=np.array([bool(refusals(scenario)) for scenario in rows], np.bool_)[:, None],
        usable=places.offered[:, None],
        longest=search.longest[:, None],
    )
    for frame in _frames(cases):
        longest = frame.load.architecture.max_context_tokens
        needed = _fill(found, frame, contexts, np.minimum(steps(longest), longest))
        search.add(frame.rows, [ladder(each, longest) for each in needed], frame.format, 0)
    search.run()
    return replace(found, fullest=found.fullest + overheads[:, None])


def _frames(cases: Sequence[Case]) -> Iterator[_Frame]:
    models: dict[tuple[Hashable, ...], tuple[Scenario, dict[str, list[int]]]] = {}
    row = 0
    for case in cases:
        scenario = case.scenario
        _, formats = models.setdefault(
            (id(scenario.model), *_decisive(scenario)), (scenario, defaultdict(list))
        )
        for quantization in case.quantizations:
            formats[quantization].append(row)
            row += 1
    for scenario, formats in models.values():
        sizes = np.array(
            [_sizes(scenario.model, name, scenario.layout, vision=scenario.vision) for name in formats]
        )
        columns = [as_number(column[:, None]) for column in sizes.T]
        yield _Frame(
            scenario,
            np.array([row for rows in formats.values() for row in rows], np.intp),
            np.repeat(np.arange(len(formats)), [len(rows) for rows in formats.values()]),
            sizes,
            replace(load_of(scenario, columns), overhead=0),
        )


def _fill(found: Sheet, frame: _Frame, contexts: Whole, every: Whole) -> Whole:
    """Every term and total of a frame's rows; bytes of the fullest machine at every step, for each format."""
    tried = np.concatenate([contexts, every.astype(contexts.dtype)])
    memories = frame.load.memories(as_number(tried), frame.scenario.concurrent_sequences)
    rows, here = frame.rows, slice(len(contexts))
    kept = sum(memory.kv_cache for memory in memories)
    buffers = sum(memory.compute_buffers for memory in memories)
    found.terms["weights"][rows, 0] = frame.sizes.sum(axis=1)[frame.format]
    found.terms["kv_cache"][rows] = np.broadcast_to(kept, tried.shape)[here]
    found.terms["recurrent_state"][rows] = sum(memory.recurrent_state for memory in memories)
    found.terms["compute_buffers"][rows] = np.broadcast_to(buffers, tried.shape)[here]
    fullest: Whole = np.maximum.reduce([np.asarray(memory.total) for memory in memories])
    found.fullest[rows] = fullest[frame.format, here]
    return fullest[:, len(contexts) :]
