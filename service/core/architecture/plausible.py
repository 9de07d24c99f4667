"""Whether an architecture read from a posted config could exist."""

from collections.abc import Iterator

from service.core.architecture.caches import KeyValueCache
from service.core.architecture.field_limits import MOST_PARAMETERS
from service.core.architecture.model import Architecture, Layer
from service.core.architecture.summary import total_parameters
from service.errors import UnsupportedArchitecture

_SIZES = ("hidden_size", "vocabulary", "max_context_tokens", "attention_heads", "kv_heads", "head_dim")
_MULTIPLIED = ("num_hidden_layers", "hidden_size", "intermediate_size", "vocab_size", "num_experts")


def check_plausible(architecture: Architecture) -> None:
    """Refuse an architecture without layers, with a size below one, or beyond any model's parameters.

    Raises UnsupportedArchitecture.
    """
    name = architecture.engine_class or architecture.model_type
    if not architecture.layers:
        raise UnsupportedArchitecture(name, ("num_hidden_layers",))
    below = [size for size in _SIZES if getattr(architecture, size) < 1]
    if below:
        raise UnsupportedArchitecture(name, below)
    experts = architecture.experts
    if experts and not 1 <= experts.per_token <= experts.count:
        raise UnsupportedArchitecture(name, ("num_experts_per_tok",))
    kinds = {id(layer): layer for layer in (*architecture.layers, *architecture.mtp)}.values()
    tensors = {*architecture.outer, *architecture.vision, *(t for layer in kinds for t in layer.tensors)}
    sizes = (size for tensor in tensors for size in tensor.shape)
    if not all(isinstance(size, int) and size > 0 for size in sizes):
        raise UnsupportedArchitecture(name)
    if not all(isinstance(size, int) and size >= 0 for layer in kinds for size in _kept(layer)):
        raise UnsupportedArchitecture(name)
    if total_parameters(architecture) > MOST_PARAMETERS:
        raise UnsupportedArchitecture(name, _MULTIPLIED)


def _kept(layer: Layer) -> Iterator[int]:
    """Every number that describes what a layer keeps; a window of 0 tokens counts as below zero."""
    for part in (layer.cache, layer.index, *layer.states):
        if isinstance(part, KeyValueCache) and part.window is not None and part.window < 1:
            yield -1
        for slot in part.__slots__ if part else ():
            value = getattr(part, slot)
            if isinstance(value, int | float):
                yield value  # type: ignore[misc]
