"""GLM-5.3-Flash (`Glm5NextForConditionalGeneration`): KDA beside NoPE MLA whose index keys are pooled."""

from dataclasses import replace
from functools import cache

from service.core.architecture.blocks.hyper import hyper_connection
from service.core.architecture.blocks.indexer import index_cache, indexer_tensors
from service.core.architecture.blocks.kimi_delta import kimi_delta_state, kimi_delta_tensors
from service.core.architecture.blocks.latent import latent_cache, latent_tensors
from service.core.architecture.blocks.prediction import prediction_tensors
from service.core.architecture.blocks.towers import glm5_tower
from service.core.architecture.config import Config
from service.core.architecture.families._decoder import (
    feed_forward,
    is_sparse,
    layer_count,
    per_layer,
    read_experts,
    read_latent_attention,
)
from service.core.architecture.families._plain import pre_norm
from service.core.architecture.families.deepseek_v3 import latent_architecture, read_indexer
from service.core.architecture.families.kimi_linear import read_kimi_delta
from service.core.architecture.model import Architecture, FeedForward, Layer, LayerKind, ParallelDimension
from service.core.architecture.tensors import Tensor


def _after(config: Config, *, sparse: bool) -> tuple[Tensor, ...]:
    """The MLP or experts of a layer."""
    width = config.integer("intermediate_size")
    return feed_forward(config.integer("hidden_size"), width, read_experts(config), sparse=sparse)


def _layer(config: Config, *, linear: bool, indexed: bool, sparse: bool) -> Layer:
    """One layer between its hyper-connections: KDA when `linear`, else MLA."""
    block = _linear(config, sparse=sparse) if linear else _latent(config, indexed=indexed, sparse=sparse)
    if not config.flag("mhc"):
        return block
    hidden, streams = config.integer("hidden_size"), config.integer("hc_mult")
    mixes = (*hyper_connection("attn", hidden, streams), *hyper_connection("ffn", hidden, streams))
    return replace(block, tensors=(*block.tensors, *mixes))


def _linear(config: Config, *, sparse: bool) -> Layer:
    """A KDA layer."""
    delta, kind = read_kimi_delta(config), FeedForward.MOE if sparse else FeedForward.DENSE
    tensors = pre_norm(delta.hidden, kimi_delta_tensors(delta), _after(config, sparse=sparse))
    return Layer(LayerKind.KIMI_DELTA, kind, tensors, states=(kimi_delta_state(delta),))


def _latent(config: Config, *, indexed: bool, sparse: bool) -> Layer:
    """An MLA layer; its latent has no rotated part."""
    attention, kind = read_latent_attention(config), FeedForward.MOE if sparse else FeedForward.DENSE
    mixer, index = latent_tensors(attention), None
    if indexed:
        indexer = read_indexer(config)
        mixer, index = (*mixer, *indexer_tensors(indexer)), index_cache(indexer)
    tensors = pre_norm(attention.hidden, mixer, _after(config, sparse=sparse))
    mixes = LayerKind.LATENT_INDEXED if indexed else LayerKind.LATENT
    return Layer(mixes, kind, tensors, latent_cache(attention), index)


def _prediction(config: Config) -> tuple[Layer, ...]:
    """MTP: an MLA layer with experts, outside the hyper-connections."""
    layer = _latent(config, indexed=True, sparse=True)
    extra = prediction_tensors(config.integer("hidden_size"))
    one = replace(layer, tensors=(*layer.tensors, *extra))
    return (one,) * config.integer("num_nextn_predict_layers", default=0)


def parse(config: Config) -> Architecture:
    """GLM-5.3-Flash; layers are counted from 0 here."""
    kinds = per_layer(config, "layer_types", config.strings("layer_types"))
    indexers = per_layer(config, "indexer_types", config.strings("indexer_types"))

    @cache
    def make(linear: bool, indexed: bool, sparse: bool) -> Layer:
        return _layer(config, linear=linear, indexed=indexed, sparse=sparse)

    layers = tuple(
        make(kind == "linear_attention", indexers[i] == "full", is_sparse(config, i))
        for i, kind in enumerate(kinds[: layer_count(config)])
    )
    base = latent_architecture(config, "glm5-next", layers, _prediction(config), assumed=True)
    heads = ParallelDimension("linear_attention_heads", read_kimi_delta(config).heads)
    return replace(
        base,
        vision=() if config.vision is None else glm5_tower(config.vision),
        parallel_dimensions=(*base.parallel_dimensions, heads),
    )


PARSERS = {"Glm5NextForConditionalGeneration": parse}
