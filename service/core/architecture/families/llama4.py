"""Llama 4: chunked attention with a global layer without positions every fourth, one shared expert."""

from dataclasses import replace

from service.core.architecture.blocks.attention import GroupedQuery, attention_tensors
from service.core.architecture.blocks.feed_forward import dense, moe
from service.core.architecture.blocks.primitives import embeddings
from service.core.architecture.blocks.vision import llama4_tower
from service.core.architecture.caches import Reach
from service.core.architecture.common import (
    Common,
    layer_kinds,
    llama3_rope_factors,
    positive,
    read_common,
    width_dimension,
)
from service.core.architecture.config import Config
from service.core.architecture.families._plain import attention_layer, by_position, pre_norm
from service.core.architecture.model import Architecture, Experts, FeedForward, Layer


def parse_llama4(config: Config) -> Architecture:
    """use_qk_norm is a norm without parameters; the tower is absent from text-only configs."""
    common = read_common(config)
    width = positive(config, "intermediate_size")
    experts = Experts(
        positive(config, "num_local_experts"),
        positive(config, "num_experts_per_tok"),
        width,
        shared_count=1,
        shared_width=width,
    )
    dense_width = positive(config, "intermediate_size_mlp")
    layers = _layers(common, experts, dense_width)
    has_dense = any(layer.feed_forward is FeedForward.DENSE for layer in layers)
    arch = common.architecture(
        "llama4",
        (
            *embeddings(common.vocabulary, common.hidden, tied=common.tied),
            *llama3_rope_factors(config, common.head_dim),
        ),
        layers,
        (
            *width_dimension("expert_width", width),
            *width_dimension("dense_width", dense_width if has_dense else 0),
        ),
    )
    vision = llama4_tower(config.vision, common.hidden) if config.vision else ()
    return replace(arch, experts=experts, dense_width=dense_width, vision=vision)


def _layers(common: Common, experts: Experts, dense_width: int) -> tuple[Layer, ...]:
    """Experts every interleave_moe_layer_step-th layer, full attention every no_rope_layer_interval-th."""
    config = common.config
    biased = config.flag("attention_bias")
    shape = GroupedQuery(
        common.hidden,
        common.heads,
        common.kv_heads,
        common.head_dim,
        qkv_bias=biased,
        output_bias=biased,
    )
    mixer = attention_tensors(shape)
    blocks = {
        FeedForward.MOE: pre_norm(common.hidden, mixer, moe(common.hidden, experts)),
        FeedForward.DENSE: pre_norm(common.hidden, mixer, dense(common.hidden, dense_width)),
    }
    chunk = positive(config, "attention_chunk_size")
    kinds = {
        (after, window): attention_layer(shape, tensors, after, window, Reach.CHUNKED)
        for after, tensors in blocks.items()
        for window in (None, chunk)
    }
    step = positive(config, "interleave_moe_layer_step", default=1)
    interval = positive(config, "no_rope_layer_interval", default=4)
    reach = layer_kinds(config, common.layers, interval, "full_attention", "chunked_attention")
    return by_position(
        common.layers,
        lambda index: kinds[
            FeedForward.DENSE if (index + 1) % step else FeedForward.MOE,
            None if reach[index] == "full_attention" else chunk,
        ],
    )


PARSERS = {"Llama4ForConditionalGeneration": parse_llama4, "Llama4ForCausalLM": parse_llama4}
