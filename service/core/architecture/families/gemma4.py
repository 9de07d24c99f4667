"""Gemma 4: local and global layers of different heads, shared caches, per-layer embeddings (E models).

Layout: transformers 5.24.0 models/gemma4; llama.cpp src/models/gemma4.cpp, conversion/gemma.py.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from service.core.architecture.blocks.attention import (
    GroupedQuery,
    QueryKeyNorm,
    attention_tensors,
    key_value_cache,
)
from service.core.architecture.blocks.feed_forward import dense, routed_experts, router
from service.core.architecture.blocks.primitives import embeddings, linear, norm, rope_factors, vector
from service.core.architecture.caches import Reach
from service.core.architecture.common import (
    Common,
    layer_kinds,
    natural,
    positive,
    read_common,
    width_dimension,
)
from service.core.architecture.config import Config
from service.core.architecture.families._gemma4_towers import towers
from service.core.architecture.families._plain import KIND_OF_REACH, sandwich_norm
from service.core.architecture.model import (
    Architecture,
    Experts,
    FeedForward,
    Layer,
    LayerKind,
    ParallelDimension,
)
from service.core.architecture.tensors import Split, Tensor, TensorClass


@dataclass(frozen=True, slots=True)
class _Outline:
    """What the layers of one model are built from."""

    common: Common
    experts: Experts | None
    local: GroupedQuery
    globe: GroupedQuery
    per_layer_width: int
    window: int


def parse_gemma4(config: Config) -> Architecture:
    """Keys serve as values in global layers with attention_k_eq_v, yet engines cache both."""
    common = read_common(config, tied_by_default=True)
    outline = _outline(common)
    layers = _layers(outline)
    arch = common.architecture(
        "gemma4",
        (*_outer(outline), rope_factors(outline.globe.head_dim // 2)),
        layers,
        (
            ParallelDimension("global_kv_heads", outline.globe.kv_heads, replicable=True),
            *width_dimension("dense_width", common.dense_width),
            *width_dimension("expert_width", outline.experts.width if outline.experts else 0),
        ),
    )
    return replace(arch, experts=outline.experts, vision=towers(config, common.hidden))


def _outline(common: Common) -> _Outline:
    """Sizes of both kinds of attention; without fields of their own, global layers use the local ones."""
    config = common.config
    biased = config.flag("attention_bias")
    local = GroupedQuery(
        common.hidden,
        common.heads,
        common.kv_heads,
        common.head_dim,
        qkv_bias=biased,
        output_bias=biased,
        norm=QueryKeyNorm.PER_HEAD,
    )
    shared = config.flag("attention_k_eq_v")
    kv_heads = positive(config, "num_global_key_value_heads", default=common.kv_heads)
    globe = replace(
        local,
        head_dim=positive(config, "global_head_dim", default=common.head_dim),
        kv_heads=kv_heads if shared else common.kv_heads,
        value_projection=not shared,
    )
    width = natural(config, "hidden_size_per_layer_input", default=0)
    return _Outline(common, _experts(config), local, globe, width, positive(config, "sliding_window"))


def _experts(config: Config) -> Experts | None:
    """Routed experts beside the dense MLP, only with enable_moe_block."""
    if not config.flag("enable_moe_block"):
        return None
    return Experts(
        positive(config, "num_experts"),
        positive(config, "top_k_experts", "num_experts_per_tok"),
        positive(config, "moe_intermediate_size", "expert_intermediate_size"),
    )


def _layers(outline: _Outline) -> tuple[Layer, ...]:
    """The last num_kv_shared_layers read an earlier cache; use_double_wide_mlp widens their MLP."""
    config, count = outline.common.config, outline.common.layers
    kinds = layer_kinds(config, count, 6, "full_attention", "sliding_attention")
    first_shared = count - natural(config, "num_kv_shared_layers", default=0)
    built: dict[tuple[bool, bool], Layer] = {}
    layers = []
    for index, kind in enumerate(kinds):
        key = (kind == "full_attention", index >= first_shared)
        if key not in built:
            built[key] = _layer(outline, full=key[0], shares=key[1])
        layers.append(built[key])
    return tuple(layers)


def _layer(outline: _Outline, *, full: bool, shares: bool) -> Layer:
    """One kind of layer; a sharing layer's own K/V projections are stored but never read."""
    common, shape = outline.common, outline.globe if full else outline.local
    wide = shares and common.config.flag("use_double_wide_mlp")
    after = (*dense(common.hidden, common.dense_width * (2 if wide else 1)), *_routed(outline))
    mixer = attention_tensors(replace(shape, unused_kv=shares))
    tensors = sandwich_norm(common.hidden, mixer, after, tuple(_scales(outline)))
    feed_forward = FeedForward.MOE if outline.experts else FeedForward.DENSE
    if shares:
        return Layer(LayerKind.SHARED_KV, feed_forward, tensors)
    reach = Reach.FULL if full else Reach.SLIDING
    cache = key_value_cache(shape, reach, None if full else outline.window)
    return Layer(KIND_OF_REACH[reach], feed_forward, tensors, cache)


def _routed(outline: _Outline) -> Iterator[Tensor]:
    """Router with two learned scales, fused experts, and three more norms."""
    experts, hidden = outline.experts, outline.common.hidden
    if experts is None:
        return
    yield from router(hidden, experts.count)
    yield vector("ffn_gate_inp.scale", hidden, TensorClass.ROUTER)
    yield vector("ffn_down_exps.scale", experts.count, TensorClass.ROUTER)
    yield from routed_experts(hidden, experts.count, experts.width, fused=True)
    for role in ("pre_ffw_norm_2", "post_ffw_norm_1", "post_ffw_norm_2"):
        yield norm(role, hidden)


def _scales(outline: _Outline) -> Iterator[Tensor]:
    """The layer's output scale, and the gate and projection of its per-layer embedding."""
    hidden, width = outline.common.hidden, outline.per_layer_width
    yield vector("layer_output_scale.weight", 1, TensorClass.NORM)
    if width:
        yield linear("inp_gate", width, hidden, TensorClass.OTHER, Split.REPLICATED)
        yield linear("proj", hidden, width, TensorClass.OTHER, Split.REPLICATED)
        yield norm("post_norm", hidden)


def _outer(outline: _Outline) -> tuple[Tensor, ...]:
    """Embedding and norm, and the per-layer table, of which a token reads one row."""
    common, width = outline.common, outline.common.layers * outline.per_layer_width
    outer = embeddings(common.vocabulary, common.hidden, tied=common.tied)
    if not width:
        return outer
    rows = positive(common.config, "vocab_size_per_layer_input", default=common.vocabulary)
    table = ("per_layer_token_embd.weight", (rows, width), TensorClass.LOOKUP_TABLE)
    return (
        *outer,
        Tensor(*table, Split.VOCABULARY, active=False),
        linear("per_layer_model_proj", width, common.hidden, TensorClass.OTHER, Split.REPLICATED),
        norm("per_layer_proj_norm", outline.per_layer_width),
    )


PARSERS = {
    "Gemma4ForConditionalGeneration": parse_gemma4,
    "Gemma4ForCausalLM": parse_gemma4,
    "Gemma4UnifiedForConditionalGeneration": parse_gemma4,
    "Gemma4UnifiedForCausalLM": parse_gemma4,
}
