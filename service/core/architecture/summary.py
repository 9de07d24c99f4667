"""Figures that follow from an Architecture alone: parameters by part, active parameters, 16-bit caches.

No engine is in these sums: a key or value takes two bytes, a recurrence four (f32), a window is exact.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby

from service.core.architecture.caches import (
    Cache,
    CompressedCache,
    IndexCache,
    IndexScheme,
    KeyValueCache,
    LatentCache,
    Reach,
    RecurrentState,
)
from service.core.architecture.model import Architecture, FeedForward, Layer, LayerKind
from service.core.architecture.tensors import Tensor, TensorClass

_HALF = 2
_SINGLE = 4
_TOKEN_ID = 8

# The reference implementation of these schemes keeps every key and pools when it scores.
_KEEPS_EVERY_KEY = {IndexScheme.QSA}


@dataclass(frozen=True, slots=True)
class LayerGroup:
    """Layers of one kind with the same cache: how many there are, and what one of them keeps."""

    kind: LayerKind
    feed_forward: FeedForward
    count: int
    cache: Cache | None
    index: IndexCache | None
    states: tuple[RecurrentState, ...]


def parameter_table(arch: Architecture) -> dict[TensorClass, int]:
    """Parameters of the published checkpoint by class, drafts and vision included; the sum is its total."""
    return _by_class(arch.checkpoint_tensors())


def text_parameter_table(arch: Architecture) -> dict[TensorClass, int]:
    """Parameters of the text model by class, without drafts and vision."""
    return _by_class(tensor for tensor in arch.text_tensors() if tensor.in_checkpoint)


def total_parameters(arch: Architecture) -> int:
    """Parameters of the published checkpoint."""
    published = ((arch.outer, 1), (arch.vision, 1), *_shared((*arch.layers, *arch.mtp)))
    return sum(count * sum(t.parameters for t in tensors if t.in_checkpoint) for tensors, count in published)


def _shared(layers: Iterable[Layer]) -> Iterable[tuple[tuple[Tensor, ...], int]]:
    """The tensors of layers that are alike, which share them, with the number of those layers."""
    counted: dict[int, tuple[tuple[Tensor, ...], int]] = {}
    for layer in layers:
        known = counted.get(id(layer.tensors), (layer.tensors, 0))
        counted[id(layer.tensors)] = (known[0], known[1] + 1)
    return counted.values()


def active_parameters(arch: Architecture) -> int:
    """Parameters that one token passes: all of the text model, of the routed experts the chosen ones.

    Both embedding matrices count; lookup tables, drafts, vision and unused projections do not.
    """
    share = Fraction(arch.experts.per_token, arch.experts.count) if arch.experts else Fraction(1)
    return int(
        sum(
            count * tensor.parameters * (share if tensor.tensor_class is TensorClass.ROUTED_EXPERTS else 1)
            for tensors, count in ((arch.outer, 1), *_shared(arch.layers))
            for tensor in tensors
            if tensor.in_checkpoint and tensor.active and tensor.tensor_class is not TensorClass.LOOKUP_TABLE
        )
    )


def read_parameters_per_token(arch: Architecture) -> int:
    """Parameters that a decode step reads: active ones without an untied input embedding (one row)."""
    return active_parameters(arch) - (0 if arch.tied else arch.vocabulary * arch.hidden_size)


def kv_bytes_per_token_16bit(arch: Architecture) -> int:
    """Bytes that the caches grow by for each token, all layers; index keys not included."""
    return int(sum(_growing_elements(layer.cache) for layer in arch.layers) * _HALF)


def indexer_bytes_per_token_16bit(arch: Architecture) -> int:
    """Bytes of index keys for each token, all layers, as the reference implementation keeps them."""
    return int(sum(_index_elements(layer.index) for layer in arch.layers) * _HALF)


def window_bytes_per_sequence_16bit(arch: Architecture) -> int:
    """Bytes of full windows and chunks of one sequence, all layers."""
    return sum(_window_elements(layer.cache) for layer in arch.layers) * _HALF


def state_bytes_per_sequence(arch: Architecture) -> int:
    """Bytes of recurrent state of one sequence: recurrence in f32, convolution history in 16 bit."""
    return sum(_state_bytes(layer) for layer in arch.layers)


def layer_groups(arch: Architecture) -> tuple[LayerGroup, ...]:
    """Layers of like kind, feed-forward and cache, in the order in which each kind first occurs."""
    counts: dict[tuple[object, ...], int] = {}
    first: dict[tuple[object, ...], Layer] = {}
    for key, run in groupby(arch.layers, key=_likeness):
        layers = list(run)
        counts[key] = counts.get(key, 0) + len(layers)
        first.setdefault(key, layers[0])
    return tuple(
        LayerGroup(layer.kind, layer.feed_forward, counts[key], layer.cache, layer.index, layer.states)
        for key, layer in first.items()
    )


def _likeness(layer: Layer) -> tuple[object, ...]:
    return (layer.kind, layer.feed_forward, layer.cache, layer.index, layer.states)


def _by_class(tensors: Iterator[Tensor]) -> dict[TensorClass, int]:
    table: dict[TensorClass, int] = {}
    for tensor in tensors:
        table[tensor.tensor_class] = table.get(tensor.tensor_class, 0) + tensor.parameters
    return table


def _growing_elements(cache: Cache | None) -> Fraction:
    """Elements that one layer adds for each token."""
    if isinstance(cache, KeyValueCache):
        grows = cache.reach is Reach.FULL
        return Fraction(cache.heads * (cache.key_dim + cache.value_dim) if grows else 0)
    if isinstance(cache, LatentCache):
        return Fraction(cache.latent_dim + cache.rope_dim)
    if isinstance(cache, CompressedCache) and cache.owner and cache.ratio:
        return Fraction(cache.latent_dim + cache.rope_dim, cache.ratio)
    return Fraction(0)


def _index_elements(index: IndexCache | None) -> Fraction:
    """Elements of index keys that one layer adds for each token."""
    if index is None:
        return Fraction(0)
    return Fraction(index.key_dim, 1 if index.scheme in _KEEPS_EVERY_KEY else index.tokens_per_key)


def _window_elements(cache: Cache | None) -> int:
    """Elements of one layer's full window."""
    if isinstance(cache, KeyValueCache) and cache.reach is not Reach.FULL:
        return cache.heads * (cache.key_dim + cache.value_dim) * (cache.window or 0)
    if isinstance(cache, CompressedCache):
        return (cache.latent_dim + cache.rope_dim) * cache.window
    return 0


def _state_bytes(layer: Layer) -> int:
    """Bytes of one layer's state and of a compressor that still gathers tokens."""
    compressor = layer.cache.state_elements if isinstance(layer.cache, CompressedCache) else 0
    return compressor * _SINGLE + sum(
        state.recurrent_elements * _SINGLE + state.conv_elements * _HALF + state.token_history * _TOKEN_ID
        for state in layer.states
    )
