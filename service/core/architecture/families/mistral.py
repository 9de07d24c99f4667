"""Mistral, Mixtral, and Mistral Small 3 with its Pixtral tower."""

from collections.abc import Sequence
from dataclasses import replace

from service.core.architecture.blocks.attention import GroupedQuery, attention_tensors
from service.core.architecture.blocks.feed_forward import dense, moe
from service.core.architecture.blocks.primitives import embeddings
from service.core.architecture.blocks.vision import pixtral_tower
from service.core.architecture.common import Common, positive, read_common, width_dimension
from service.core.architecture.config import Config
from service.core.architecture.families._plain import full_attention, pre_norm, uniform_layers
from service.core.architecture.model import Architecture, Experts, FeedForward, ParallelDimension
from service.core.architecture.tensors import Tensor


def parse_mistral(config: Config) -> Architecture:
    """Dense layers, all of them sliding when sliding_window is set (Mistral 7B v0.1)."""
    common = read_common(config)
    after = dense(common.hidden, common.dense_width)
    dimension = width_dimension("dense_width", common.dense_width)
    return _decoder(common, after, FeedForward.DENSE, dimension)


def parse_mixtral(config: Config) -> Architecture:
    """Every layer routes to a few of num_local_experts; llama.cpp converts it as `llama`."""
    common = read_common(config)
    experts = Experts(
        positive(config, "num_local_experts"), positive(config, "num_experts_per_tok"), common.dense_width
    )
    after = moe(common.hidden, experts)
    dimension = width_dimension("expert_width", experts.width)
    return replace(_decoder(common, after, FeedForward.MOE, dimension), experts=experts)


def parse_mistral3(config: Config) -> Architecture:
    """Mistral's text model behind a Pixtral tower; llama.cpp converts it as `mistral3`."""
    arch = replace(parse_mistral(config), gguf_architecture="mistral3")
    if config.vision is None:
        return arch
    tower = pixtral_tower(
        config.vision,
        arch.hidden_size,
        positive(config, "spatial_merge_size", default=2),
        projector_bias=config.flag("multimodal_projector_bias"),
    )
    return replace(arch, vision=tower)


def _decoder(
    common: Common,
    after: Sequence[Tensor],
    feed_forward: FeedForward,
    dimensions: tuple[ParallelDimension, ...],
) -> Architecture:
    """Pre-norm layers with the given feed-forward and the config's window."""
    shape = GroupedQuery(common.hidden, common.heads, common.kv_heads, common.head_dim)
    tensors = pre_norm(common.hidden, attention_tensors(shape), after)
    window = common.config.get("sliding_window")
    windows = (
        full_attention(common)
        if window is None
        else (positive(common.config, "sliding_window"),) * common.layers
    )
    return common.architecture(
        "llama",
        embeddings(common.vocabulary, common.hidden, tied=common.tied),
        uniform_layers(shape, tensors, feed_forward, windows),
        dimensions,
    )


PARSERS = {
    "MistralForCausalLM": parse_mistral,
    "MixtralForCausalLM": parse_mixtral,
    "Mistral3ForConditionalGeneration": parse_mistral3,
}
