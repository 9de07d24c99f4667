"""Hunyuan A13B: a shared expert and routed ones in every layer, published as one value a layer."""

from dataclasses import replace

from service.core.architecture.blocks.attention import GroupedQuery, QueryKeyNorm, attention_tensors
from service.core.architecture.blocks.feed_forward import moe
from service.core.architecture.blocks.primitives import embeddings
from service.core.architecture.common import positive, read_common, width_dimension
from service.core.architecture.config import Config
from service.core.architecture.families._plain import full_attention, pre_norm, uniform_layers
from service.core.architecture.model import Architecture, Experts, FeedForward
from service.errors import UnsupportedArchitecture


def parse_hunyuan_moe(config: Config) -> Architecture:
    """Layers that differ among themselves, or share keys across layers (use_cla), are refused."""
    if config.flag("use_cla"):
        raise UnsupportedArchitecture(config.engine_class, ("use_cla",))
    common = read_common(config)
    biased = config.flag("attention_bias")
    shape = GroupedQuery(
        common.hidden,
        common.heads,
        common.kv_heads,
        common.head_dim,
        qkv_bias=biased,
        output_bias=biased,
        norm=QueryKeyNorm.PER_HEAD if config.flag("use_qk_norm") else QueryKeyNorm.NONE,
    )
    experts = _experts(config, common.dense_width)
    tensors = pre_norm(common.hidden, attention_tensors(shape), moe(common.hidden, experts))
    arch = common.architecture(
        "hunyuan-moe",
        embeddings(common.vocabulary, common.hidden, tied=common.tied),
        uniform_layers(shape, tensors, FeedForward.MOE, full_attention(common)),
        (
            *width_dimension("expert_width", experts.width),
            *width_dimension("shared_expert_width", experts.shared_width),
        ),
    )
    return replace(arch, experts=experts)


def _experts(config: Config, dense_width: int) -> Experts:
    """use_mixed_mlp_moe adds num_shared_expert experts of intermediate_size."""
    shared = _same(config, "num_shared_expert") if config.flag("use_mixed_mlp_moe") else 0
    return Experts(
        _same(config, "num_experts"),
        _same(config, "moe_topk"),
        _same(config, "moe_intermediate_size"),
        shared_count=shared,
        shared_width=dense_width if shared else 0,
    )


def _same(config: Config, name: str) -> int:
    """A field that is one number, or a list that repeats it for every layer."""
    published = config.need(name)
    if not isinstance(published, list):
        return positive(config, name)
    values = set(config.integers(name) or ())
    if len(values) != 1 or min(values) <= 0:
        raise UnsupportedArchitecture(config.engine_class, (name,))
    return values.pop()


PARSERS = {"HunYuanMoEV1ForCausalLM": parse_hunyuan_moe}
