"""Bytes of one token on a rank: rows of its layers over the config's own sizes."""

from collections import Counter

from service.core.architecture.caches import (
    Cache,
    IndexCache,
    IndexScheme,
    KeyValueCache,
    LatentCache,
    Reach,
)
from service.core.architecture.model import Layer, LayerKind
from service.core.derivation.expressions import Expression, add, ceil_div
from service.core.derivation.facts import config, rule
from service.core.derivation.steps import Topic, Trace, Unit
from service.core.engines.sglang.cells import drafting_layers, has_windows, heads_on_rank
from service.core.engines.sglang.compressed import is_compressed
from service.core.engines.sglang.dtypes import (
    SPARSE_LATENT,
    element_bytes,
    has_index,
    index_bytes,
    latent_elements,
)
from service.core.engines.sglang.flags import Flags
from service.core.scenario import Scenario

_CELL = rule("SGLang 0.5.23 srt/model_executor/pool_configurator.py _compute_cell_size")
_TYPES = rule("SGLang 0.5.23 srt/mem_cache/kv_cache_dtype.py")
_HEADS = rule("SGLang 0.5.23 srt/configs/model_config.py get_num_kv_heads: divided until one is left")
_LAYERS = rule("layers that cache alike, from config.json")
_INDEX = rule("SGLang 0.5.23 _compute_dsa_indexer_cell_size: fp8 keys with an f32 scale for 128 values")
_SCALED_VALUES, _SCALE_BYTES = 128, 4
_KEPT_BY_TOKENS = frozenset({IndexScheme.MINIMAX, IndexScheme.QSA})


class Cells:
    """Steps for the cell of the layers in a stage."""

    def __init__(self, trace: Trace, scenario: Scenario, flags: Flags, stage: range) -> None:
        self._trace, self._flags = trace, flags
        self._architecture = scenario.model.architecture
        self._config = config(scenario.model)
        layers = self._architecture.layers
        self._layers = [layers[index] for index in stage if layers[index].cache is not None]

    def full(self, figure: float) -> Expression:
        """Bytes of a token of whole contexts; a leaf where rows are packed, compressed or shared."""
        windows = has_windows(self._architecture)
        held = [layer for layer in self._layers if not (windows and _is_window(layer.cache))]
        formula = self._sum(held)
        if formula is not None and not windows:
            formula = self._with_drafts(formula)
        return self._trace.follows("cell_full", formula, Unit.BYTES, _CELL, figure=figure)

    def windows(self, figure: float) -> Expression:
        """Bytes of a token in the windows' own pool."""
        formula = self._sum([layer for layer in self._layers if _is_window(layer.cache)])
        return self._trace.follows("cell_windows", formula, Unit.BYTES, _CELL, figure=figure)

    def _with_drafts(self, total: Expression) -> Expression:
        """Layers that draft cost what the target's average layer does."""
        drafts = drafting_layers(self._architecture) if self._flags.draft_tokens else 0
        if not drafts or not self._layers:
            return total
        count = self._trace.given("draft_layers", drafts, Unit.LAYERS, _CELL)
        layers = self._trace.given("caching_layers", len(self._layers), Unit.LAYERS, _LAYERS)
        return total + total * count / layers // 1

    def _sum(self, layers: list[Layer]) -> Expression | None:
        shared = any(layer.kind is LayerKind.SHARED_KV for layer in self._architecture.layers)
        odd = self._flags.packed or self._flags.kv_dtype == "mxfp8" or is_compressed(self._architecture)
        if shared or odd or not layers:
            return None
        self._trace.about(Topic.CACHE)
        terms = []
        for (cache, index), count in Counter((layer.cache, layer.index) for layer in layers).items():
            row = self._row(cache)
            if row is None:
                return None
            if index is not None:
                row += self._index(index)
            terms.append(self._trace.given("layers_alike", count, Unit.LAYERS, _LAYERS) * row)
        return add(terms)

    def _size(self, name: str, value: int) -> Expression:
        return self._trace.given(name, value, Unit.ELEMENTS, self._config)

    def _row(self, cache: Cache | None) -> Expression | None:
        """One token's keys and values, or latent."""
        dtype = self._flags.kv_dtype
        width = self._trace.given(
            "kv_element_bytes", element_bytes(dtype), Unit.BYTES, _TYPES, cache_type=dtype
        )
        if isinstance(cache, KeyValueCache):
            held = heads_on_rank(cache.heads, self._ranks)
            heads = self._trace.given("kv_heads_on_rank", held, Unit.HEADS, _HEADS, heads=cache.heads)
            row = heads * (self._size("key_dim", cache.key_dim) + self._size("value_dim", cache.value_dim))
        elif isinstance(cache, LatentCache):
            row = self._size("latent_dim", cache.latent_dim) + self._size("rope_dim", cache.rope_dim)
            where, name = self._flags.generation, self._architecture.engine_class
            sparse = has_index(self._architecture, SPARSE_LATENT)
            # Sparse backends keep scales beside the row: then it is a figure of the engine.
            figure = latent_elements(cache, dtype, where, name, sparse) * element_bytes(dtype)
            return self._trace.follows("kv_row", row * width, Unit.BYTES, _CELL, figure=figure)
        else:
            return None
        return self._trace.follows("kv_row", row * width, Unit.BYTES, _CELL)

    @property
    def _ranks(self) -> int:
        """Ranks that share the KV heads."""
        parallel, context = self._flags.attention_parallel, self._flags.decode_context
        whole = has_windows(self._architecture) or has_index(
            self._architecture, frozenset({IndexScheme.MINIMAX})
        )
        return parallel if whole else max(1, parallel // context)

    def _index(self, index: IndexCache) -> Expression:
        """One token's share of an index key."""
        figure, formula = index_bytes(index, self._flags.kv_dtype, self._flags.generation), None
        if index.scheme not in _KEPT_BY_TOKENS:
            key = self._size("index_dim", index.key_dim)
            group = self._trace.given("index_scale_values", _SCALED_VALUES, Unit.ELEMENTS, _INDEX)
            scale = self._trace.given("index_scale_bytes", _SCALE_BYTES, Unit.BYTES, _INDEX)
            formula = key + key // group * scale
            if index.scheme is IndexScheme.POOLED:
                tokens = self._trace.given("tokens_per_row", index.tokens_per_key, Unit.TOKENS, self._config)
                formula = ceil_div(formula, tokens)
        return self._trace.follows("index_row", formula, Unit.BYTES, _INDEX, figure=figure)


def _is_window(cache: Cache | None) -> bool:
    return isinstance(cache, KeyValueCache) and cache.reach is not Reach.FULL
