"""Qwen2 and Qwen2.5: Llama's layers with biases on query, key and value."""

from service.core.architecture.blocks.attention import GroupedQuery, QueryKeyNorm, attention_tensors
from service.core.architecture.blocks.feed_forward import dense
from service.core.architecture.blocks.primitives import embeddings
from service.core.architecture.common import Common, natural, positive, read_common, width_dimension
from service.core.architecture.config import Config
from service.core.architecture.families._plain import (
    full_attention,
    pre_norm,
    uniform_layers,
    windows_of_kinds,
)
from service.core.architecture.model import Architecture, FeedForward


def parse_qwen2(config: Config) -> Architecture:
    """The biases have no config field."""
    common = read_common(config)
    shape = GroupedQuery(common.hidden, common.heads, common.kv_heads, common.head_dim, qkv_bias=True)
    return dense_decoder(common, "qwen2", shape)


def parse_qwen3(config: Config) -> Architecture:
    """Qwen3: a norm on every query and key head in place of the biases."""
    common = read_common(config)
    return dense_decoder(common, "qwen3", normed_attention(common))


def normed_attention(common: Common) -> GroupedQuery:
    """Qwen3's attention."""
    biased = common.config.flag("attention_bias", "qkv_bias")
    return GroupedQuery(
        common.hidden,
        common.heads,
        common.kv_heads,
        common.head_dim,
        qkv_bias=biased,
        output_bias=common.config.flag("attention_bias"),
        norm=QueryKeyNorm.PER_HEAD,
    )


def dense_decoder(common: Common, gguf: str, shape: GroupedQuery) -> Architecture:
    """A dense model with the given attention."""
    after = dense(common.hidden, common.dense_width)
    tensors = pre_norm(common.hidden, attention_tensors(shape), after)
    return common.architecture(
        gguf,
        embeddings(common.vocabulary, common.hidden, tied=common.tied),
        uniform_layers(shape, tensors, FeedForward.DENSE, windows(common)),
        width_dimension("dense_width", common.dense_width),
    )


def windows(common: Common) -> tuple[int | None, ...]:
    """sliding_window counts only with use_sliding_window, and then from layer max_window_layers on."""
    config = common.config
    if not config.flag("use_sliding_window") or config.get("sliding_window") is None:
        return full_attention(common)
    kinds = config.strings("layer_types")
    if kinds is not None:
        return tuple(windows_of_kinds(config, kinds))
    first = natural(config, "max_window_layers", default=common.layers)
    window = positive(config, "sliding_window")
    return tuple(window if index >= first else None for index in range(common.layers))


PARSERS = {"Qwen2ForCausalLM": parse_qwen2, "Qwen3ForCausalLM": parse_qwen3}
