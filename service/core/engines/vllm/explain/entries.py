"""Cached entries and states of layers as formulas over the config's own sizes."""

from collections.abc import Iterator

from service.core.architecture.caches import (
    IndexCache,
    IndexScheme,
    KeyValueCache,
    LatentCache,
    RecurrentState,
)
from service.core.derivation.expressions import Expression, ceil_div
from service.core.derivation.facts import config, rule
from service.core.derivation.steps import Topic, Trace, Unit
from service.core.engines.vllm.dtypes import element_bytes, index_bytes, sixteen_bit
from service.core.engines.vllm.layers import Holdings, heads_on_rank
from service.core.engines.vllm.specs import CacheConfig
from service.core.engines.vllm.states import recurrent_bytes, state_bytes
from service.core.scenario import Scenario

_TYPES = rule("vLLM 0.33.0 config/cache.py CacheDType")
_HEADS = rule("vLLM 0.33.0 config/model.py get_num_kv_heads: divided until one is left, then copied")
_INDEX = rule("vLLM 0.33.0 indexer cache: fp8 codes with an f32 scale for 128 values, or 16-bit keys")
_ENTRY = rule("vLLM 0.33.0 v1/kv_cache_interface.py")
_STATE = rule("vLLM 0.33.0 model_executor/layers/mamba/mamba_utils.py")
_SIXTEEN_BIT_INDEX = frozenset({IndexScheme.MINIMAX, IndexScheme.QSA})
_SCALED_VALUES, _SCALE_BYTES, _CONV_BYTES = 128, 4, 2
_PLAIN = frozenset({"fp8", "fp8_e4m3", "fp8_e5m2"})

Entries = dict[int, Expression]


class EntrySteps:
    """Formulas of the entries of some layers, by their bytes; sizes that none gives stay leaves."""

    def __init__(self, trace: Trace, scenario: Scenario, cache: CacheConfig, held: Holdings) -> None:
        self._trace, self._cache = trace, cache
        self._config = config(scenario.model)
        self.entries: Entries = {}
        for (main, index, states), _ in held:
            for formula in (*self._main(main), *self._index(index)):
                self.entries.setdefault(int(formula.value), formula)
            for state in states:
                self.entries.setdefault(state_bytes(state, cache), self._state(state))

    def entry(self, size: int) -> Expression:
        """Bytes of an entry or state."""
        self._trace.about(Topic.CACHE)
        formula = self.entries.get(size)
        if formula is not None and formula.inputs == (formula.symbolic,):
            return formula  # a step of its own already
        return self._trace.follows("cache_entry", formula, Unit.BYTES, _ENTRY, figure=size)

    def _size(self, name: str, value: int, unit: Unit = Unit.ELEMENTS) -> Expression:
        return self._trace.given(name, value, unit, self._config)

    def _main(self, cache: object) -> Iterator[Expression]:
        dtype = self._cache.kv_dtype
        if not sixteen_bit(dtype) and dtype not in _PLAIN:
            return  # packed rows and scales: the entry is a figure of the engine
        self._trace.about(Topic.CACHE)
        width = self._trace.given(
            "kv_element_bytes", element_bytes(dtype), Unit.BYTES, _TYPES, cache_type=dtype
        )
        if isinstance(cache, KeyValueCache):
            held = heads_on_rank(cache.heads, self._cache.tensor_parallel)
            heads = self._trace.given("kv_heads_on_rank", held, Unit.HEADS, _HEADS, heads=cache.heads)
            row = self._size("key_dim", cache.key_dim) + self._size("value_dim", cache.value_dim)
            yield heads * row * width
        elif isinstance(cache, LatentCache):
            row = self._size("latent_dim", cache.latent_dim) + self._size("rope_dim", cache.rope_dim)
            yield row * width

    def _index(self, index: IndexCache | None) -> Iterator[Expression]:
        if index is None:
            return
        self._trace.about(Topic.CACHE)
        key = self._size("index_dim", index.key_dim)
        if index.scheme in _SIXTEEN_BIT_INDEX:
            yield key * self._trace.given("index_element_bytes", _CONV_BYTES, Unit.BYTES, _INDEX)
        elif index_bytes(index) == index.key_dim:
            yield key
        else:
            group = self._trace.given("index_scale_values", _SCALED_VALUES, Unit.ELEMENTS, _INDEX)
            scale = self._trace.given("index_scale_bytes", _SCALE_BYTES, Unit.BYTES, _INDEX)
            yield key + scale * ceil_div(key, group)

    def _state(self, state: RecurrentState) -> Expression:
        """Convolution history in 16 bit and the recurrence, one copy on a rank."""
        self._trace.about(Topic.CACHE)  # states draw blocks from the same pool
        cache = self._cache
        degree = self._trace.given(
            "state_ways", cache.tensor_parallel if state.split else 1, Unit.WAYS, _STATE
        )
        rows = self._size("conv_rows", state.conv_rows + cache.draft_tokens)
        two = self._trace.given("conv_element_bytes", _CONV_BYTES, Unit.BYTES, _STATE)
        total = self._size("conv_channels", state.conv_channels) // degree * rows * two
        if state.recurrent_elements:
            width = recurrent_bytes(state, cache.state_dtype)
            elements = self._size("state_heads", state.recurrent_heads, Unit.HEADS)
            elements = elements * self._size("state_rows", state.recurrent_rows)
            elements *= self._size("state_columns", state.recurrent_columns)
            wide = self._trace.given("state_element_bytes", width, Unit.BYTES, _STATE)
            total += elements // degree * wide
        return self._trace.follows(
            "state_copy", total, Unit.BYTES, _STATE, figure=state_bytes(state, cache), kind=str(state.kind)
        )
