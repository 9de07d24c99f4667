"""Qwen2-MoE and Qwen3-MoE: dense attention layers with routed experts."""

from dataclasses import replace

from service.core.architecture.blocks.attention import GroupedQuery, attention_tensors
from service.core.architecture.blocks.feed_forward import dense, moe
from service.core.architecture.blocks.primitives import embeddings
from service.core.architecture.common import Common, natural, positive, read_common, width_dimension
from service.core.architecture.config import Config
from service.core.architecture.families._plain import attention_layer, by_position, pre_norm
from service.core.architecture.families.qwen2 import normed_attention, windows
from service.core.architecture.model import Architecture, Experts, FeedForward


def parse_qwen3_moe(config: Config) -> Architecture:
    """128 or more experts in every layer, none of them shared."""
    common = read_common(config)
    return _decoder(common, "qwen3moe", normed_attention(common))


def parse_qwen2_moe(config: Config) -> Architecture:
    """Qwen2's biased attention; the shared expert has a gate of its own."""
    common = read_common(config)
    shape = GroupedQuery(common.hidden, common.heads, common.kv_heads, common.head_dim, qkv_bias=True)
    return _decoder(common, "qwen2moe", shape)


def read_qwen_experts(config: Config, *, shared_width: int = 0) -> Experts:
    """Routed experts and at most one shared one; shared_width: the class default when not published."""
    shared = natural(config, "shared_expert_intermediate_size", default=shared_width)
    return Experts(
        positive(config, "num_experts", "num_local_experts"),
        positive(config, "num_experts_per_tok"),
        positive(config, "moe_intermediate_size"),
        shared_count=1 if shared else 0,
        shared_width=shared,
    )


def routes(config: Config, index: int) -> bool:
    """Whether layer `index` has experts: every decoder_sparse_step-th one outside mlp_only_layers."""
    if index in (config.integers("mlp_only_layers") or ()):
        return False
    return (index + 1) % positive(config, "decoder_sparse_step", default=1) == 0


def _decoder(common: Common, gguf: str, shape: GroupedQuery) -> Architecture:
    """Layers of both kinds, each built once for every window."""
    config = common.config
    experts = read_qwen_experts(config)
    mixer = attention_tensors(shape)
    routed = pre_norm(common.hidden, mixer, moe(common.hidden, experts, shared_gate=True))
    plain = pre_norm(common.hidden, mixer, dense(common.hidden, common.dense_width or 1))
    reach = windows(common)
    kinds = {
        (sparse, window): attention_layer(
            shape,
            routed if sparse else plain,
            FeedForward.MOE if sparse else FeedForward.DENSE,
            window,
        )
        for sparse in (True, False)
        for window in set(reach)
    }
    layers = by_position(common.layers, lambda index: kinds[routes(config, index), reach[index]])
    has_dense = any(layer.feed_forward is FeedForward.DENSE for layer in layers)
    arch = common.architecture(
        gguf,
        embeddings(common.vocabulary, common.hidden, tied=common.tied),
        layers,
        (
            *width_dimension("expert_width", experts.width),
            *width_dimension("shared_expert_width", experts.shared_width),
            *width_dimension("dense_width", common.dense_width if has_dense else 0),
        ),
    )
    return replace(arch, experts=experts)


PARSERS = {"Qwen3MoeForCausalLM": parse_qwen3_moe, "Qwen2MoeForCausalLM": parse_qwen2_moe}
