"""Recurrent state, always f32 and allocated for every sequence (llama.cpp src/llama-memory-recurrent.cpp)."""

from service.core.architecture.caches import CompressedCache, RecurrentState, StateKind
from service.core.architecture.model import Architecture, Layer
from service.core.engines.llama_cpp.layers import counted

_F32 = 4


def layer_state_elements(layer: Layer) -> int:
    """f32 elements that one sequence keeps in the layer: convolution history, recurrence, V4's compressor."""
    elements = sum(_conv_elements(state) + state.recurrent_elements for state in layer.states)
    if isinstance(layer.cache, CompressedCache):
        elements += layer.cache.state_elements
    return elements


def _conv_elements(state: RecurrentState) -> int:
    """Columns of convolution history: one fewer than the kernel, where the reference of LFM keeps them all.

    llama_hparams::n_embd_r, src/llama-hparams.cpp (n_shortconv_l_cache - 1).
    """
    rows = state.conv_rows - 1 if state.kind is StateKind.SHORT_CONV else state.conv_rows
    return state.conv_channels * rows


def layer_state_bytes(layer: Layer, sequences: int, rollback: int = 0) -> int:
    """Bytes of one layer's state; `rollback` further copies where speculation can be undone (n_rs_seq)."""
    return layer_state_elements(layer) * _F32 * sequences * (1 + rollback)


def state_bytes(architecture: Architecture, sequences: int = 1, rollback: int = 0) -> int:
    """Bytes of the whole model's state for `-np sequences`, whatever the context."""
    return sum(
        layer_state_bytes(layer, sequences, rollback) * count for layer, count in counted(architecture)
    )
