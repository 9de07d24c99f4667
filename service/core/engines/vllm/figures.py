"""Per-sequence figures before any split: bytes of a token, of the windows, of the state."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from service.core.engines.vllm.blocks import block_size
from service.core.engines.vllm.layers import Holdings, shared_entries, spec_counts
from service.core.engines.vllm.pool import plan_pool
from service.core.engines.vllm.specs import CacheConfig, Spec, SpecKind

_TOKEN_ID = 8


@dataclass(frozen=True, slots=True)
class Figures:
    """Bytes of one sequence on one rank that holds the whole model."""

    kv_bytes_per_token: int
    kv_window_bytes: int
    state_bytes: int


@lru_cache(maxsize=1024)
def sequence_figures(held: Holdings, config: CacheConfig) -> Figures:
    """What a sequence adds with each token and what it holds whatever its length.

    Tokens: growing layers and their index keys, as stored, rounded down to whole bytes. Windows: blocks of
    the sliding and chunked groups in steady state, at the padded bytes of a block. State: one unpadded copy,
    with the token ids that n-gram lookups keep beside it.
    """
    alone = replace(config, tensor_parallel=1, decode_context=1)
    block = block_size(held, alone)
    specs = spec_counts(held, alone, block.tokens, block.page_bytes, shared_entries(held))
    _, demand = plan_pool(held, held, alone)
    return Figures(_token_bytes(specs), demand.window_bytes(), _state_bytes(specs) + _history_bytes(held))


def _token_bytes(specs: Iterable[tuple[Spec, int]]) -> int:
    growing = (
        Fraction(spec.entry_bytes * count, spec.tokens_per_entry)
        for spec, count in specs
        if spec.kind is SpecKind.FULL
    )
    return int(sum(growing, Fraction(0)))


def _state_bytes(specs: Iterable[tuple[Spec, int]]) -> int:
    """States as they are; of a compressor, the rows of its window."""
    return sum(
        spec.entry_bytes * count * (spec.window if spec.kind is SpecKind.SLIDING else 1)
        for spec, count in specs
        if spec.constant
    )


def _history_bytes(held: Holdings) -> int:
    """Ids of the last tokens, which are kept outside the pool."""
    return sum(
        _TOKEN_ID * state.token_history * layers for (_, _, states), layers in held for state in states
    )
