"""Index keys of sparse attention as llama.cpp lays them out, one rule for each scheme."""

from collections.abc import Callable
from fractions import Fraction

from service.core.architecture.caches import CompressedCache, IndexScheme, KeyValueCache
from service.core.architecture.model import Layer
from service.core.engines.llama_cpp.kv_types import row_bytes
from service.core.engines.llama_cpp.pool import CELL_MULTIPLE, Pool
from service.core.units import ceil_div, pad

# Values that the pooled index of GLM-5.3-Flash keeps a token: key, gate and pooled key.
_POOLED_VALUES = 3


def _key(layer: Layer, type_k: str, _type_v: str) -> int:
    """One key a token, no values: src/llama-kv-cache-dsa.cpp; the raw key of Qwen4-exp alike."""
    assert layer.index is not None
    return row_bytes(type_k, layer.index.key_dim)


def _pooled(layer: Layer, type_k: str, _type_v: str) -> int:
    """Key, gate and pooled key side by side in one row: src/llama-memory-hybrid-idx.cpp."""
    assert layer.index is not None
    return row_bytes(type_k, _POOLED_VALUES * layer.index.key_dim)


def _key_and_value(layer: Layer, type_k: str, type_v: str) -> int:
    """MiniMax M3 indexes in an ordinary cache of one head, values included: src/llama-kv-cache-msa.cpp."""
    assert layer.index is not None
    value = layer.cache.value_dim if isinstance(layer.cache, KeyValueCache) else layer.index.key_dim
    return row_bytes(type_k, layer.index.key_dim) + row_bytes(type_v, value)


_ROWS: dict[IndexScheme, Callable[[Layer, str, str], int]] = {
    IndexScheme.DSA: _key,
    IndexScheme.POOLED: _pooled,
    IndexScheme.QSA: _key,
    IndexScheme.MINIMAX: _key_and_value,
    IndexScheme.SUMMARY: _key,
    IndexScheme.COMPRESSED: _key,
}

# Schemes whose key stands for several tokens in the cache itself; the others keep a row for each token.
_SPARSE_ROWS = frozenset({IndexScheme.SUMMARY, IndexScheme.COMPRESSED})


def tokens_per_row(layer: Layer) -> int:
    """Tokens that one row of the index cache stands for."""
    assert layer.index is not None
    if layer.index.scheme not in _SPARSE_ROWS:
        return 1
    if isinstance(layer.cache, CompressedCache) and layer.cache.ratio:
        return layer.cache.ratio
    return layer.index.tokens_per_key


def is_kept(layer: Layer) -> bool:
    """Whether llama.cpp allocates the layer's index at all.

    Its minimax-m3 keeps an index only on the layers with experts (the dense ones come first and use none).
    """
    if layer.index is None:
        return False
    if layer.index.scheme is IndexScheme.MINIMAX:
        return any(tensor.role.startswith("ffn_gate_inp") for tensor in layer.tensors)
    return True


def index_row_bytes(layer: Layer, type_k: str, type_v: str) -> int:
    """Bytes of one row of the layer's index cache; 0 where llama.cpp keeps none."""
    if not is_kept(layer):
        return 0
    assert layer.index is not None
    return _ROWS[layer.index.scheme](layer, type_k, type_v)


def index_bytes(layer: Layer, pool: Pool) -> int:
    """Bytes of the layer's index cache over all streams; 0 without an index.

    Compressed indexes (DeepSeek V4) have a stream for each sequence also when the pool is unified.
    """
    if not is_kept(layer):
        return 0
    assert layer.index is not None
    row = _ROWS[layer.index.scheme](layer, pool.type_k, pool.type_v)
    per_row = tokens_per_row(layer)
    if per_row == 1 and layer.index.scheme is not IndexScheme.COMPRESSED:
        return pool.cells * row
    cells = pad(ceil_div(pool.stream_cells, per_row), CELL_MULTIPLE)
    streams = pool.sequences if layer.index.scheme is IndexScheme.COMPRESSED else pool.streams
    return cells * streams * row


def index_bytes_per_token(layer: Layer, type_k: str, type_v: str) -> Fraction:
    """What one more token of a sequence adds to the layer's index."""
    if not is_kept(layer):
        return Fraction(0)
    assert layer.index is not None
    return Fraction(_ROWS[layer.index.scheme](layer, type_k, type_v), tokens_per_row(layer))
