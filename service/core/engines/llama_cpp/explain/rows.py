"""A row of a layer's cache and index as a formula over the config's own sizes."""

from service.core.architecture.caches import CompressedCache, IndexScheme, KeyValueCache, LatentCache
from service.core.architecture.model import Layer
from service.core.derivation.expressions import Expression, ceil_div
from service.core.derivation.facts import rule
from service.core.derivation.steps import Topic, Trace, Unit
from service.core.engines.llama_cpp.index import index_row_bytes, is_kept
from service.core.engines.llama_cpp.kv_types import block_layout
from service.core.engines.llama_cpp.pool import Pool
from service.core.sizing import Sourced

_TYPES = rule("llama.cpp ggml/src/ggml-common.h, block of the cache type")
_CACHE = rule("llama.cpp src/llama-kv-cache.cpp: row of a token")
_INDEX = rule("llama.cpp src/llama-kv-cache-dsa.cpp and its relatives: row of an index key")
_POOLED = rule("llama.cpp src/llama-memory-hybrid-idx.cpp: key, gate and pooled key")
_POOLED_VALUES = 3


class Rows:
    """Steps for the rows of layers; the same facts are listed once."""

    def __init__(self, trace: Trace, config: Sourced, pool: Pool) -> None:
        self._trace = trace
        self._config = config
        self._pool = pool

    def main(self, layer: Layer) -> Expression | None:
        """Bytes of one token's keys and values, or latent; None without a cache."""
        self._trace.about(Topic.CACHE)
        kind = str(layer.kind)
        match layer.cache:
            case KeyValueCache() as cache:
                heads = self._size("kv_heads", cache.heads, kind, Unit.HEADS)
                keys = heads * self._size("key_dim", cache.key_dim, kind)
                values = heads * self._size("value_dim", cache.value_dim, kind)
                row = self._stored(keys, "k") + self._stored(values, "v")
            case LatentCache() | CompressedCache() as cache:
                width = self._size("latent_dim", cache.latent_dim, kind)
                width += self._size("rope_dim", cache.rope_dim, kind)
                row = self._stored(width, "k")
            case _:
                return None
        return self._trace.follows("kv_row", row, Unit.BYTES, _CACHE, layer_kind=kind)

    def index(self, layer: Layer) -> Expression | None:
        """Bytes of one row of the layer's index; None where llama.cpp keeps none."""
        if not is_kept(layer) or layer.index is None:
            return None
        self._trace.about(Topic.CACHE)
        kind, scheme = str(layer.kind), layer.index.scheme
        key = self._size("index_dim", layer.index.key_dim, kind)
        row = self._stored(key, "k")
        if scheme is IndexScheme.POOLED:
            values = self._trace.given("pooled_values", _POOLED_VALUES, Unit.COUNT, _POOLED)
            row = self._stored(values * key, "k")
        elif scheme is IndexScheme.MINIMAX and isinstance(layer.cache, KeyValueCache):
            row += self._stored(self._size("value_dim", layer.cache.value_dim, kind), "v")
        figure = index_row_bytes(layer, self._pool.type_k, self._pool.type_v)
        return self._trace.follows("index_row", row, Unit.BYTES, _INDEX, figure=figure, layer_kind=kind)

    def _size(self, name: str, value: int, kind: str, unit: Unit = Unit.ELEMENTS) -> Expression:
        return self._trace.given(name, value, unit, self._config, layer_kind=kind)

    def _stored(self, elements: Expression, side: str) -> Expression:
        """Elements in the cache type of keys or values, whole blocks."""
        chosen = self._pool.type_k if side == "k" else self._pool.type_v
        block, size = block_layout(chosen)
        facts = {"cache_type": chosen, "side": side}
        if block == 1:
            return elements * self._trace.given(
                f"b_{side}", size, Unit.BYTES, _TYPES, title="cache_element_bytes", **facts
            )
        length = self._trace.given(
            f"block_{side}", block, Unit.ELEMENTS, _TYPES, title="cache_block_elements", **facts
        )
        width = self._trace.given(f"b_{side}", size, Unit.BYTES, _TYPES, title="cache_block_bytes", **facts)
        return ceil_div(elements, length) * width
