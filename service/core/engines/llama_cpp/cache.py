"""Bytes of the KV cache, allocated in full at start (llama.cpp src/llama-kv-cache*.cpp)."""

from fractions import Fraction
from math import ceil

from service.core.architecture.caches import CompressedCache, KeyValueCache, LatentCache, Reach
from service.core.architecture.model import Architecture, Layer
from service.core.arrays import smaller
from service.core.engines.llama_cpp.index import index_bytes, index_bytes_per_token
from service.core.engines.llama_cpp.kv_types import row_bytes
from service.core.engines.llama_cpp.layers import counted
from service.core.engines.llama_cpp.pool import CELL_MULTIPLE, DEFAULT_MICRO_BATCH, Pool, pool
from service.core.identity import ByIdentity
from service.core.units import ceil_div, pad


def cache_bytes(
    architecture: Architecture,
    *,
    context_total: int,
    sequences: int = 1,
    unified: bool = False,
    micro_batch: int = DEFAULT_MICRO_BATCH,
    type_k: str = "fp16",
    type_v: str = "fp16",
    flash_attention: bool = True,
    swa_full: bool = False,
) -> int:
    """Bytes of the whole model's cache for `-c context_total -np sequences`, index caches included.

    Reproduces llama.cpp's own allocation to the byte.
    """
    cells = pool(
        context_total,
        sequences=sequences,
        unified=unified,
        micro_batch=micro_batch,
        type_k=type_k,
        type_v=type_v,
        flash_attention=flash_attention,
        swa_full=swa_full,
    )
    widest = transposed_value_width(architecture, cells)
    return sum(layer_cache_bytes(layer, cells, widest) * count for layer, count in counted(architecture))


def transposed_value_width(architecture: Architecture, pool: Pool) -> int | None:
    """Elements of V that every layer reserves without flash attention, None where each keeps its own.

    V is then stored transposed, and layers of different width (Gemma 4) all take the widest
    (llama_hparams::n_embd_v_gqa_max).
    """
    if pool.flash_attention:
        return None
    caches = (layer.cache for layer in architecture.layers)
    return max((c.heads * c.value_dim for c in caches if isinstance(c, KeyValueCache)), default=None)


def layer_cache_bytes(layer: Layer, pool: Pool, value_width: int | None = None) -> int:
    """Bytes of one layer's cache over all streams, its index included.

    value_width: elements of V where `transposed_value_width` says so.
    """
    return _main_bytes(layer, pool, value_width) + index_bytes(layer, pool)


def _main_bytes(layer: Layer, pool: Pool, value_width: int | None) -> int:
    match layer.cache:
        case KeyValueCache() as cache:
            cells = pool.stream_cells if cache.reach is Reach.FULL else _window_cells(cache, pool)
            return cells * pool.streams * _key_value_row(cache, pool.type_k, pool.type_v, value_width)
        case LatentCache() as cache:
            return pool.cells * row_bytes(pool.type_k, cache.latent_dim + cache.rope_dim)
        case CompressedCache() as cache:
            return _compressed_bytes(cache, pool)
    return 0


def _window_cells(cache: KeyValueCache, pool: Pool) -> int:
    assert cache.window is not None
    return pool.window_cells(cache.window)


def _key_value_row(cache: KeyValueCache, type_k: str, type_v: str, value_width: int | None = None) -> int:
    """Bytes of one token's keys and values; the types of K and V may differ."""
    values = value_width or cache.heads * cache.value_dim
    return row_bytes(type_k, cache.heads * cache.key_dim) + row_bytes(type_v, values)


def _compressed_bytes(cache: CompressedCache, pool: Pool) -> int:
    """Window rows and compressed rows, keys only; a stream for each sequence also with `-kvu`.

    llama.cpp src/llama-kv-cache-dsv4.cpp.
    """
    row = row_bytes(pool.type_k, cache.latent_dim + cache.rope_dim)
    window = cache.window + pool.micro_batch
    cells = pool.stream_cells if pool.swa_full else pad(smaller(pool.stream_cells, window), CELL_MULTIPLE)
    if cache.ratio and cache.owner:
        cells = cells + pad(ceil_div(pool.stream_cells, cache.ratio), CELL_MULTIPLE)
    return cells * pool.sequences * row


def kv_bytes_per_token(architecture: Architecture, type_k: str = "fp16", type_v: str = "fp16") -> int:
    """What each further token of one sequence adds: growing layers and index keys, rounded up to a byte."""
    return _grown(architecture, type_k, type_v)


def _grow(architecture: Architecture, type_k: str, type_v: str) -> int:
    growth = (_growth(layer, type_k, type_v) * count for layer, count in counted(architecture))
    return ceil(sum(growth, Fraction(0)))


_grown: ByIdentity[Architecture, str, str, int] = ByIdentity(_grow)


def _growth(layer: Layer, type_k: str, type_v: str) -> Fraction:
    """Bytes a token of one layer; fractional where a row stands for several tokens."""
    grown = index_bytes_per_token(layer, type_k, type_v)
    match layer.cache:
        case KeyValueCache(reach=Reach.FULL) as cache:
            return grown + _key_value_row(cache, type_k, type_v)
        case LatentCache() as cache:
            return grown + row_bytes(type_k, cache.latent_dim + cache.rope_dim)
        case CompressedCache(owner=True, ratio=ratio) as cache if ratio:
            return grown + Fraction(row_bytes(type_k, cache.latent_dim + cache.rope_dim), ratio)
    return grown


def window_bytes_per_sequence(architecture: Architecture, pool: Pool) -> int:
    """The constant part of one sequence's cache: sliding and chunked layers as the pool reserves them.

    A unified pool shares one reservation; its size is divided by the sequences.
    """
    reserved = 0
    for layer, count in counted(architecture):
        match layer.cache:
            case KeyValueCache(reach=Reach.SLIDING | Reach.CHUNKED):
                reserved += _main_bytes(layer, pool, None) * count
            case CompressedCache() as cache:
                row = row_bytes(pool.type_k, cache.latent_dim + cache.rope_dim)
                cells = min(pool.stream_cells, cache.window + pool.micro_batch)
                reserved += pad(cells, CELL_MULTIPLE) * row * pool.sequences * count
    return ceil_div(reserved, pool.sequences)
