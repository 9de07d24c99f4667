"""What a single device needs at every context: tables, since llama.cpp rounds contexts up to steps."""

from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from service.core.arrays import Whole, as_number
from service.core.catalogued import Model
from service.core.engines.llama_cpp.frames import Setup
from service.core.engines.llama_cpp.limits import Ladder, ladder, steps
from service.core.engines.llama_cpp.plan import pools
from service.core.engines.llama_cpp.pool import CELL_MULTIPLE
from service.core.identity import ByIdentity
from service.core.scenario import Scenario
from service.core.units import ceil_div

# Tables of a model by settings; most have some hundred steps, one 41,000.
_MOST_SETTINGS = 4


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Bytes of a device without its weights at every step.

    figures: TOTAL, KV_CACHE and HOSTED x steps. ladder: of the totals. recurrent_state: at any context.
    """

    figures: Whole
    ladder: Ladder
    recurrent_state: int


TOTAL, KV_CACHE, HOSTED = range(3)  # of a Table's figures; hosted: caches and states of layers in system RAM

_tables: ByIdentity[Model, dict[Hashable, Table]] = ByIdentity(lambda _: {})


def table_of(scenario: Scenario, setup: Setup, dtype: np.dtype[np.int64]) -> Table:
    """The table of a set-up with one device; it follows from the model and the settings and is remembered."""
    known = _tables(scenario.model)
    key = (*setup.settings, dtype)
    found = known.get(key)
    if found is None:
        longest = setup.load.architecture.max_context_tokens
        figures, state = _filled(scenario, setup, steps(longest).astype(dtype))
        found = Table(figures, ladder(figures[TOTAL], longest), state)
        if len(known) >= _MOST_SETTINGS:
            known.clear()
        known[key] = found
    return found


def places_of(contexts: Whole) -> NDArray[np.intp]:
    """The steps that contexts are rounded up to, whatever the sequences (`pool`)."""
    return np.asarray(ceil_div(as_number(contexts), CELL_MULTIPLE) - 1).astype(np.intp)


def figures_at(
    scenario: Scenario, setup: Setup, table: Table, contexts: Whole, places: NDArray[np.intp]
) -> Whole:
    """The figures at contexts, whose steps are these: from the table, as far as it reaches."""
    if places.max(initial=0) < table.figures.shape[1]:
        return table.figures.take(places, axis=1)
    return _filled(scenario, setup, contexts)[0]


def _filled(scenario: Scenario, setup: Setup, contexts: Whole) -> tuple[Whole, int]:
    """The figures at these contexts, and the recurrent state."""
    load = setup.load
    pool = pools(scenario, load)(as_number(contexts), scenario.concurrent_sequences)
    (memory,) = load.memories(pool)
    figures = np.empty((3, len(contexts)), contexts.dtype)
    figures[TOTAL] = replace(memory, weights=0).total
    figures[KV_CACHE], figures[HOSTED] = memory.kv_cache, load.host_bytes(pool)
    return figures, memory.recurrent_state
