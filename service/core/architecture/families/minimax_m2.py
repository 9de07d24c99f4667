"""MiniMax M2 and M2.5: norms over the full width of queries and keys, a corrected router."""

from dataclasses import replace

from service.core.architecture.blocks.attention import GroupedQuery, QueryKeyNorm, attention_tensors
from service.core.architecture.blocks.feed_forward import RouterShape, moe
from service.core.architecture.blocks.primitives import embeddings
from service.core.architecture.common import natural, positive, read_common, width_dimension
from service.core.architecture.config import Config
from service.core.architecture.families._plain import full_attention, pre_norm, uniform_layers
from service.core.architecture.model import Architecture, Experts, FeedForward
from service.errors import UnsupportedArchitecture

_NORMS = {"per_layer": QueryKeyNorm.FULL_WIDTH, "per_head": QueryKeyNorm.PER_HEAD}


def parse_minimax_m2(config: Config) -> Architecture:
    """intermediate_size is an expert's width; use_mtp is set although no draft layer is published."""
    common = read_common(config)
    published = config.get("qk_norm_type", default="per_layer")
    if not isinstance(published, str) or published not in _NORMS:
        raise UnsupportedArchitecture(config.engine_class, ("qk_norm_type",))
    kind = _NORMS[published]
    shape = GroupedQuery(
        common.hidden,
        common.heads,
        common.kv_heads,
        common.head_dim,
        qkv_bias=config.flag("attention_bias"),
        norm=kind if config.flag("use_qk_norm", default=True) else QueryKeyNorm.NONE,
    )
    shared = natural(config, "shared_intermediate_size", default=0)
    experts = Experts(
        positive(config, "num_local_experts"),
        positive(config, "num_experts_per_tok"),
        positive(config, "intermediate_size"),
        shared_count=1 if shared else 0,
        shared_width=shared,
    )
    routing = RouterShape(correction_bias=config.flag("use_routing_bias", default=True))
    tensors = pre_norm(common.hidden, attention_tensors(shape), moe(common.hidden, experts, routing=routing))
    arch = common.architecture(
        "minimax-m2",
        embeddings(common.vocabulary, common.hidden, tied=common.tied),
        uniform_layers(shape, tensors, FeedForward.MOE, full_attention(common)),
        width_dimension("expert_width", experts.width),
    )
    return replace(arch, experts=experts, dense_width=0)


PARSERS = {"MiniMaxM2ForCausalLM": parse_minimax_m2}
