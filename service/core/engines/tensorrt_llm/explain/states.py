"""The recurrent state of one layer and sequence on one rank."""

from service.core.architecture.caches import CompressedCache, StateKind
from service.core.architecture.kinds import Kept
from service.core.derivation.expressions import Expression, add
from service.core.derivation.facts import rule
from service.core.derivation.steps import Topic, Trace, Unit
from service.core.engines.tensorrt_llm.cache import CacheConfig, state_bytes
from service.core.sizing import Sourced

_STATES = rule("TensorRT-LLM _torch/pyexecutor/mamba_cache_manager.py")
_HALF, _SINGLE, _TOKEN_ID = 2, 4, 8
# Elements that are stored together, and their bytes.
_F32 = frozenset({"float32", "f32", "fp32"})


def state_of_layer(trace: Trace, config: Sourced, cache_config: CacheConfig, kept: Kept) -> Expression | None:
    """State of one sequence in one layer, on one rank."""
    figure = state_bytes(((kept, 1),), cache_config)
    if not figure:
        return None
    cache, _, states = kept
    trace.about(Topic.STATE)
    parts = []

    def size(name: str, value: int) -> Expression:
        return trace.given(name, value, Unit.ELEMENTS, config)

    if isinstance(cache, CompressedCache) and cache.state_elements:
        single = trace.given("state_element_bytes", _SINGLE, Unit.BYTES, _STATES)
        parts.append(size("compressor_elements", cache.state_elements) * single)
    for state in states:
        degree = cache_config.tensor_parallel if state.split else 1
        if state.conv_channels * state.conv_rows:
            channels = _divided(trace, size("conv_channels", state.conv_channels), degree)
            half = trace.given("conv_element_bytes", _HALF, Unit.BYTES, _STATES)
            parts.append(channels * size("conv_rows", state.conv_rows) * half)
        if state.recurrent_elements:
            heads = trace.given("state_heads", state.recurrent_heads, Unit.HEADS, config)
            matrix = size("state_rows", state.recurrent_rows)
            matrix *= size("state_columns", state.recurrent_columns)
            wide = state.kind is StateKind.KIMI_DELTA or cache_config.state_dtype in _F32
            width = trace.given("state_element_bytes", _SINGLE if wide else _HALF, Unit.BYTES, _STATES)
            parts.append(_divided(trace, heads * matrix, degree) * width)
        if state.token_history:
            ids = trace.given("history_tokens", state.token_history, Unit.TOKENS, config)
            parts.append(ids * _TOKEN_ID)
    return trace.follows("state_row", add(parts), Unit.BYTES, _STATES, figure=figure)


def _divided(trace: Trace, elements: Expression, degree: int) -> Expression:
    if degree == 1:
        return elements
    return elements // trace.given("state_ways", degree, Unit.WAYS, _STATES)
