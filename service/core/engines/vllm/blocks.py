"""How many tokens a block holds.

Source: vLLM 0.33.0 platforms/interface.py (_preferred_block_size_for_backends, _align_hybrid_block_size)
and the kernel block sizes of the attention backends.
"""

from dataclasses import dataclass
from math import lcm

from service.core.architecture.caches import (
    Cache,
    CompressedCache,
    IndexCache,
    IndexScheme,
    KeyValueCache,
    LatentCache,
)
from service.core.engines.vllm.dtypes import element_bytes, key_value_bytes, sixteen_bit
from service.core.engines.vllm.generation import Generation
from service.core.engines.vllm.layers import Holdings, heads_on_rank, shared_entries
from service.core.engines.vllm.specs import CacheConfig
from service.core.engines.vllm.states import checkpoint_alignment, state_bytes
from service.core.units import ceil_div

_DEFAULT = 16
_LATENT_GRANULE = 128  # MLA blocks beside recurrent states are multiples of this
_WIDE_HEAD = 256  # heads wider than this leave the common kernels (Gemma 4's global layers)


@dataclass(frozen=True, slots=True)
class BlockSize:
    """Tokens of an attention block, and the page of one attention layer that states are padded to."""

    tokens: int
    page_bytes: int = 0


def block_size(held: Holdings, config: CacheConfig) -> BlockSize:
    """The block size of the whole model; with recurrent states, large enough that a page holds a state."""
    preferred = max((_preferred(cache, index, config) for (cache, index, _), _ in held), default=_DEFAULT)
    if any(isinstance(cache, CompressedCache) for (cache, _, _), _ in held):
        preferred = _compressed(config, shared_entries(held))
    states = [state for (_, _, states), _ in held for state in states]
    per_token = max((_token_bytes(cache, config) for (cache, _, _), _ in held), default=0)
    if not states or not per_token:
        return BlockSize(preferred)
    latent = any(isinstance(cache, LatentCache) for (cache, _, _), _ in held)
    granule = max(preferred, _LATENT_GRANULE) if latent else preferred
    if config.prefix_caching:
        granule = lcm(granule, *(max(1, checkpoint_alignment(state, config)) for state in states))
    largest = max(state_bytes(state, config) for state in states)
    tokens = granule * ceil_div(largest, granule * per_token)
    return BlockSize(tokens, tokens * per_token)


def _compressed(config: CacheConfig, shared: bool) -> int:
    """DeepSeek V4: 256; V4.1: 64 where its indexer needs it, else 128."""
    if not shared:
        return 256
    return 64 if config.generation is Generation.HOPPER else 128


def _preferred(cache: Cache | None, index: IndexCache | None, config: CacheConfig) -> int:
    """The smallest block that the backends of this layer have in common."""
    if index is not None and index.scheme is IndexScheme.MINIMAX:
        return 128
    if isinstance(cache, LatentCache):
        return 64 if index is not None else _dense_latent(config)
    if isinstance(cache, KeyValueCache) and cache.key_dim > _WIDE_HEAD:
        hopper_fp8 = config.generation is Generation.HOPPER and not sixteen_bit(config.kv_dtype)
        return 64 if hopper_fp8 or config.generation is Generation.BLACKWELL_DATACENTER else _DEFAULT
    return _DEFAULT


def _dense_latent(config: CacheConfig) -> int:
    """FLASHINFER_MLA 32, FLASHMLA (fp8 on Hopper) 64, FLASH_ATTN_MLA and TRITON_MLA 16."""
    if config.generation is Generation.BLACKWELL_DATACENTER:
        return 32
    return 64 if config.generation is Generation.HOPPER and not sixteen_bit(config.kv_dtype) else _DEFAULT


def _token_bytes(cache: Cache | None, config: CacheConfig) -> int:
    """Attention bytes of one token and layer on a rank, as the alignment counts them."""
    if isinstance(cache, KeyValueCache):
        return heads_on_rank(cache.heads, config.tensor_parallel) * key_value_bytes(cache, config.kv_dtype)
    if isinstance(cache, LatentCache):
        return (cache.latent_dim + cache.rope_dim) * element_bytes(config.kv_dtype)
    return 0
