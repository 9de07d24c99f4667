"""Nemotron-H and Nemotron 3: one mixer a layer, which is Mamba-2, attention, an MLP or experts."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from service.core.architecture.blocks.attention import GroupedQuery, attention_tensors, key_value_cache
from service.core.architecture.blocks.feed_forward import dense, moe
from service.core.architecture.blocks.mamba import Mamba, mamba_state, mamba_tensors
from service.core.architecture.blocks.prediction import prediction_tensors
from service.core.architecture.blocks.primitives import embeddings, linear, norm
from service.core.architecture.common import positive, read_common
from service.core.architecture.config import Config
from service.core.architecture.families._decoder import CORRECTED, width_dimensions
from service.core.architecture.model import (
    Architecture,
    Experts,
    FeedForward,
    Layer,
    LayerKind,
    ParallelDimension,
)
from service.core.architecture.tensors import Split, Tensor, TensorClass
from service.errors import UnsupportedArchitecture

_MOST_LAYERS = 4096
_LETTERS = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}


def _attention(config: Config) -> GroupedQuery:
    """Plain grouped-query attention without rotation or biases."""
    return GroupedQuery(
        hidden=config.integer("hidden_size"),
        heads=config.integer("num_attention_heads"),
        kv_heads=config.integer("num_key_value_heads"),
        head_dim=config.integer("head_dim", "attention_head_dim"),
    )


def _mamba(config: Config) -> Mamba:
    """Mamba-2 sizes."""
    return Mamba(
        hidden=config.integer("hidden_size"),
        heads=config.integer("mamba_num_heads"),
        head_dim=config.integer("mamba_head_dim"),
        state_width=config.integer("ssm_state_size"),
        groups=positive(config, "n_groups"),
        conv_kernel=config.integer("conv_kernel"),
        conv_bias=config.flag("use_conv_bias", default=True),
        projection_bias=config.flag("mamba_proj_bias"),
    )


def _experts(config: Config) -> Experts | None:
    """Routed experts, in a latent where moe_latent_size is set; None in models without them."""
    count = config.integer("n_routed_experts", default=0)
    if not count:
        return None
    return Experts(
        count=count,
        per_token=config.integer("num_experts_per_tok"),
        width=config.integer("moe_intermediate_size"),
        shared_count=config.integer("n_shared_experts", default=0),
        shared_width=config.integer("moe_shared_expert_intermediate_size", default=0),
        latent_dim=config.get("moe_latent_size"),
    )


def _expert_tensors(config: Config) -> tuple[Tensor, ...]:
    """Router, experts without a gate (squared ReLU), and the projections to their latent.

    The router's f32 correction bias is not in the published parameter counts.
    """
    hidden, experts = config.integer("hidden_size"), _experts(config)
    if experts is None:
        raise UnsupportedArchitecture(config.engine_class, ("n_routed_experts",))
    tensors = tuple(
        replace(t, in_checkpoint=False) if t.role == "exp_probs_b.bias" else t
        for t in moe(hidden, experts, gated=False, routing=CORRECTED)
    )
    if experts.latent_dim is None:
        return tensors
    part = TensorClass.LATENT_PROJECTION
    down = linear("ffn_latent_down", experts.latent_dim, hidden, part, Split.REPLICATED)
    return (*tensors, down, linear("ffn_latent_up", hidden, experts.latent_dim, part, Split.REPLICATED))


def _layer(config: Config, mixer: str) -> Layer:
    """One layer: a norm and one mixer."""
    hidden = config.integer("hidden_size")
    before = norm("attn_norm", hidden)
    if mixer == "mamba":
        shape = _mamba(config)
        tensors = (before, *mamba_tensors(shape))
        return Layer(LayerKind.MAMBA2, FeedForward.NONE, tensors, states=(mamba_state(shape),))
    if mixer == "attention":
        attention = _attention(config)
        tensors = (before, *attention_tensors(attention))
        return Layer(LayerKind.FULL, FeedForward.NONE, tensors, key_value_cache(attention))
    if mixer == "moe":
        latent = config.get("moe_latent_size") is not None
        kind = FeedForward.LATENT_MOE if latent else FeedForward.MOE
        return Layer(LayerKind.FEED_FORWARD, kind, (before, *_expert_tensors(config)))
    tensors = (before, *dense(hidden, config.integer("intermediate_size"), gated=False))
    return Layer(LayerKind.FEED_FORWARD, FeedForward.DENSE, tensors)


def _mixers(config: Config) -> Sequence[str]:
    """The mixer of every layer, from layers_block_type or the letters of hybrid_override_pattern."""
    kinds = config.strings("layers_block_type")
    if kinds is None:
        kinds = [_LETTERS.get(letter, letter) for letter in str(config.need("hybrid_override_pattern"))]
    if not set(kinds) <= set(_LETTERS.values()) or len(kinds) > _MOST_LAYERS:
        raise UnsupportedArchitecture(config.engine_class, ("hybrid_override_pattern",))
    return kinds


def _prediction(config: Config) -> tuple[Layer, ...]:
    """MTP: attention and experts in one block, which the converter writes as one layer."""
    hidden, attention = config.integer("hidden_size"), _attention(config)
    count = config.integer("num_nextn_predict_layers", default=0)
    if not count:
        return ()
    tensors = (
        norm("attn_norm", hidden),
        *attention_tensors(attention),
        norm("post_attention_norm", hidden),
        *_expert_tensors(config),
        *prediction_tensors(hidden),
    )
    one = Layer(LayerKind.FULL, _layer(config, "moe").feed_forward, tensors, key_value_cache(attention))
    return (one,) * count


def parse(config: Config) -> Architecture:
    """Nemotron-H with any mix of layers."""
    mixers, experts = _mixers(config), _experts(config)
    common = replace(read_common(config), layers=len(mixers))
    make = cache(lambda mixer: _layer(config, mixer))
    width = common.dense_width if "mlp" in mixers else 0
    mamba_heads = ParallelDimension("mamba_heads", positive(config, "mamba_num_heads"))
    base = common.architecture(
        "nemotron_h_moe" if experts else "nemotron_h",
        embeddings(common.vocabulary, common.hidden, tied=common.tied),
        tuple(make(mixer) for mixer in mixers),
        (*width_dimensions(width, experts), mamba_heads),
    )
    state_dtype = config.get("mamba_ssm_cache_dtype")
    return replace(base, mtp=_prediction(config), experts=experts, state_dtype=state_dtype)


PARSERS = {"NemotronHForCausalLM": parse}
