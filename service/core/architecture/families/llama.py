"""Llama 3 and models that publish its layout (MiniCPM, DeepSeek's distills)."""

from service.core.architecture.blocks.attention import GroupedQuery, attention_tensors
from service.core.architecture.blocks.feed_forward import dense
from service.core.architecture.blocks.primitives import embeddings
from service.core.architecture.common import Common, llama3_rope_factors, read_common, width_dimension
from service.core.architecture.config import Config
from service.core.architecture.families._plain import full_attention, pre_norm, uniform_layers
from service.core.architecture.model import Architecture, FeedForward


def parse_llama(config: Config) -> Architecture:
    """Pre-norm layers with full attention; biases where attention_bias or mlp_bias ask for them."""
    common = read_common(config)
    shape = grouped_query(common)
    after = dense(common.hidden, common.dense_width, bias=config.flag("mlp_bias"))
    tensors = pre_norm(common.hidden, attention_tensors(shape), after)
    return common.architecture(
        "llama",
        (
            *embeddings(common.vocabulary, common.hidden, tied=common.tied),
            *llama3_rope_factors(config, common.head_dim),
        ),
        uniform_layers(shape, tensors, FeedForward.DENSE, full_attention(common)),
        width_dimension("dense_width", common.dense_width),
    )


def grouped_query(common: Common) -> GroupedQuery:
    """Llama's attention: a bias on all four projections or on none."""
    biased = common.config.flag("attention_bias")
    return GroupedQuery(
        common.hidden,
        common.heads,
        common.kv_heads,
        common.head_dim,
        qkv_bias=biased,
        output_bias=biased,
    )


PARSERS = {"LlamaForCausalLM": parse_llama}
