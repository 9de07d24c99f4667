"""MiniMax M3: grouped-query attention that reads only the blocks an index of one key a token chooses."""

from dataclasses import replace
from functools import cache

from service.core.architecture.blocks.attention import (
    GroupedQuery,
    QueryKeyNorm,
    attention_tensors,
    key_value_cache,
)
from service.core.architecture.blocks.primitives import embeddings, linear, norm
from service.core.architecture.blocks.towers import minimax_tower
from service.core.architecture.caches import IndexCache, IndexScheme
from service.core.architecture.common import positive, read_common
from service.core.architecture.config import Config
from service.core.architecture.families._decoder import feed_forward, per_layer, section, width_dimensions
from service.core.architecture.families._native import mixed_format
from service.core.architecture.families._plain import pre_norm
from service.core.architecture.model import (
    Architecture,
    Experts,
    FeedForward,
    Layer,
    LayerKind,
)
from service.core.architecture.tensors import Split, Tensor, TensorClass


def _attention(config: Config) -> GroupedQuery:
    """Norms on queries and keys, one scale for all heads."""
    return GroupedQuery(
        hidden=config.integer("hidden_size"),
        heads=config.integer("num_attention_heads"),
        kv_heads=config.integer("num_key_value_heads"),
        head_dim=config.integer("head_dim"),
        norm=QueryKeyNorm.PER_HEAD if config.flag("use_qk_norm") else QueryKeyNorm.NONE,
    )


def _indexer(hidden: int, sparse: Config) -> tuple[Tensor, ...]:
    """Query and key projections with their norms; llama.cpp never quantizes the projections."""
    width, part = positive(sparse, "sparse_index_dim"), TensorClass.INDEXER
    rows = positive(sparse, "sparse_num_index_heads") * width
    return (
        linear("indexer.q_proj", rows, hidden, part, Split.REPLICATED),
        linear("indexer.k_proj", width, hidden, part, Split.REPLICATED),
        norm("indexer.q_norm", width),
        norm("indexer.k_norm", width),
    )


def _experts(config: Config) -> Experts:
    """Routed experts of intermediate_size, shared ones of shared_intermediate_size."""
    return Experts(
        count=config.integer("num_local_experts"),
        per_token=config.integer("num_experts_per_tok"),
        width=config.integer("intermediate_size"),
        shared_count=config.integer("n_shared_experts", default=0),
        shared_width=config.integer("shared_intermediate_size", default=0),
    )


def _layer(config: Config, *, indexed: bool, sparse: bool) -> Layer:
    """One layer; `indexed` ones read only the blocks their index chooses."""
    attention, choice = _attention(config), section(config, "sparse_attention_config")
    mixer, index = attention_tensors(attention), None
    if indexed:
        mixer = (*mixer, *_indexer(attention.hidden, choice))
        top = positive(choice, "sparse_topk_blocks") * positive(choice, "sparse_block_size")
        index = IndexCache(IndexScheme.MINIMAX, positive(choice, "sparse_index_dim"), 1, top)
    after = feed_forward(
        attention.hidden, config.integer("dense_intermediate_size"), _experts(config), sparse=sparse
    )
    return Layer(
        LayerKind.SPARSE if indexed else LayerKind.FULL,
        FeedForward.MOE if sparse else FeedForward.DENSE,
        pre_norm(attention.hidden, mixer, after),
        key_value_cache(attention),
        index,
    )


def parse(config: Config) -> Architecture:
    """MiniMax M3 and M3.1."""
    common, experts = read_common(config), _experts(config)
    choice = section(config, "sparse_attention_config")
    indexed = per_layer(config, "sparse_attention_freq", choice.integers("sparse_attention_freq"))
    sparse = per_layer(config, "moe_layer_freq", config.integers("moe_layer_freq"))
    make = cache(lambda chooses, routed: _layer(config, indexed=chooses, sparse=routed))
    width = positive(config, "dense_intermediate_size")
    projector = positive(config, "projector_hidden_size", default=common.hidden)
    base = common.architecture(
        "minimax-m3",
        embeddings(common.vocabulary, common.hidden, tied=common.tied),
        tuple(make(bool(indexed[i]), bool(sparse[i])) for i in range(common.layers)),
        width_dimensions(width, experts),
    )
    vision = config.vision
    return replace(
        base,
        dense_width=width,
        vision=() if vision is None else minimax_tower(vision, common.hidden, projector),
        experts=experts,
        native=mixed_format(config, assumed=True),
    )


PARSERS = {"MiniMaxM3SparseForConditionalGeneration": parse}
