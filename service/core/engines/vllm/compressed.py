"""Caches of DeepSeek V4 and V4.1: window, compressed entries, their index keys, running compressors.

Source: vLLM 0.33.0 models/deepseek_v4/ (compressor.py CompressorStateCache), models/deepseek_v41/.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import lcm

from service.core.architecture.caches import CompressedCache, IndexCache
from service.core.engines.vllm.dtypes import index_bytes, sixteen_bit
from service.core.engines.vllm.generation import Generation
from service.core.engines.vllm.specs import CacheConfig, Spec, SpecKind

_FLOAT = 4
_V4_RECORD = 584  # 448 fp8 + 64 bf16 + 8 bytes of scales
_MX_RECORD = 528  # MXFP8, sm100
_FP4_RECORD = 288
_RING_TOKENS = 8


@dataclass(frozen=True, slots=True)
class Records:
    """Bytes of an entry in the window and in the compressed cache, and what pages are rounded to."""

    window: int
    compressed: int
    alignment: int


def records(cache: CompressedCache, config: CacheConfig, shared: bool) -> Records:
    """Entry layouts by KV type and generation; `shared` is V4.1."""
    if sixteen_bit(config.kv_dtype):
        width = 2 * (cache.latent_dim + cache.rope_dim)
        return Records(width, width, 1)
    if shared and config.generation is Generation.BLACKWELL_DATACENTER:
        explicit = config.kv_dtype == "fp8_ds_mla"
        return Records(_MX_RECORD, _MX_RECORD if explicit else _FP4_RECORD, 512)
    return Records(_V4_RECORD, _V4_RECORD, 576)


def slab_alignment(cache: CompressedCache, config: CacheConfig, shared: bool) -> int:
    """What the bytes of a block are rounded to: records that differ must both divide the stride."""
    layout = records(cache, config, shared)
    return lcm(layout.window, layout.compressed) if layout.window != layout.compressed else 1


def compressed_specs(
    cache: CompressedCache, index: IndexCache | None, config: CacheConfig, block: int, shared: bool
) -> Iterator[Spec]:
    """Every spec of one layer; nothing here is divided by tensor parallelism."""
    layout = records(cache, config, shared)
    yield Spec(
        SpecKind.SLIDING,
        layout.window,
        block=32 if shared else 64,
        window=cache.window,
        latent=True,
        alignment=layout.alignment,
    )
    if not cache.ratio or not cache.owner:
        return
    entry = Spec(
        SpecKind.FULL, layout.compressed, block, cache.ratio, latent=True, alignment=layout.alignment
    )
    yield entry
    if index is not None:
        yield Spec(
            SpecKind.FULL, index_bytes(index), block, cache.ratio, latent=True, alignment=layout.alignment
        )
    width = cache.latent_dim + cache.rope_dim
    if not shared:
        yield _compressor(cache.ratio, width, layout.alignment)
        if index is not None:
            yield _compressor(cache.ratio, index.key_dim, layout.alignment)
    elif cache.ratio > 1:
        ring = _RING_TOKENS * 2 * width * _FLOAT
        yield Spec(SpecKind.RING, ring, _RING_TOKENS, constant=True)


def _compressor(ratio: int, width: int, alignment: int) -> Spec:
    """The f32 rows (value and score) that a compressor still needs; ratio 4 overlaps two halves."""
    halves = 2 if ratio == 4 else 1
    return Spec(
        SpecKind.SLIDING,
        2 * halves * width * _FLOAT,
        block=4 if ratio == 4 else 8,
        window=halves * ratio,
        latent=True,
        alignment=alignment,
        constant=True,
    )
