"""KV cache types of vLLM: what `auto` means, what a type becomes, and bytes of one cached token.

Source: vLLM 0.33.0 config/cache.py CacheDType, model_executor/models/config.py,
model_executor/layers/attention/mla_attention.py _canonicalize_sparse_mla_kv_cache_dtype.
"""

from collections.abc import Iterable

from service.core.architecture.caches import (
    CompressedCache,
    IndexCache,
    IndexScheme,
    KeyValueCache,
    LatentCache,
)
from service.core.architecture.model import Architecture
from service.core.engines.vllm.generation import Generation
from service.core.identity import ByIdentity
from service.core.units import ceil_div

KV_DTYPES = (
    "bf16",
    "fp16",
    "fp8",
    "fp8_e4m3",
    "fp8_e5m2",
    "fp8_ds_mla",
    "nvfp4",
    "nvfp4_ds_mla",
    "fp8_per_token_head",
    "int8_per_token_head",
    "int4_per_token_head",
)

_SIXTEEN_BIT = frozenset({"bf16", "fp16"})
_NVFP4 = frozenset({"nvfp4", "nvfp4_ds_mla"})
# A scale of four bytes beside the keys and one beside the values of every token and head.
_PER_HEAD_SCALES = 8
_PACKED_ROW = 656  # 512 fp8 + four f32 scales + 64 bf16 of rope
_PACKED_FP4_ROW = 352
# Classes whose `auto` is fp8 where FlashInfer's sparse MLA runs (GlmMoeDsaForCausalLM and its successor).
_FP8_ON_SM100 = frozenset({"GlmMoeDsaForCausalLM", "Glm5NextForConditionalGeneration"})
_SPARSE_LATENT = frozenset({IndexScheme.DSA, IndexScheme.POOLED})


def sixteen_bit(dtype: str) -> bool:
    """Whether the type stores two bytes an element."""
    return dtype in _SIXTEEN_BIT


def element_bytes(dtype: str) -> int:
    """Bytes of an element as the block alignment counts them: the flag's type, not the packed row."""
    return 2 if sixteen_bit(dtype) else 1


def shares_entries(ratios: Iterable[int]) -> bool:
    """Compression of at most two tokens, read across layers (DeepSeek V4.1 rather than V4)."""
    return max(ratios, default=0) <= 2


def auto_dtype(architecture: Architecture, generation: Generation) -> str:
    """What `--kv-cache-dtype auto` resolves to; the quantization of the weights has no say."""
    return _auto_dtype(architecture, generation)


def _auto(architecture: Architecture, generation: Generation) -> str:
    layers = architecture.layers
    ratios = [layer.cache.ratio for layer in layers if isinstance(layer.cache, CompressedCache)]
    if ratios:
        four_bit = shares_entries(ratios) and generation is Generation.BLACKWELL_DATACENTER
        return "nvfp4_ds_mla" if four_bit else "fp8_ds_mla"
    sparse = any(layer.index is not None and layer.index.scheme in _SPARSE_LATENT for layer in layers)
    if sparse and generation is Generation.BLACKWELL_CONSUMER:
        return "fp8_ds_mla"
    if architecture.engine_class in _FP8_ON_SM100 and generation is Generation.BLACKWELL_DATACENTER:
        return "fp8"
    return "bf16"


_auto_dtype: ByIdentity[Architecture, Generation, str] = ByIdentity(_auto)


def key_value_bytes(cache: KeyValueCache, dtype: str) -> int:
    """Keys and values of one token and head."""
    elements = cache.key_dim + cache.value_dim
    if sixteen_bit(dtype):
        return 2 * elements
    if dtype in _NVFP4:
        return ceil_div(elements * 9, 16)  # half a byte, and one scale byte for 16 elements
    if dtype == "int4_per_token_head":
        return ceil_div(elements, 2) + _PER_HEAD_SCALES
    return elements + (_PER_HEAD_SCALES if dtype.endswith("_per_token_head") else 0)


def latent_bytes(cache: LatentCache, dtype: str, generation: Generation, sparse: bool) -> int:
    """The latent row of one token; the sparse backends of sm90 and sm120 turn fp8 into packed rows."""
    width = cache.latent_dim + cache.rope_dim
    if sixteen_bit(dtype):
        return 2 * width
    if dtype in _NVFP4:
        return _PACKED_FP4_ROW
    packs = generation is Generation.BLACKWELL_CONSUMER or (
        generation is Generation.HOPPER and cache.rope_dim > 0
    )
    return _PACKED_ROW if dtype == "fp8_ds_mla" or (sparse and packs) else width


def index_bytes(index: IndexCache) -> int:
    """One index key: fp8 codes with a scale per 128, 16-bit keys, or bare fp8 codes, by scheme."""
    if index.scheme in (IndexScheme.MINIMAX, IndexScheme.QSA):
        return 2 * index.key_dim
    if index.scheme is IndexScheme.SUMMARY:
        return index.key_dim
    return index.key_dim + 4 * ceil_div(index.key_dim, 128)
