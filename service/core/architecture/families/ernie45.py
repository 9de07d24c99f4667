"""ERNIE 4.5 MoE: a few dense layers first, then routed and shared experts."""

from dataclasses import replace

from service.core.architecture.blocks.attention import GroupedQuery, attention_tensors
from service.core.architecture.blocks.feed_forward import RouterShape, dense, moe
from service.core.architecture.blocks.prediction import left_out_of_gguf, prediction_tensors
from service.core.architecture.blocks.primitives import embeddings
from service.core.architecture.common import layer_count, natural, positive, read_common, width_dimension
from service.core.architecture.config import Config
from service.core.architecture.families._plain import attention_layer, by_position, pre_norm
from service.core.architecture.model import Architecture, Experts, FeedForward


def parse_ernie_moe(config: Config) -> Architecture:
    """The draft layer is dense, and llama.cpp's converter drops it (conversion/ernie.py)."""
    common = read_common(config)
    hidden, biased = common.hidden, config.flag("use_bias")
    shape = GroupedQuery(
        hidden, common.heads, common.kv_heads, common.head_dim, qkv_bias=biased, output_bias=biased
    )
    experts = _experts(config)
    mixer = attention_tensors(shape)
    plain = pre_norm(hidden, mixer, dense(hidden, common.dense_width, bias=biased))
    routed = pre_norm(hidden, mixer, moe(hidden, experts, routing=RouterShape(correction_bias=True)))
    dense_layer = attention_layer(shape, plain, FeedForward.DENSE)
    moe_layer = attention_layer(shape, routed, FeedForward.MOE)
    layers = by_position(
        common.layers, lambda index: moe_layer if _routes(config, common.layers, index) else dense_layer
    )
    draft = left_out_of_gguf((*plain, *prediction_tensors(hidden, final_norm=False)))
    drafts = layer_count(config, "num_nextn_predict_layers", default=0)
    arch = common.architecture(
        "ernie4_5-moe",
        embeddings(common.vocabulary, hidden, tied=common.tied),
        layers,
        (
            *width_dimension("expert_width", experts.width),
            *width_dimension("dense_width", common.dense_width),
        ),
    )
    return replace(arch, experts=experts, mtp=(replace(dense_layer, tensors=draft),) * drafts)


def _experts(config: Config) -> Experts:
    """Shared experts have the width of a routed one."""
    shared = natural(config, "moe_num_shared_experts", default=0)
    width = positive(config, "moe_intermediate_size")
    return Experts(
        positive(config, "moe_num_experts"),
        positive(config, "moe_k"),
        width,
        shared_count=shared,
        shared_width=width if shared else 0,
    )


def _routes(config: Config, layers: int, index: int) -> bool:
    """Whether a layer has experts: every moe_layer_interval-th one from start to end (-1 = the last)."""
    first = config.integer("moe_layer_start_index", default=1)
    last = config.integer("moe_layer_end_index", default=-1)
    interval = positive(config, "moe_layer_interval", default=1)
    return first <= index <= (layers - 1 if last < 0 else last) and (index + 1) % interval == 0


PARSERS = {"Ernie4_5_MoeForCausalLM": parse_ernie_moe}
