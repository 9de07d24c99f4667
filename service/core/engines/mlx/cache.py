"""What one sequence keeps in mlx-lm's caches (mlx-lm 0.32.2 models/cache.py, make_cache of the models)."""

from collections.abc import Iterable
from fractions import Fraction
from math import ceil

from service.core.architecture.caches import (
    Cache,
    CompressedCache,
    IndexCache,
    IndexScheme,
    KeyValueCache,
    LatentCache,
    Reach,
    RecurrentState,
)
from service.core.architecture.kinds import Kinds
from service.core.arrays import larger, smaller
from service.core.engines.mlx.kv_types import row_bytes
from service.core.units import ceil_div, pad

STEP = 256  # tokens that a cache grows by
_HALF, _SINGLE, _TOKEN_ID = 2, 4, 8
# Schemes whose index mlx-lm (or mlx-vlm) is known to keep as counted here; the others follow the reference.
_READ = frozenset({IndexScheme.DSA, IndexScheme.MINIMAX})
# Schemes that keep the raw key of every token and pool when they score.
_RAW = frozenset({IndexScheme.DSA, IndexScheme.MINIMAX, IndexScheme.QSA})


def by_rule(kept: Kinds) -> bool:
    """Whether every cache follows a rule that was read, not the reference implementation."""
    return not any(
        isinstance(cache, CompressedCache) or (index is not None and index.scheme not in _READ)
        for (cache, index, _), _ in kept
    )


def doubles_index(kept: Kinds) -> bool:
    """Whether index keys lie beside values of the same size.

    mlx-lm's deepseek_v32 fills the values of the index cache with zeros. It builds an indexer in every layer,
    so a model that shares indexers runs in mlx-vlm, whose values have no width.
    """
    latents = [index for (cache, index, _), _ in kept if isinstance(cache, LatentCache)]
    return bool(latents) and all(index is not None for index in latents)


def cache_bytes(kept: Kinds, context_tokens: int, dtype: str, doubled: bool) -> int:
    """Bytes of keys, values and index keys of one sequence, in whole steps of 256 tokens.

    doubled: `doubles_index` of the whole model, of which `kept` may be a part.
    """
    tokens = pad(context_tokens, STEP)
    return sum(
        count * (_main(cache, context_tokens, dtype, index) + _index(index, tokens, doubled))
        for (cache, index, _), count in kept
    )


def state_bytes(kept: Kinds) -> int:
    """Bytes of recurrent state of one sequence, one copy: recurrence in f32, convolution in 16 bit."""
    return sum(count * _state(cache, states) for (cache, _, states), count in kept)


def bytes_per_token(kept: Kinds, dtype: str) -> int:
    """What a further token adds: growing layers and index keys, rounded up to a byte."""
    doubled = doubles_index(kept)
    grown = sum(
        (
            count * (_growth(cache, dtype, index) + _index_growth(index, doubled))
            for (cache, index, _), count in kept
        ),
        Fraction(0),
    )
    return ceil(grown)


def window_bytes(kept: Kinds) -> int:
    """The constant part of one sequence: full windows and chunks."""
    return sum(count * _held(cache, None) for (cache, _, _), count in kept)


def chunk_bytes(kept: Kinds, context_tokens: int, chunk: int) -> int:
    """What windows hold above their steady size while a prompt is processed in chunks.

    RotatingKVCache keeps window - 1 tokens and the chunk until the next token is generated, ChunkedKVCache
    a chunk of attention and the chunk of the prompt.
    """
    return sum(
        count * larger(0, _held(cache, context_tokens, chunk) - _held(cache, context_tokens))
        for (cache, _, _), count in kept
    )


def _row(cache: KeyValueCache, dtype: str) -> int:
    return cache.heads * (row_bytes(dtype, cache.key_dim) + row_bytes(dtype, cache.value_dim))


def _latent_row(cache: LatentCache | CompressedCache) -> int:
    return _HALF * (cache.latent_dim + cache.rope_dim)


def _main(cache: Cache | None, context: int, dtype: str, index: IndexCache | None) -> int:
    """One layer's keys and values; caches in lists (with an index) and windows stay 16 bit."""
    match cache:
        case KeyValueCache(reach=Reach.FULL):
            return pad(context, STEP) * _row(cache, dtype if index is None else "bf16")
        case LatentCache():
            return pad(context, STEP) * _latent_row(cache)
        case CompressedCache():
            pooled = ceil_div(context, cache.ratio) if cache.ratio and cache.owner else 0
            return _held(cache, context) + pooled * _latent_row(cache)
    return _held(cache, context)


def _held(cache: Cache | None, context: int | None, chunk: int = 0) -> int:
    """Bytes of a window at a context, None = a long one; `chunk` tokens of a prompt come at once."""
    if isinstance(cache, CompressedCache):
        return _rotating(cache.window, context, chunk) * _latent_row(cache)
    if not isinstance(cache, KeyValueCache) or cache.window is None or cache.reach is Reach.FULL:
        return 0
    if cache.reach is Reach.SLIDING:
        return _rotating(cache.window, context, chunk) * _row(cache, "bf16")
    most = pad(cache.window + larger(chunk, 1), STEP)
    return (most if context is None else smaller(pad(context, STEP), most)) * _row(cache, "bf16")


def _rotating(window: int, context: int | None, chunk: int) -> int:
    """Tokens of a rotating cache: the window, less one beside a chunk of a prompt."""
    most = larger(window, window - 1 + chunk)
    return most if context is None else smaller(pad(context, STEP), most)


def _growth(cache: Cache | None, dtype: str, index: IndexCache | None) -> Fraction:
    match cache:
        case KeyValueCache(reach=Reach.FULL):
            return Fraction(_row(cache, dtype if index is None else "bf16"))
        case LatentCache():
            return Fraction(_latent_row(cache))
        case CompressedCache(owner=True, ratio=ratio) if ratio:
            return Fraction(_latent_row(cache), ratio)
    return Fraction(0)


def _index_growth(index: IndexCache | None, doubled: bool) -> Fraction:
    if index is None:
        return Fraction(0)
    key = _HALF * index.key_dim * (2 if doubled and index.scheme is IndexScheme.DSA else 1)
    return Fraction(key, 1 if index.scheme in _RAW else index.tokens_per_key)


def _index(index: IndexCache | None, tokens: int, doubled: bool) -> int:
    growth = _index_growth(index, doubled)
    return ceil_div(tokens * growth.numerator, growth.denominator)


def _state(cache: Cache | None, states: Iterable[RecurrentState]) -> int:
    compressor = cache.state_elements if isinstance(cache, CompressedCache) else 0
    return compressor * _SINGLE + sum(
        state.recurrent_elements * _SINGLE + state.conv_elements * _HALF + state.token_history * _TOKEN_ID
        for state in states
    )
