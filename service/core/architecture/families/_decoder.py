"""What the parsers of latent and hybrid models have in common: readings of config fields, dimensions."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from service.core.architecture.blocks.feed_forward import RouterShape, dense, moe
from service.core.architecture.blocks.latent import LatentAttention
from service.core.architecture.common import positive, read_common, width_dimension
from service.core.architecture.config import Config
from service.core.architecture.model import Experts, Layer, ParallelDimension
from service.core.architecture.tensors import Tensor
from service.errors import UnsupportedArchitecture

CORRECTED = RouterShape(correction_bias=True)


def layer_count(config: Config) -> int:
    """num_hidden_layers, within what any published model has."""
    return read_common(config).layers


def section(config: Config, name: str) -> Config:
    """A nested object of the config, read with the same checks; its absence is an error that names it."""
    nested = config.need(name)
    if not isinstance(nested, Mapping):
        raise UnsupportedArchitecture(config.engine_class, (name,))
    return Config({**nested, "architectures": [config.engine_class]})


def per_layer(config: Config, name: str, values: Sequence[Any] | None) -> Sequence[Any]:
    """`values` when they reach to the last layer; a list that is absent or short is an error."""
    if values is None or len(values) < layer_count(config):
        raise UnsupportedArchitecture(config.engine_class, (name,))
    return values


def share_tensors(layers: Sequence[Layer]) -> tuple[Layer, ...]:
    """The same layers, those with equal tensors sharing one tuple although their caches differ."""
    known: dict[tuple[Tensor, ...], tuple[Tensor, ...]] = {}
    shared: dict[int, Layer] = {}
    for layer in layers:
        if id(layer) not in shared:
            shared[id(layer)] = replace(layer, tensors=known.setdefault(layer.tensors, layer.tensors))
    return tuple(shared[id(layer)] for layer in layers)


def layer_type(config: Config, layer: int, default: str) -> str:
    """The published type of a layer; `default` behind the end of the list, where MTP layers may stand."""
    kinds = config.strings("layer_types") or ()
    return kinds[layer] if layer < len(kinds) else default


def read_experts(config: Config) -> Experts:
    """Routed and shared experts; shared experts have the width of a routed one."""
    width = positive(config, "moe_intermediate_size")
    shared = config.integer("n_shared_experts", "num_shared_experts", default=0)
    latent = config.get("routed_expert_hidden_size")
    return Experts(
        count=positive(config, "n_routed_experts", "num_experts"),
        per_token=positive(config, "num_experts_per_tok", "num_experts_per_token"),
        width=width,
        shared_count=shared,
        shared_width=width if shared else 0,
        latent_dim=None if latent is None else positive(config, "routed_expert_hidden_size"),
    )


def read_latent_attention(config: Config) -> LatentAttention:
    """MLA sizes; q_lora_rank null means queries in one step."""
    rank = config.get("q_lora_rank")
    return LatentAttention(
        hidden=positive(config, "hidden_size"),
        heads=positive(config, "num_attention_heads"),
        query_rank=None if rank is None else positive(config, "q_lora_rank"),
        latent_dim=positive(config, "kv_lora_rank"),
        rope_dim=config.integer("qk_rope_head_dim"),
        nope_dim=positive(config, "qk_nope_head_dim"),
        value_dim=positive(config, "v_head_dim"),
        output_gate=config.flag("mla_use_output_gate"),
    )


def is_sparse(config: Config, layer: int) -> bool:
    """Whether a layer has routed experts: dense layers first, then every moe_layer_freq-th is sparse."""
    kinds = config.strings("mlp_layer_types")
    if kinds is not None and layer < len(kinds):
        return kinds[layer] == "sparse"
    frequency = positive(config, "moe_layer_freq", default=1)
    return layer >= config.integer("first_k_dense_replace", default=0) and layer % frequency == 0


def feed_forward(
    hidden: int, dense_width: int, experts: Experts, *, sparse: bool, router: RouterShape | None = CORRECTED
) -> tuple[Tensor, ...]:
    """A dense gated MLP, or router, routed and shared experts."""
    return moe(hidden, experts, routing=router) if sparse else dense(hidden, dense_width)


def width_dimensions(dense_width: int, experts: Experts | None) -> tuple[ParallelDimension, ...]:
    """The widths that tensor parallelism divides: of dense MLPs, where there are any, and of experts."""
    expert = width_dimension("expert_width", experts.width) if experts else ()
    return (*width_dimension("dense_width", dense_width), *expert)
