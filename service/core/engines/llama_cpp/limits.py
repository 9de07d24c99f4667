"""The largest context and the most sequences that fit, by bisection of a monotone load."""

from collections.abc import Callable
from dataclasses import dataclass

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
