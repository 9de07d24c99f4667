"""gpt-oss: sliding and full layers in turn, attention sinks, biased MXFP4 experts in every layer."""

from dataclasses import replace

from service.core.architecture.blocks.attention import GroupedQuery, attention_tensors
from service.core.architecture.blocks.feed_forward import RouterShape, moe
from service.core.architecture.blocks.primitives import embeddings
from service.core.architecture.common import layer_kinds, positive, read_common, width_dimension
from service.core.architecture.config import Config
from service.core.architecture.families._plain import pre_norm, uniform_layers, windows_of_kinds
from service.core.architecture.model import Architecture, Experts, FeedForward


def parse_gpt_oss(config: Config) -> Architecture:
    """Router, attention and experts have biases; intermediate_size is an expert's width."""
    common = read_common(config)
    biased = config.flag("attention_bias", default=True)
    shape = GroupedQuery(
        common.hidden,
        common.heads,
        common.kv_heads,
        common.head_dim,
        qkv_bias=biased,
        output_bias=biased,
        sinks=True,
    )
    experts = Experts(
        positive(config, "num_local_experts"),
        positive(config, "num_experts_per_tok", "experts_per_token"),
        positive(config, "intermediate_size"),
    )
    after = moe(common.hidden, experts, bias=True, routing=RouterShape(bias=True))
    tensors = pre_norm(common.hidden, attention_tensors(shape), after, "post_attention_norm")
    kinds = layer_kinds(config, common.layers, 2, "full_attention", "sliding_attention")
    arch = common.architecture(
        "gpt-oss",
        embeddings(common.vocabulary, common.hidden, tied=common.tied),
        uniform_layers(shape, tensors, FeedForward.MOE, windows_of_kinds(config, kinds)),
        width_dimension("expert_width", experts.width),
    )
    return replace(arch, experts=experts, dense_width=0)


PARSERS = {"GptOssForCausalLM": parse_gpt_oss}
