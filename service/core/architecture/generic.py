"""Any decoder by the usual names of its config fields, for architectures without a parser of their own.

A dense or mixture-of-experts decoder of pre-norm layers with grouped-query or latent attention. What such a
reading leaves out is said in `Architecture.remarks`, with the direction in which it errs.
"""

from dataclasses import replace

from service.core.architecture.blocks.attention import GroupedQuery, QueryKeyNorm, attention_tensors
from service.core.architecture.blocks.feed_forward import dense, moe
from service.core.architecture.blocks.latent import latent_cache, latent_tensors
from service.core.architecture.blocks.primitives import embeddings
from service.core.architecture.common import Common, natural, positive, read_common, width_dimension
from service.core.architecture.config import Config
from service.core.architecture.families._decoder import read_latent_attention
from service.core.architecture.families._plain import attention_layer, by_position, pre_norm
from service.core.architecture.field_names import language_model, usual_names
from service.core.architecture.generic_experts import read_experts, sparse_layers
from service.core.architecture.generic_reach import Window, windows
from service.core.architecture.model import Architecture, Experts, FeedForward, Layer, LayerKind
from service.core.architecture.tensors import Tensor
from service.core.architecture.unread import Direction, remarks
from service.core.notes import Note
from service.errors import UnsupportedArchitecture

GENERIC_SOURCE = "read by the usual names of config fields, without a rule of the architecture"

_NEEDED = ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size", "max_position_embeddings")
_LATENT = ("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
# Activations of MLPs with two matrices; gated ones have three (transformers 5.24.0, config defaults).
_UNGATED = frozenset({"relu", "relu2", "gelu_new", "gelu_fast", "gelu_python", "quick_gelu"})
_INNER_FACTOR = 4  # GPT-2 and its kin: the MLP is four times as wide as the model where no width is stated

Noticed = dict[str, Direction]


def parse_generic(published: Config) -> Architecture:
    """The architecture that the usual fields describe, marked `generic`.

    Raises UnsupportedArchitecture that names every missing field, or what makes it no decoder.
    """
    config = usual_names(language_model(published))
    _check(config)
    noticed: Noticed = {}
    architecture = _decoder(config, noticed)
    said = Note("architecture_generic", {"architecture": config.engine_class or config.model_type})
    return replace(architecture, generic=True, remarks=(said, *remarks(config, noticed)))


def _check(config: Config) -> None:
    name = config.engine_class or config.model_type
    if config.flag("is_encoder_decoder"):
        raise UnsupportedArchitecture(name, ("is_encoder_decoder",))
    latent = _LATENT if _is_latent(config) else ()
    missing = [wanted for wanted in (*_NEEDED, *latent) if config.get(wanted) is None]
    if missing:
        raise UnsupportedArchitecture(name, missing)


def _decoder(config: Config, noticed: Noticed) -> Architecture:
    common = read_common(config)
    if config.get("tie_word_embeddings") is None:
        noticed["tie_word_embeddings"] = Direction.TOO_LARGE
    experts = read_experts(config)
    sparse = sparse_layers(config, common.layers) if experts else (False,) * common.layers
    width = 0 if all(sparse) else _dense_width(common, noticed)
    reach = windows(config, common.layers, noticed)
    mlps = {kind: _feed_forward(common, experts if kind else None, width) for kind in set(sparse)}
    kinds = {(kind, window): _layer(common, *mlps[kind], window) for kind in mlps for window in set(reach)}
    architecture = common.architecture(
        None,
        embeddings(common.vocabulary, common.hidden, tied=common.tied),
        by_position(common.layers, lambda index: kinds[sparse[index], reach[index]]),
        (
            *width_dimension("dense_width", width),
            *width_dimension("expert_width", experts.width if experts else 0),
        ),
    )
    if _is_latent(config):
        head_dim = natural(config, "qk_nope_head_dim") + natural(config, "qk_rope_head_dim")
        architecture = replace(architecture, kv_heads=1, head_dim=head_dim)
    return replace(architecture, experts=experts, dense_width=width)


def _is_latent(config: Config) -> bool:
    return config.get("kv_lora_rank") is not None


def _dense_width(common: Common, noticed: Noticed) -> int:
    if common.config.get("intermediate_size") is None:
        noticed["intermediate_size"] = Direction.EITHER
    return positive(common.config, "intermediate_size", default=_INNER_FACTOR * common.hidden)


def _feed_forward(
    common: Common, experts: Experts | None, width: int
) -> tuple[FeedForward, tuple[Tensor, ...]]:
    """The MLP or the experts of a layer."""
    gated = _is_gated(common.config)
    if experts:
        return FeedForward.MOE, moe(common.hidden, experts, gated=gated)
    bias = common.config.flag("mlp_bias", "use_bias")
    return FeedForward.DENSE, dense(common.hidden, width, gated=gated, bias=bias)


def _is_gated(config: Config) -> bool:
    """Three matrices, unless the activation or an unstated width is that of the two of GPT-2 and its kin."""
    activation = config.get("hidden_act", "activation_function", "hidden_activation", "activation")
    stated = config.get("intermediate_size", "moe_intermediate_size") is not None
    return stated and not (isinstance(activation, str) and activation in _UNGATED)


def _layer(common: Common, kind: FeedForward, after: tuple[Tensor, ...], window: Window) -> Layer:
    """One layer with latent attention where the config has a latent rank, else with grouped queries."""
    if _is_latent(common.config):
        latent = read_latent_attention(common.config)
        tensors = pre_norm(common.hidden, latent_tensors(latent), after)
        return Layer(LayerKind.LATENT, kind, tensors, latent_cache(latent))
    shape = _grouped_query(common)
    tensors = pre_norm(common.hidden, attention_tensors(shape), after)
    return attention_layer(shape, tensors, kind, *window)


def _grouped_query(common: Common) -> GroupedQuery:
    config = common.config
    every = config.flag("attention_bias", "use_bias")
    value_dim = config.get("v_head_dim")
    return GroupedQuery(
        common.hidden,
        common.heads,
        common.kv_heads,
        common.head_dim,
        value_dim=None if value_dim is None else positive(config, "v_head_dim"),
        qkv_bias=every or config.flag("qkv_bias", "use_qkv_bias", "add_qkv_bias"),
        output_bias=every,
        norm=QueryKeyNorm.PER_HEAD if config.flag("use_qk_norm", "qk_norm") else QueryKeyNorm.NONE,
    )
