"""Mistral Large 4: MLA whose late layers share a latent, without rotation in every fourth layer."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from service.core.architecture.blocks.indexer import Indexer, index_cache, indexer_tensors
from service.core.architecture.blocks.latent import LatentAttention, latent_cache, latent_tensors
from service.core.architecture.blocks.primitives import norm, vector
from service.core.architecture.blocks.vision import pixtral_tower
from service.core.architecture.common import positive
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
from service.core.architecture.families.deepseek_v3 import latent_architecture
from service.core.architecture.model import Architecture, FeedForward, Layer, LayerKind
from service.core.architecture.tensors import Split, Tensor, TensorClass

_NO_CORRECTION = None


def _attention(config: Config, *, rotated: bool, owner: bool) -> LatentAttention:
    """MLA without a query rank; a layer without rotation has as wide a key in its latent alone."""
    rotation = config.integer("qk_rope_head_dim")
    shape = replace(read_latent_attention(config), owns_latent=owner)
    return shape if rotated else replace(shape, rope_dim=0, nope_dim=shape.nope_dim + rotation)


def _scaling(role: str, heads: int, part: TensorClass, split: Split) -> tuple[Tensor, Tensor]:
    """Scale and bias of each head's softmax."""
    scale = vector(f"{role}.weight", heads, part, split)
    return scale, vector(f"{role}.bias", heads, part, split)


def _indexer(config: Config) -> Indexer:
    """Queries come from the normed hidden state, as the attention has no query latent."""
    hidden = config.integer("hidden_size")
    return Indexer(
        hidden=hidden,
        query_width=hidden,
        heads=config.integer("index_n_heads"),
        head_dim=config.integer("index_head_dim"),
        top_tokens=config.integer("index_topk"),
    )


def _indexer_tensors(shape: Indexer) -> tuple[Tensor, ...]:
    """The lightning indexer with a norm before its queries and a scale for each head."""
    return (
        *indexer_tensors(shape),
        norm("indexer.q_norm", shape.hidden),
        vector("indexer.q_norm.bias", shape.hidden, TensorClass.NORM),
        *_scaling("indexer.scale", shape.heads, TensorClass.INDEXER, Split.REPLICATED),
    )


def _layer(config: Config, *, rotated: bool, owner: bool, indexed: bool, sparse: bool) -> Layer:
    """One layer; one that reads an earlier latent keeps none, but keys of its own index if it runs one."""
    shape = _attention(config, rotated=rotated, owner=owner)
    scaling = _scaling("attn_scale", shape.heads, TensorClass.ATTENTION, Split.SHARDED)
    mixer, index = (*latent_tensors(shape), *scaling), None
    if indexed:
        indexer = _indexer(config)
        mixer, index = (*mixer, *_indexer_tensors(indexer)), index_cache(indexer)
    width, experts = config.integer("intermediate_size"), read_experts(config)
    after = feed_forward(shape.hidden, width, experts, sparse=sparse, router=_NO_CORRECTION)
    kind = LayerKind.LATENT_INDEXED if indexed else LayerKind.LATENT
    return Layer(
        kind if owner else LayerKind.SHARED_KV,
        FeedForward.MOE if sparse else FeedForward.DENSE,
        pre_norm(shape.hidden, mixer, after),
        latent_cache(shape),
        index,
    )


def _flags(config: Config, count: int) -> Sequence[tuple[bool, bool, bool, bool]]:
    """(rotated, owner, indexed, sparse) of every layer."""
    rotated = per_layer(config, "no_rope_layers", config.integers("no_rope_layers") or [1] * count)
    sources = per_layer(config, "kv_source_layers", config.integers("kv_source_layers") or range(count))
    indexers = per_layer(config, "indexer_types", config.strings("indexer_types") or ["full"] * count)
    return [
        (bool(rotated[i]), sources[i] == i, indexers[i] == "full", is_sparse(config, i)) for i in range(count)
    ]


def parse(config: Config) -> Architecture:
    """Mistral Large 4."""

    @cache
    def make(rotated: bool, owner: bool, indexed: bool, sparse: bool) -> Layer:
        return _layer(config, rotated=rotated, owner=owner, indexed=indexed, sparse=sparse)

    layers = tuple(make(*flags) for flags in _flags(config, layer_count(config)))
    base = latent_architecture(config, "mistral-large4", layers, (), assumed=True)
    vision, merge = config.vision, positive(config, "spatial_merge_size", default=1)
    tower = () if vision is None else pixtral_tower(vision, base.hidden_size, merge, projector_bias=False)
    return replace(base, vision=tower)


PARSERS = {"MistralLarge4ForConditionalGeneration": parse}
