"""What one sequence takes of TensorRT-LLM's pools on one rank.

Source: TensorRT-LLM main of 2026 _torch/pyexecutor/resource_manager.py and kv_cache/kv_cache_manager_v2.py
(blocks of 32 tokens, a pool for each window and head count), kv_cache/mamba_cache_manager (a state for each
sequence), attention_backend/sparse/dsa.py (index keys in fp8 with an f32 scale for 128 values).
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, lcm

from service.core.architecture.caches import (
    Cache,
    CompressedCache,
    IndexCache,
    IndexScheme,
    KeyValueCache,
    LatentCache,
    Reach,
    RecurrentState,
    StateKind,
)
from service.core.architecture.kinds import Kinds
from service.core.arrays import smaller
from service.core.units import ceil_div

BLOCK = 32  # tokens_per_block
KV_DTYPES = ("bf16", "fp16", "fp8", "nvfp4")
# Bytes an element: NVFP4 holds half a byte and one scale byte for 16 elements.
_ELEMENT = {"bf16": Fraction(2), "fp16": Fraction(2), "fp8": Fraction(1), "nvfp4": Fraction(9, 16)}
_INDEX_GROUP, _SCALE_BYTES = 128, 4
_HALF, _SINGLE, _TOKEN_ID = 2, 4, 8
_WIDTHS = {"float32": _SINGLE, "f32": _SINGLE, "fp32": _SINGLE}


@dataclass(frozen=True, slots=True)
class CacheConfig:
    """What the pools depend on beside the layers; state_dtype: of the config, None = 16 bit."""

    kv_dtype: str
    tensor_parallel: int = 1
    decode_context: int = 1
    state_dtype: str | None = None


def by_rule(kept: Kinds) -> bool:
    """Whether every layer's pool follows a rule that was read, not the generic one of its kind."""
    return not any(
        isinstance(cache, CompressedCache)
        or (isinstance(cache, KeyValueCache) and cache.reach is Reach.CHUNKED)
        or (index is not None and index.scheme is not IndexScheme.DSA)
        or any(state.kind is StateKind.LOOKUP_CONV for state in states)
        for (cache, index, states), _ in kept
    )


@dataclass(frozen=True, slots=True)
class Rates:
    """The blocks of one sequence as a sum of whole numbers, in parts of `of` bytes; numbers or arrays.

    block: of a block of every growing layer. windows: blocks that a window holds at most, and a block of the
    layers with that window. decode_context: ranks that share the tokens.
    """

    block: int
    windows: tuple[tuple[int, int], ...]
    of: int
    decode_context: int

    def cache_bytes(self, context_tokens: int) -> int:
        """Bytes of the blocks, index keys included."""
        blocks = ceil_div(ceil_div(context_tokens, self.decode_context), BLOCK)
        windows = sum(size * smaller(blocks, most) for most, size in self.windows)
        return ceil_div(blocks * self.block + windows, self.of)


@lru_cache(maxsize=1024)
def rates(kept: Kinds, config: CacheConfig) -> Rates:
    """What a sequence takes of these layers with each block."""
    growing, windows = Fraction(0), dict[int, Fraction]()
    for (cache, index, _), count in kept:
        growing += count * BLOCK * _growing(cache, index, config)
        row = count * BLOCK * _row(cache, config)
        if _slides(cache):
            most = _window_blocks(cache)
            windows[most] = windows.get(most, Fraction(0)) + row
        else:
            growing += row
    of = lcm(growing.denominator, *(size.denominator for size in windows.values()))
    return Rates(
        int(growing * of),
        tuple((most, int(size * of)) for most, size in windows.items()),
        of,
        config.decode_context,
    )


def cache_bytes(kept: Kinds, context_tokens: int, config: CacheConfig) -> int:
    """Bytes of the blocks of one sequence, index keys included."""
    return rates(kept, config).cache_bytes(context_tokens)


def bytes_per_token(kept: Kinds, config: CacheConfig) -> int:
    """What a further token adds on this rank: growing layers and index keys, rounded up to a byte."""
    grown = Fraction(0)
    for (cache, index, _), count in kept:
        row = Fraction(0) if _slides(cache) else _row(cache, config)
        grown += count * (row + _growing(cache, index, config))
    return ceil(grown)


def window_bytes(kept: Kinds, config: CacheConfig) -> int:
    """The constant part of one sequence: the blocks of full windows."""
    rows = (
        count * _window_blocks(cache) * _row(cache, config) for (cache, _, _), count in kept if _slides(cache)
    )
    return ceil(BLOCK * sum(rows, Fraction(0)))


def state_bytes(kept: Kinds, config: CacheConfig) -> int:
    """Bytes of recurrent state of one sequence, one copy; block reuse keeps more only in spare memory."""
    total = 0
    for (cache, _, states), count in kept:
        compressor = cache.state_elements * _SINGLE if isinstance(cache, CompressedCache) else 0
        total += count * (compressor + sum(_state(state, config) for state in states))
    return total


def _slides(cache: Cache | None) -> bool:
    """Whether the layer's blocks are freed behind a window.

    Chunked layers (Llama 4) have no window here (config_utils.py get_layer_attention_window), so they keep
    every block.
    """
    if isinstance(cache, CompressedCache):
        return True
    return isinstance(cache, KeyValueCache) and cache.reach is Reach.SLIDING


def _window_blocks(cache: Cache | None) -> int:
    """Blocks that a window touches at most."""
    window = getattr(cache, "window", None) or 0
    return ceil_div(window, BLOCK) + 1


def _row(cache: Cache | None, config: CacheConfig) -> Fraction:
    """Bytes of one token: keys and values of the rank's heads, or the latent, which is not divided."""
    element = _ELEMENT[config.kv_dtype]
    if isinstance(cache, KeyValueCache):
        heads = ceil_div(cache.heads, config.tensor_parallel)
        return heads * (cache.key_dim + cache.value_dim) * element
    if isinstance(cache, LatentCache | CompressedCache):
        return (cache.latent_dim + cache.rope_dim) * element
    return Fraction(0)


def _growing(cache: Cache | None, index: IndexCache | None, config: CacheConfig) -> Fraction:
    """Bytes of one token beside the main row: index keys, and compressed entries of DeepSeek V4."""
    grown = Fraction(0)
    if isinstance(cache, CompressedCache) and cache.owner and cache.ratio:
        grown += _row(cache, config) / cache.ratio
    if index is None:
        return grown
    if index.scheme is IndexScheme.DSA:
        return grown + index.key_dim + index.key_dim // _INDEX_GROUP * _SCALE_BYTES
    return grown + Fraction(_HALF * index.key_dim, index.tokens_per_key)


def _state(state: RecurrentState, config: CacheConfig) -> int:
    """One state of one rank: convolution in 16 bit; recurrence as the config says, KDA always in f32."""
    degree = config.tensor_parallel if state.split else 1
    width = _WIDTHS.get(config.state_dtype or "", _HALF)
    if state.kind is StateKind.KIMI_DELTA:
        width = _SINGLE
    conv = state.conv_channels // degree * state.conv_rows * _HALF
    return conv + state.recurrent_elements // degree * width + state.token_history * _TOKEN_ID
