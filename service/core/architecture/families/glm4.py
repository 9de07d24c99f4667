"""GLM-4-0414 dense: norms around both blocks, gate and up in one matrix."""

from service.core.architecture.blocks.attention import GroupedQuery, attention_tensors
from service.core.architecture.blocks.feed_forward import dense
from service.core.architecture.blocks.primitives import embeddings
from service.core.architecture.common import read_common, width_dimension
from service.core.architecture.config import Config
from service.core.architecture.families._plain import full_attention, sandwich_norm, uniform_layers
from service.core.architecture.model import Architecture, FeedForward


def parse_glm4(config: Config) -> Architecture:
    """attention_bias puts a bias on query, key and value, not on the output."""
    common = read_common(config)
    shape = GroupedQuery(
        common.hidden,
        common.heads,
        common.kv_heads,
        common.head_dim,
        qkv_bias=config.flag("attention_bias"),
    )
    after = dense(common.hidden, common.dense_width, fused=True)
    return common.architecture(
        "glm4",
        embeddings(common.vocabulary, common.hidden, tied=common.tied),
        uniform_layers(
            shape,
            sandwich_norm(common.hidden, attention_tensors(shape), after),
            FeedForward.DENSE,
            full_attention(common),
        ),
        width_dimension("dense_width", common.dense_width),
    )


PARSERS = {"Glm4ForCausalLM": parse_glm4}
