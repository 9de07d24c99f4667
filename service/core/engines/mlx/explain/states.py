"""The recurrent state of one layer and sequence."""

from service.core.architecture.caches import CompressedCache
from service.core.architecture.kinds import Kept
from service.core.derivation.expressions import Expression, add
from service.core.derivation.facts import rule
from service.core.derivation.steps import Topic, Trace, Unit
from service.core.engines.mlx.cache import state_bytes
from service.core.sizing import Sourced

_CACHE = rule("mlx-lm 0.32.2 models/cache.py")
_HALF, _SINGLE, _TOKEN_ID = 2, 4, 8


def state_of_layer(trace: Trace, config: Sourced, kept: Kept) -> Expression | None:
    """State of one sequence in one layer: recurrence in f32, convolution in 16 bit."""
    figure = state_bytes(((kept, 1),))
    if not figure:
        return None
    cache, _, states = kept
    trace.about(Topic.STATE)
    single = trace.given("state_element_bytes", _SINGLE, Unit.BYTES, _CACHE)
    parts = []

    def size(name: str, value: int) -> Expression:
        return trace.given(name, value, Unit.ELEMENTS, config)

    if isinstance(cache, CompressedCache) and cache.state_elements:
        parts.append(size("compressor_elements", cache.state_elements) * single)
    for state in states:
        if state.recurrent_elements:
            heads = trace.given("state_heads", state.recurrent_heads, Unit.HEADS, config)
            rows = size("state_rows", state.recurrent_rows)
            parts.append(heads * rows * size("state_columns", state.recurrent_columns) * single)
        if state.conv_elements:
            half = trace.given("conv_element_bytes", _HALF, Unit.BYTES, _CACHE)
            channels = size("conv_channels", state.conv_channels)
            parts.append(channels * size("conv_rows", state.conv_rows) * half)
        if state.token_history:
            ids = trace.given("history_tokens", state.token_history, Unit.TOKENS, config)
            parts.append(ids * _TOKEN_ID)
    return trace.follows("state_row", add(parts), Unit.BYTES, _CACHE, figure=figure)
