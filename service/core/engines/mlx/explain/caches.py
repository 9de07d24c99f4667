"""Rows, tokens and caches of layers, and what a token and a sequence add."""

from math import lcm

from service.core.architecture.caches import (
    Cache,
    CompressedCache,
    IndexCache,
    IndexScheme,
    KeyValueCache,
    LatentCache,
    Reach,
)
from service.core.architecture.kinds import Kept, Kinds
from service.core.architecture.kinds import kinds as kept_by
from service.core.derivation.expressions import Expression, add, ceil_div, pad, smallest
from service.core.derivation.facts import config, rule
from service.core.derivation.steps import Topic, Trace, Unit
from service.core.engines.mlx.cache import STEP, cache_bytes, doubles_index
from service.core.engines.mlx.explain.states import state_of_layer
from service.core.engines.mlx.kv_types import GROUP, quantized, row_bytes
from service.core.scenario import Scenario

_CACHE = rule("mlx-lm 0.32.2 models/cache.py")
_LAYERS = rule("layers that cache alike, from config.json")
_HALF = 2
_RAW = frozenset({IndexScheme.DSA, IndexScheme.MINIMAX, IndexScheme.QSA})


class Caches:
    """Steps for what the layers of a scenario keep."""

    def __init__(self, trace: Trace, scenario: Scenario) -> None:
        self._trace, self._scenario, self._config = trace, scenario, config(scenario.model)
        self._doubled = doubles_index(kept_by(scenario.model.architecture.layers))
        self.sequences = trace.asked(scenario, "concurrent_sequences", Unit.SEQUENCES)
        self.context = trace.asked(scenario, "context_tokens", Unit.TOKENS)
        trace.about(Topic.CACHE)
        self._step = trace.given("cell_multiple", STEP, Unit.TOKENS, _CACHE)
        self.tokens = trace.follows("cache_tokens", pad(self.context, self._step), Unit.TOKENS, _CACHE)

    def caches(self, kept: Kinds) -> Expression:
        """Bytes of the caches of one sequence."""
        return add(
            self._layers(count) * cost for each, count in kept if (cost := self._cache(each)) is not None
        )

    def states(self, kept: Kinds) -> Expression:
        """Bytes of the states of one sequence."""
        return add(
            self._layers(count) * cost
            for each, count in kept
            if (cost := state_of_layer(self._trace, self._config, each)) is not None
        )

    def growth(self, kept: Kinds) -> Expression:
        """Bytes that a further token adds."""
        growing = [
            (row, per, self._layers(count)) for each, count in kept for row, per in self._growing(each)
        ]
        common = lcm(*(per for _, per, _ in growing))
        grown = add(
            count * row if per == common else count * row * (common // per) for row, per, count in growing
        )
        return ceil_div(grown, common) if common > 1 else grown

    def windows(self, kept: Kinds) -> Expression:
        """Bytes of full windows of one sequence."""
        return add(
            self._layers(count) * self._most(cache) * self._row(cache, None)
            for (cache, _, _), count in kept
            if _bounded(cache)
        )

    def _layers(self, count: int) -> Expression:
        self._trace.about(Topic.CACHE)
        return self._trace.given("layers_alike", count, Unit.LAYERS, _LAYERS)

    def _size(self, name: str, value: int) -> Expression:
        return self._trace.given(name, value, Unit.ELEMENTS, self._config)

    def _cache(self, kept: Kept) -> Expression | None:
        """Bytes of one layer's cache at the context."""
        cache, index, _ = kept
        parts = [self._main(cache, index)] if cache is not None else []
        parts += [
            self.tokens * row if per == 1 else ceil_div(self.tokens * row, per)
            for row, per in self._index(index)
        ]
        self._trace.about(Topic.CACHE)
        figure = cache_bytes(
            ((kept, 1),), self._scenario.context_tokens, self._scenario.kv_cache_dtype, self._doubled
        )
        return (
            self._trace.follows("kv_layer", add(parts), Unit.BYTES, _CACHE, figure=figure) if figure else None
        )

    def _main(self, cache: Cache, index: IndexCache | None) -> Expression:
        row = self._row(cache, index)
        if not _bounded(cache):
            return self.tokens * row
        held = smallest(self.tokens, self._most(cache))
        if isinstance(cache, CompressedCache) and cache.ratio and cache.owner:
            held += ceil_div(self.context, self._per_row(cache.ratio))
        return held * row

    def _most(self, cache: Cache | None) -> Expression:
        """Tokens of a full window, or of a chunk with the next token in whole steps."""
        self._trace.about(Topic.CACHE)
        tokens = self._trace.given("window", getattr(cache, "window", 0), Unit.TOKENS, self._config)
        chunked = isinstance(cache, KeyValueCache) and cache.reach is Reach.CHUNKED
        return pad(tokens + 1, self._step) if chunked else tokens

    def _growing(self, kept: Kept) -> list[tuple[Expression, int]]:
        """Rows that a token adds, with the tokens that each stands for."""
        cache, index, _ = kept
        rows = self._index(index)
        if isinstance(cache, CompressedCache):
            if cache.owner and cache.ratio:
                rows.append((self._row(cache, index), cache.ratio))
        elif cache is not None and not _bounded(cache):
            rows.append((self._row(cache, index), 1))
        return rows

    def _row(self, cache: Cache | None, index: IndexCache | None) -> Expression:
        """Bytes of one token in one layer; windows and caches beside an index stay 16 bit."""
        self._trace.about(Topic.CACHE)
        if isinstance(cache, KeyValueCache):
            asked = self._scenario.kv_cache_dtype
            dtype = asked if cache.reach is Reach.FULL and index is None else "bf16"
            heads = self._trace.given("kv_heads", cache.heads, Unit.HEADS, self._config)
            keys, values = self._size("key_dim", cache.key_dim), self._size("value_dim", cache.value_dim)
            row = heads * (self._stored(keys, dtype) + self._stored(values, dtype))
            figure = cache.heads * (row_bytes(dtype, cache.key_dim) + row_bytes(dtype, cache.value_dim))
            return self._trace.follows("kv_row", row, Unit.BYTES, _CACHE, figure=figure)
        assert isinstance(cache, LatentCache | CompressedCache)
        width = self._size("latent_dim", cache.latent_dim) + self._size("rope_dim", cache.rope_dim)
        return self._trace.follows("kv_row", width * self._half(), Unit.BYTES, _CACHE)

    def _stored(self, elements: Expression, dtype: str) -> Expression:
        if not quantized(dtype):
            return elements * self._half()
        length = self._trace.given("cache_block_elements", GROUP, Unit.ELEMENTS, _CACHE)
        width = self._trace.given("cache_block_bytes", row_bytes(dtype, GROUP), Unit.BYTES, _CACHE)
        return elements // length * width

    def _half(self) -> Expression:
        return self._trace.given("cache_element_bytes", _HALF, Unit.BYTES, _CACHE)

    def _per_row(self, tokens: int) -> Expression:
        return self._trace.given("tokens_per_row", tokens, Unit.TOKENS, self._config)

    def _index(self, index: IndexCache | None) -> list[tuple[Expression, int]]:
        """Rows of index keys, doubled where values of the same size lie beside them."""
        if index is None:
            return []
        self._trace.about(Topic.CACHE)
        row = self._size("index_dim", index.key_dim) * self._half()
        if self._doubled and index.scheme is IndexScheme.DSA:
            row *= 2
        row = self._trace.follows("index_row", row, Unit.BYTES, _CACHE)
        return [(row, 1 if index.scheme in _RAW else index.tokens_per_key)]


def _bounded(cache: Cache | None) -> bool:
    """Whether a layer keeps a window."""
    if isinstance(cache, CompressedCache):
        return True
    return isinstance(cache, KeyValueCache) and cache.window is not None and cache.reach is not Reach.FULL
