"""Decoders whose layers differ at most in how far back they look and in their feed-forward."""

from collections.abc import Callable, Sequence

from service.core.architecture.blocks.attention import GroupedQuery, key_value_cache
from service.core.architecture.blocks.primitives import norm
from service.core.architecture.caches import Reach
from service.core.architecture.common import Common, positive
from service.core.architecture.config import Config
from service.core.architecture.model import FeedForward, Layer, LayerKind
from service.core.architecture.tensors import Tensor

KIND_OF_REACH = {
    Reach.FULL: LayerKind.FULL,
    Reach.SLIDING: LayerKind.SLIDING,
    Reach.CHUNKED: LayerKind.CHUNKED,
}


def attention_layer(
    shape: GroupedQuery,
    tensors: tuple[Tensor, ...],
    feed_forward: FeedForward,
    window: int | None = None,
    reach: Reach = Reach.SLIDING,
) -> Layer:
    """A layer with its own K/V cache; window: tokens that it sees, None when it sees all."""
    reach = Reach.FULL if window is None else reach
    cache = key_value_cache(shape, reach, window)
    return Layer(KIND_OF_REACH[reach], feed_forward, tensors, cache)


def pre_norm(
    hidden: int, mixer: Sequence[Tensor], after: Sequence[Tensor], second_norm: str = "ffn_norm"
) -> tuple[Tensor, ...]:
    """Norm, mixer, norm, feed-forward: the tensors of most decoder layers."""
    return (norm("attn_norm", hidden), *mixer, norm(second_norm, hidden), *after)


def sandwich_norm(
    hidden: int, mixer: Sequence[Tensor], after: Sequence[Tensor], extra: Sequence[Tensor] = ()
) -> tuple[Tensor, ...]:
    """A norm before and after both the mixer and the feed-forward (Gemma, GLM-4)."""
    return (
        norm("attn_norm", hidden),
        *mixer,
        norm("post_attention_norm", hidden),
        norm("ffn_norm", hidden),
        *after,
        norm("post_ffw_norm", hidden),
        *extra,
    )


def uniform_layers(
    shape: GroupedQuery,
    tensors: tuple[Tensor, ...],
    feed_forward: FeedForward,
    windows: Sequence[int | None],
    reach: Reach = Reach.SLIDING,
) -> tuple[Layer, ...]:
    """One layer for each entry of `windows`, all with the same tensors."""
    kinds = {w: attention_layer(shape, tensors, feed_forward, w, reach) for w in set(windows)}
    return tuple(kinds[window] for window in windows)


def full_attention(common: Common) -> tuple[None, ...]:
    """Windows of a model in which every layer sees all tokens."""
    return (None,) * common.layers


def windows_of_kinds(
    config: Config, kinds: Sequence[str], *, full: str = "full_attention"
) -> list[int | None]:
    """The window of each layer: sliding_window, or none where the layer's type is `full`."""
    return [None if kind == full else positive(config, "sliding_window") for kind in kinds]


def by_position(count: int, choose: Callable[[int], Layer]) -> tuple[Layer, ...]:
    """A layer for each position; `choose` returns ready layers, so that like positions share one."""
    return tuple(choose(index) for index in range(count))
