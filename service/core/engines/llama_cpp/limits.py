"""The largest context and the most sequences that fit, by bisection of a monotone load."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

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
    (longest,) = longest_contexts(load, (usable,), make_pool, sequences)
    most = _most(MAX_SEQUENCES, lambda count: load.fullest(make_pool(context, count)) <= usable)
    return Reach(longest, most)


def longest_contexts(
    load: Load, amounts: Sequence[int], make_pool: Callable[[int, int], Pool], sequences: int
) -> list[int]:
    """The largest context for `sequences` in each of several usable amounts, as `reach` has it."""
    longest = load.architecture.max_context_tokens

    @cache
    def needed(step: int) -> int:
        return load.fullest(make_pool(step * CELL_MULTIPLE, sequences))

    def most(usable: int) -> int:
        return _most(ceil_div(longest, CELL_MULTIPLE), lambda step: needed(step) <= usable)

    return [min(most(usable) * CELL_MULTIPLE, longest) for usable in amounts]


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
