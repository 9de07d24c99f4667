"""Command A: attention and MLP read the same norm; three sliding layers for each full one."""

from service.core.architecture.blocks.attention import GroupedQuery, attention_tensors
from service.core.architecture.blocks.feed_forward import dense
from service.core.architecture.blocks.primitives import embeddings, norm
from service.core.architecture.common import layer_kinds, positive, read_common, width_dimension
from service.core.architecture.config import Config
from service.core.architecture.families._plain import uniform_layers, windows_of_kinds
from service.core.architecture.model import Architecture, FeedForward


def parse_cohere2(config: Config) -> Architecture:
    """One norm a layer, because the two branches run in parallel; embeddings are tied by default."""
    common = read_common(config, tied_by_default=True)
    biased = config.flag("attention_bias")
    shape = GroupedQuery(
        common.hidden,
        common.heads,
        common.kv_heads,
        common.head_dim,
        qkv_bias=biased,
        output_bias=biased,
    )
    tensors = (
        norm("attn_norm", common.hidden),
        *attention_tensors(shape),
        *dense(common.hidden, common.dense_width),
    )
    pattern = positive(config, "sliding_window_pattern", default=4)
    kinds = layer_kinds(config, common.layers, pattern, "full_attention", "sliding_attention")
    return common.architecture(
        "cohere2",
        embeddings(common.vocabulary, common.hidden, tied=common.tied),
        uniform_layers(shape, tensors, FeedForward.DENSE, windows_of_kinds(config, kinds)),
        width_dimension("dense_width", common.dense_width),
    )


PARSERS = {"Cohere2ForCausalLM": parse_cohere2}
