"""LFM3 (`Lfm3ForCausalLM`): short convolutions between full and sliding attention."""

from functools import cache

from service.core.architecture.blocks.attention import (
    Gate,
    GroupedQuery,
    QueryKeyNorm,
    attention_tensors,
    key_value_cache,
)
from service.core.architecture.blocks.feed_forward import dense
from service.core.architecture.blocks.primitives import embeddings, norm
from service.core.architecture.blocks.short_conv import short_conv_state, short_conv_tensors
from service.core.architecture.caches import Reach
from service.core.architecture.common import read_common
from service.core.architecture.config import Config
from service.core.architecture.families._decoder import per_layer, share_tensors, width_dimensions
from service.core.architecture.families._plain import pre_norm
from service.core.architecture.model import Architecture, FeedForward, Layer, LayerKind, ParallelDimension


def _attention(config: Config) -> GroupedQuery:
    """Norms on queries and keys, one gate value a head."""
    return GroupedQuery(
        hidden=config.integer("hidden_size"),
        heads=config.integer("num_attention_heads"),
        kv_heads=config.integer("num_key_value_heads"),
        head_dim=config.integer("head_dim"),
        norm=QueryKeyNorm.PER_HEAD,
        gate=Gate.PER_HEAD if config.flag("use_attention_gate") else Gate.NONE,
    )


def _layer(config: Config, kind: str) -> Layer:
    """One layer by its layer type; sandwich norms follow mixer and MLP."""
    hidden, width = config.integer("hidden_size"), config.integer("intermediate_size")
    after = dense(hidden, width)
    if config.flag("use_sandwich_norm"):
        after = (*after, norm("post_attention_norm", hidden), norm("post_ffw_norm", hidden))
    if kind == "conv":
        kernel = config.integer("conv_L_cache")
        mixer = short_conv_tensors(hidden, kernel, bias=config.flag("conv_bias"))
        tensors, state = pre_norm(hidden, mixer, after), short_conv_state(hidden, kernel)
        return Layer(LayerKind.SHORT_CONV, FeedForward.DENSE, tensors, states=(state,))
    attention = _attention(config)
    tensors = pre_norm(hidden, attention_tensors(attention), after)
    if kind == "sliding_attention":
        kept = key_value_cache(attention, Reach.SLIDING, config.integer("sliding_window"))
        return Layer(LayerKind.SLIDING, FeedForward.DENSE, tensors, kept)
    return Layer(LayerKind.FULL, FeedForward.DENSE, tensors, key_value_cache(attention))


def parse(config: Config) -> Architecture:
    """LFM3; llama.cpp has no such architecture yet."""
    common = read_common(config, tied_by_default=True)
    make = cache(lambda kind: _layer(config, kind))
    kinds = per_layer(config, "layer_types", config.strings("layer_types"))
    return common.architecture(
        None,
        embeddings(common.vocabulary, common.hidden, tied=common.tied),
        share_tensors([make(kind) for kind in kinds[: common.layers]]),
        (*width_dimensions(common.dense_width, None), ParallelDimension("conv_channels", common.hidden)),
    )


PARSERS = {"Lfm3ForCausalLM": parse}
