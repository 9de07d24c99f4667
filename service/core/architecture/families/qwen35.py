"""Qwen3-Next and Qwen3.5 to 3.8: three Gated DeltaNet layers for each gated attention layer.

Layouts: transformers 5.24.0 models/qwen3_next, qwen3_5, qwen3_5_moe; llama.cpp src/models/qwen35.cpp.
"""

from collections.abc import Sequence
from dataclasses import replace

from service.core.architecture.blocks.attention import (
    Gate,
    GroupedQuery,
    QueryKeyNorm,
    attention_tensors,
    key_value_cache,
)
from service.core.architecture.blocks.delta import GatedDeltaNet, delta_state, delta_tensors
from service.core.architecture.blocks.feed_forward import dense, moe
from service.core.architecture.blocks.prediction import prediction_tensors
from service.core.architecture.blocks.primitives import embeddings
from service.core.architecture.blocks.vision import qwen_tower
from service.core.architecture.common import (
    Common,
    layer_count,
    layer_kinds,
    positive,
    read_common,
    width_dimension,
)
from service.core.architecture.config import Config
from service.core.architecture.families._plain import pre_norm
from service.core.architecture.families.qwen_moe import read_qwen_experts
from service.core.architecture.model import (
    Architecture,
    Experts,
    FeedForward,
    Layer,
    LayerKind,
    ParallelDimension,
)
from service.core.architecture.tensors import Tensor

# shared_expert_intermediate_size of the Qwen3-Next and Qwen3.5-MoE config classes, for configs without it.
_DEFAULT_SHARED_WIDTH = 512


def parse_qwen3_next(config: Config) -> Architecture:
    """Beta and decay of the DeltaNet come from one projection; no draft layer is published."""
    return _hybrid(config, "qwen3next", _experts(config), fused_beta=True)


def parse_qwen35(config: Config) -> Architecture:
    """Dense feed-forward."""
    return _hybrid(config, "qwen35", None)


def parse_qwen35_moe(config: Config) -> Architecture:
    """Routed experts and one gated shared expert."""
    return _hybrid(config, "qwen35moe", _experts(config))


def gated_attention(common: Common) -> GroupedQuery:
    """The query projection is twice as wide: its second half gates the output."""
    return GroupedQuery(
        common.hidden,
        common.heads,
        common.kv_heads,
        common.head_dim,
        qkv_bias=common.config.flag("attention_bias"),
        norm=QueryKeyNorm.PER_HEAD,
        gate=Gate.IN_QUERY if common.config.flag("attn_output_gate", default=True) else Gate.NONE,
    )


def read_delta(common: Common, *, fused_beta: bool = False, single: bool = False) -> GatedDeltaNet:
    """The DeltaNet's sizes."""
    config = common.config
    return GatedDeltaNet(
        common.hidden,
        positive(config, "linear_num_key_heads"),
        positive(config, "linear_num_value_heads"),
        positive(config, "linear_key_head_dim"),
        positive(config, "linear_value_head_dim"),
        positive(config, "linear_conv_kernel_dim"),
        fused_beta=fused_beta,
        single=single,
    )


def delta_dimensions(delta: GatedDeltaNet) -> tuple[ParallelDimension, ...]:
    """Key and value heads of the DeltaNet divide, none is copied."""
    return (
        ParallelDimension("linear_key_heads", delta.key_heads),
        ParallelDimension("linear_value_heads", delta.value_heads),
    )


def hybrid_kinds(config: Config, layers: int) -> tuple[str, ...]:
    """Every full_attention_interval-th layer is attention."""
    interval = positive(config, "full_attention_interval", default=4)
    return layer_kinds(config, layers, interval, "full_attention", "linear_attention")


def _experts(config: Config) -> Experts:
    return read_qwen_experts(config, shared_width=_DEFAULT_SHARED_WIDTH)


def _hybrid(config: Config, gguf: str, experts: Experts | None, *, fused_beta: bool = False) -> Architecture:
    """The two kinds of layers, each built once, then the draft layer and the tower."""
    common = read_common(config)
    shape, delta = gated_attention(common), read_delta(common, fused_beta=fused_beta, single=not fused_beta)
    after = _feed_forward(common, experts)
    kind = FeedForward.MOE if experts else FeedForward.DENSE
    block = pre_norm(common.hidden, attention_tensors(shape), after, "post_attention_norm")
    full = Layer(LayerKind.FULL, kind, block, key_value_cache(shape))
    linear = Layer(
        LayerKind.GATED_DELTA_NET,
        kind,
        pre_norm(common.hidden, delta_tensors(delta), after, "post_attention_norm"),
        states=(delta_state(delta),),
    )
    arch = common.architecture(
        gguf,
        embeddings(common.vocabulary, common.hidden, tied=common.tied),
        tuple(full if k == "full_attention" else linear for k in hybrid_kinds(config, common.layers)),
        (*delta_dimensions(delta), *_widths(common, experts)),
    )
    draft = replace(full, tensors=(*block, *prediction_tensors(common.hidden)))
    drafts = layer_count(config, "mtp_num_hidden_layers", default=0)
    vision = qwen_tower(config.vision) if config.vision else ()
    return replace(arch, experts=experts, mtp=(draft,) * drafts, vision=vision)


def _feed_forward(common: Common, experts: Experts | None) -> Sequence[Tensor]:
    """The same in every layer."""
    if experts is None:
        return dense(common.hidden, common.dense_width)
    return moe(common.hidden, experts, shared_gate=True)


def _widths(common: Common, experts: Experts | None) -> tuple[ParallelDimension, ...]:
    """Feed-forward widths; Qwen3-Next's intermediate_size is unused, as all layers have experts."""
    if experts is None:
        return width_dimension("dense_width", common.dense_width)
    return (
        *width_dimension("expert_width", experts.width),
        *width_dimension("shared_expert_width", experts.shared_width),
    )


PARSERS = {
    "Qwen3NextForCausalLM": parse_qwen3_next,
    "Qwen3_5ForConditionalGeneration": parse_qwen35,
    "Qwen3_5ForCausalLM": parse_qwen35,
    "Qwen3_5MoeForConditionalGeneration": parse_qwen35_moe,
    "Qwen3_5MoeForCausalLM": parse_qwen35_moe,
}
