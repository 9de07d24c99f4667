"""The largest context and the most sequences that fit, by bisection of a monotone load."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from service.core.arrays import Whole
from service.core.engines.llama_cpp.load import Load
from service.core.engines.llama_cpp.pool import CELL_MULTIPLE, MAX_SEQUENCES, Pool
from service.core.units import ceil_div


@dataclass(frozen=True, slots=True)
class Reach:
    """What fits into the usable memory: tokens of each sequence, and sequences of the asked context."""

    context_tokens: int
    sequences: int


def reach(
    load: Load, usable: int, make_pool: Callable[[int, int], Pool], context: int, sequences: int
) -> Reach:
    """The largest context for `sequences`, and the most sequences of `context` tokens.

    make_pool: (context of one sequence, sequences) -> pool. The context is a multiple of 256, at most what
    the model was made for; 0 when not even 256 tokens fit. Sequences are at most LLAMA_MAX_SEQ (256).
    """
    longest = load.architecture.max_context_tokens
    steps = _most(
        ceil_div(longest, CELL_MULTIPLE),
        lambda step: load.fullest(make_pool(step * CELL_MULTIPLE, sequences)) <= usable,
    )
    most = _most(MAX_SEQUENCES, lambda count: load.fullest(make_pool(context, count)) <= usable)
    return Reach(min(steps * CELL_MULTIPLE, longest), most)


@lru_cache(maxsize=64)
def steps(longest: int) -> Whole:
    """The contexts that `reach` tries, shortest first."""
    return CELL_MULTIPLE * np.arange(1, ceil_div(longest, CELL_MULTIPLE) + 1, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Ladder:
    """Bytes that every step of a search needs; longest: tokens that the model was made for.

    rising: whether no step needs less than the one before.
    """

    needed: Whole
    longest: int
    rising: bool

    def contexts_within(self, room: Whole) -> Whole:
        """The largest context in each amount, as `reach` has it."""
        if self.rising:
            most = np.searchsorted(self.needed, room, side="right")
        else:
            most = _most_by_step(self.needed, room)
        return np.minimum(most * CELL_MULTIPLE, self.longest)


def ladder(needed: Whole, longest: int) -> Ladder:
    """The ladder of these bytes."""
    return Ladder(needed, longest, bool((needed[1:] >= needed[:-1]).all()))


def _most_by_step(needed: Whole, room: Whole) -> Whole:
    """`_most` for many amounts at once."""
    low, high = np.zeros(room.shape, np.int64), np.full(room.shape, len(needed), np.int64)
    while (low < high).any():
        middle = (low + high + 1) // 2
        fits = (needed[middle - 1] <= room) | (low == high)
        low, high = np.where(fits, middle, low), np.where(fits, high, middle - 1)
    return low


def _most(limit: int, fits: Callable[[int], bool]) -> int:
    """The largest number from 1 to `limit` that fits, 0 if none; what fits must fit with less."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low
