"""KV cache types of SGLang: what `auto` means and the bytes of an element or row.

Source: SGLang 0.5.23 srt/mem_cache/kv_cache_dtype.py, srt/arg_groups/overrides.py
(_dsa_kv_cache_dtype_default), srt/mem_cache/kv_cache_configurator.py calculate_mla_kv_cache_dim.
"""

from service.core.architecture.caches import (
    Cache,
    CompressedCache,
    IndexCache,
    IndexScheme,
    KeyValueCache,
    LatentCache,
)
from service.core.architecture.kinds import kinds_of
from service.core.architecture.model import Architecture
from service.core.architecture.tensors import TensorClass
from service.core.engines.sglang.classes import SCALED_ROWS_ON_SM120
from service.core.engines.vllm.generation import Generation
from service.core.units import ceil_div

KV_DTYPES = ("bf16", "fp8", "fp8_e4m3", "fp8_e5m2", "mxfp8")

SPARSE_LATENT = frozenset({IndexScheme.DSA, IndexScheme.POOLED})
BLACKWELL = frozenset({Generation.BLACKWELL_DATACENTER, Generation.BLACKWELL_CONSUMER})

_E4M3 = frozenset({"fp8", "fp8_e4m3"})
_SCALE_BLOCK = 128  # elements that share an f32 scale in DSA rows and index keys
_MXFP8_BLOCK = 32  # elements that share a one-byte scale
_NVFP4_BLOCK = 16


def element_bytes(dtype: str) -> int:
    """Bytes of one element; scales are counted apart."""
    return 2 if dtype in ("bf16", "fp16") else 1


def is_e4m3(dtype: str) -> bool:
    """Whether the type is fp8_e4m3, which `fp8` means."""
    return dtype in _E4M3


def packs_four_bits(architecture: Architecture, generation: Generation, quantization: str) -> bool:
    """Whether MiniMax's NVFP4 stack keeps its packed pool: NVFP4 experts on Blackwell."""
    experts = architecture.native.encodings.get(TensorClass.ROUTED_EXPERTS, "")
    four_bit = quantization == "nvfp4" or (quantization == "native" and experts == "nvfp4")
    return four_bit and generation in BLACKWELL and has_index(architecture, frozenset({IndexScheme.MINIMAX}))


def has_index(architecture: Architecture, schemes: frozenset[IndexScheme]) -> bool:
    """Whether a layer keeps index keys of one of these schemes."""
    return any(index is not None and index.scheme in schemes for (_, index, _), _ in kinds_of(architecture))


def has_cache(architecture: Architecture, cache_type: type[Cache]) -> bool:
    """Whether a layer keeps a cache of this type."""
    return any(isinstance(cache, cache_type) for (cache, _, _), _ in kinds_of(architecture))


def auto_dtype(architecture: Architecture, generation: Generation) -> str:
    """What `--kv-cache-dtype auto` becomes for the published checkpoint."""
    if has_cache(architecture, CompressedCache):
        return "fp8"
    if has_index(architecture, SPARSE_LATENT):
        return "fp8" if generation in BLACKWELL else "bf16"
    if packs_four_bits(architecture, generation, "native"):
        return "fp8"
    return architecture.kv_cache_dtype or "bf16"


def latent_elements(
    cache: LatentCache, dtype: str, generation: Generation, engine_class: str, sparse: bool
) -> int:
    """Elements of a latent row; sparse backends other than trtllm keep fp8 rows with scales and 16-bit rope.

    trtllm serves bf16 decoding and fp8 from SM100 on, except GLM's fp8 on SM120.
    """
    plain = cache.latent_dim + cache.rope_dim
    if not sparse or not is_e4m3(dtype):
        return plain
    if generation is Generation.BLACKWELL_DATACENTER:
        return plain
    if generation is Generation.BLACKWELL_CONSUMER and engine_class not in SCALED_ROWS_ON_SM120:
        return plain
    return cache.latent_dim + cache.latent_dim // _SCALE_BLOCK * 4 + 2 * cache.rope_dim


def key_value_bytes(cache: KeyValueCache, heads: int, layers: int, dtype: str) -> int:
    """Keys and values of one token in `layers` layers on a rank; the scales of mxfp8 are floored together."""
    elements = heads * (cache.key_dim + cache.value_dim) * layers
    scales = elements // _MXFP8_BLOCK if dtype == "mxfp8" else 0
    return elements * element_bytes(dtype) + scales


def packed_bytes(cache: KeyValueCache, index: IndexCache, heads: int) -> int:
    """One token of MiniMax's NVFP4 pool: halves of bytes and a scale for 16, keys, values and index key."""
    elements = heads * (cache.key_dim + cache.value_dim) + index.key_dim
    return elements // 2 + elements // _NVFP4_BLOCK


def index_bytes(index: IndexCache, dtype: str, generation: Generation) -> int:
    """One token's share of an index key, which tensor parallelism does not divide.

    DSA keys are always fp8 with scales, pooled over tokens where the model says so; QSA's follow their own
    flag, 16 bit by default; MiniMax's follow the cache where fp8 attention kernels exist.
    """
    if index.scheme is IndexScheme.MINIMAX:
        kernels = generation in (Generation.HOPPER, Generation.BLACKWELL_DATACENTER)
        return index.key_dim * (1 if is_e4m3(dtype) and kernels else 2)
    if index.scheme is IndexScheme.QSA:
        return 2 * index.key_dim // index.tokens_per_key
    key = index.key_dim + index.key_dim // _SCALE_BLOCK * 4
    return ceil_div(key, index.tokens_per_key if index.scheme is IndexScheme.POOLED else 1)
