"""The recurrent state of one layer and sequence."""

from service.core.architecture.caches import CompressedCache, StateKind
from service.core.architecture.model import Layer
from service.core.derivation.expressions import Expression, add
from service.core.derivation.facts import rule
from service.core.derivation.steps import Topic, Trace, Unit
from service.core.engines.llama_cpp.state import layer_state_bytes
from service.core.sizing import Sourced

_F32 = 4
_STATE = rule("llama.cpp src/llama-memory-recurrent.cpp: f32, one copy a sequence")


def state_of_layer(trace: Trace, config: Sourced, layer: Layer) -> Expression | None:
    """Bytes of one sequence in one layer; None without a state."""
    figure = layer_state_bytes(layer, 1)
    if not figure:
        return None
    trace.about(Topic.STATE)
    kind = str(layer.kind)

    def size(name: str, value: int) -> Expression:
        return trace.given(name, value, Unit.ELEMENTS, config, layer_kind=kind)

    elements = []
    for state in layer.states:
        # LFM's reference keeps all columns of the kernel, llama.cpp one fewer.
        kept = state.conv_rows - 1 if state.kind is StateKind.SHORT_CONV else state.conv_rows
        if state.conv_channels * kept:
            elements.append(size("conv_channels", state.conv_channels) * size("conv_rows", kept))
        if state.recurrent_elements:
            heads = trace.given("state_heads", state.recurrent_heads, Unit.HEADS, config, layer_kind=kind)
            rows = size("state_rows", state.recurrent_rows)
            elements.append(heads * rows * size("state_columns", state.recurrent_columns))
    if isinstance(layer.cache, CompressedCache) and layer.cache.state_elements:
        elements.append(size("compressor_elements", layer.cache.state_elements))
    width = trace.given("state_element_bytes", _F32, Unit.BYTES, _STATE)
    return trace.follows(
        "state_row", add(elements) * width, Unit.BYTES, _STATE, figure=figure, layer_kind=kind
    )
