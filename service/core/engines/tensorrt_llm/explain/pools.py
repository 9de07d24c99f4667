"""Blocks and rows of layers on one rank, and what a token and a sequence add."""

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
from service.core.derivation.expressions import Expression, add, ceil_div, smallest
from service.core.derivation.facts import config, rule
from service.core.derivation.steps import Topic, Trace, Unit
from service.core.engines.tensorrt_llm.cache import BLOCK, CacheConfig, cache_bytes
from service.core.engines.tensorrt_llm.explain.states import state_of_layer
from service.core.scenario import Scenario

_POOLS = rule("TensorRT-LLM _torch/pyexecutor/resource_manager.py")
_INDEX = rule("TensorRT-LLM attention_backend/sparse/dsa.py: fp8 with an f32 scale for 128 values")
_LAYERS = rule("layers that cache alike, from config.json")
_HALF, _SINGLE = 2, 4
_INDEX_GROUP = 128
# Elements that are stored together, and their bytes.
_STORED = {"bf16": (1, 2), "fp16": (1, 2), "fp8": (1, 1), "nvfp4": (16, 9)}


class Pools:
    """Steps for the blocks of one rank under a cache configuration."""

    def __init__(self, trace: Trace, scenario: Scenario, cache_config: CacheConfig) -> None:
        self._trace, self._scenario, self._cache_config = trace, scenario, cache_config
        self._config = config(scenario.model)
        self._context = trace.asked(scenario, "context_tokens", Unit.TOKENS)
        local = self._context
        if cache_config.decode_context > 1:
            ways = trace.asked(scenario, "decode_context_parallel", Unit.WAYS, cache_config.decode_context)
            local = ceil_div(local, ways)
        trace.about(Topic.CACHE)
        self._block = trace.given("block_tokens", BLOCK, Unit.TOKENS, _POOLS)
        self._blocks = trace.follows("sequence_blocks", ceil_div(local, self._block), Unit.BLOCKS, _POOLS)

    @property
    def each(self) -> Expression:
        """Sequences of one replica."""
        sequences = self._trace.asked(self._scenario, "concurrent_sequences", Unit.SEQUENCES)
        replicas = self._scenario.layout.data
        if replicas == 1:
            return sequences
        data = self._trace.asked(self._scenario, "data_parallel", Unit.WAYS, replicas)
        self._trace.about(Topic.CACHE)
        return self._trace.follows("sequences_of_replica", ceil_div(sequences, data), Unit.SEQUENCES, _POOLS)

    def caches(self, kept: Kinds) -> Expression:
        """Bytes of the blocks of one sequence."""
        return add(
            self._layers(count) * cost for each, count in kept if (cost := self._cache(each)) is not None
        )

    def states(self, kept: Kinds) -> Expression:
        """Bytes of the states of one sequence."""
        return add(
            self._layers(count) * cost
            for each, count in kept
            if (cost := state_of_layer(self._trace, self._config, self._cache_config, each)) is not None
        )

    def growth(self, kept: Kinds) -> Expression:
        """Bytes that a further token adds."""
        rows = [(row, per, self._layers(n)) for each, n in kept for row, per in self._growing(each)]
        common = lcm(*(per for _, per, _ in rows))
        grown = add(n * row if per == common else n * row * (common // per) for row, per, n in rows)
        return ceil_div(grown, common) if common > 1 else grown

    def windows(self, kept: Kinds) -> Expression:
        """Bytes of the blocks of full windows."""
        return add(
            self._layers(count) * self._window(cache) * self._page(self._row(cache))
            for (cache, _, _), count in kept
            if cache is not None and _slides(cache)
        )

    def _layers(self, count: int) -> Expression:
        self._trace.about(Topic.CACHE)
        return self._trace.given("layers_alike", count, Unit.LAYERS, _LAYERS)

    def _size(self, name: str, value: int) -> Expression:
        return self._trace.given(name, value, Unit.ELEMENTS, self._config)

    def _page(self, row: Expression) -> Expression:
        self._trace.about(Topic.CACHE)
        return self._trace.follows("page_bytes", self._block * row, Unit.BYTES, _POOLS)

    def _cache(self, kept: Kept) -> Expression | None:
        """Bytes of one layer's blocks at the context."""
        cache, _, _ = kept
        figure = cache_bytes(((kept, 1),), self._scenario.context_tokens, self._cache_config)
        if not figure:
            return None
        parts = [
            self._blocks * (self._page(row) if per == 1 else self._page(row) // self._per_row(per))
            for row, per in self._growing(kept)
        ]
        if cache is not None and _slides(cache):
            parts.insert(0, smallest(self._blocks, self._window(cache)) * self._page(self._row(cache)))
        self._trace.about(Topic.CACHE)
        return self._trace.follows("kv_layer", add(parts), Unit.BYTES, _POOLS, figure=figure)

    def _window(self, cache: Cache) -> Expression:
        """Blocks that a window touches at most."""
        self._trace.about(Topic.CACHE)
        window = self._trace.given("window", getattr(cache, "window", None) or 0, Unit.TOKENS, self._config)
        formula = ceil_div(window, self._block) + 1
        return self._trace.follows("window_blocks", formula, Unit.BLOCKS, _POOLS)

    def _growing(self, kept: Kept) -> list[tuple[Expression, int]]:
        """Rows that a token adds, with the tokens that each stands for."""
        cache, index, _ = kept
        rows = []
        if isinstance(cache, CompressedCache):
            if cache.owner and cache.ratio:
                rows.append((self._row(cache), cache.ratio))
        elif cache is not None and not _slides(cache):
            rows.append((self._row(cache), 1))
        return rows if index is None else [*rows, self._index(index)]

    def _row(self, cache: Cache) -> Expression:
        """Bytes of one token: keys and values of the rank's heads, or the latent, which is not divided."""
        self._trace.about(Topic.CACHE)
        if isinstance(cache, KeyValueCache):
            heads = self._trace.given("kv_heads", cache.heads, Unit.HEADS, self._config)
            if (degree := self._cache_config.tensor_parallel) > 1:
                ways = self._trace.asked(self._scenario, "tensor_parallel", Unit.WAYS, degree)
                divided = ceil_div(heads, ways)
                heads = self._trace.follows("kv_heads_on_rank", divided, Unit.HEADS, _POOLS)
            elements = heads * (
                self._size("key_dim", cache.key_dim) + self._size("value_dim", cache.value_dim)
            )
        else:
            assert isinstance(cache, LatentCache | CompressedCache)
            elements = self._size("latent_dim", cache.latent_dim) + self._size("rope_dim", cache.rope_dim)
        return self._trace.follows("kv_row", self._stored(elements), Unit.BYTES, _POOLS)

    def _stored(self, elements: Expression) -> Expression:
        length, size = _STORED[self._cache_config.kv_dtype]
        if length == 1:
            return elements * self._trace.given("cache_element_bytes", size, Unit.BYTES, _POOLS)
        block = self._trace.given("cache_block_elements", length, Unit.ELEMENTS, _POOLS)
        return elements // block * self._trace.given("cache_block_bytes", size, Unit.BYTES, _POOLS)

    def _per_row(self, tokens: int) -> Expression:
        return self._trace.given("tokens_per_row", tokens, Unit.TOKENS, self._config)

    def _index(self, index: IndexCache) -> tuple[Expression, int]:
        """A row of index keys, and the tokens that it stands for."""
        self._trace.about(Topic.CACHE)
        key = self._size("index_dim", index.key_dim)
        if index.scheme is IndexScheme.DSA:
            group = self._trace.given("index_scale_values", _INDEX_GROUP, Unit.ELEMENTS, _INDEX)
            scale = self._trace.given("index_scale_bytes", _SINGLE, Unit.BYTES, _INDEX)
            return self._trace.follows("index_row", key + key // group * scale, Unit.BYTES, _INDEX), 1
        half = self._trace.given("index_element_bytes", _HALF, Unit.BYTES, _POOLS)
        return self._trace.follows("index_row", key * half, Unit.BYTES, _POOLS), index.tokens_per_key


def _slides(cache: Cache) -> bool:
    """Whether the layer's blocks are freed behind a window."""
    return isinstance(cache, CompressedCache) or (
        isinstance(cache, KeyValueCache) and cache.reach is Reach.SLIDING
    )
