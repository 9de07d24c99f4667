"""Step-5: sliding layers, and full ones that choose regions of tokens by a summary key."""

from dataclasses import replace
from functools import cache

from service.core.architecture.blocks.primitives import linear, norm, vector
from service.core.architecture.caches import IndexCache, IndexScheme
from service.core.architecture.common import positive
from service.core.architecture.config import Config
from service.core.architecture.families._decoder import layer_count, layer_type, section
from service.core.architecture.families.step3 import (
    SLIDING,
    sparse_layers,
    step_architecture,
    step_layer,
)
from service.core.architecture.model import Architecture, Layer, LayerKind, ParallelDimension
from service.core.architecture.tensors import Dtype, Split, Tensor, TensorClass

_INDEXER = TensorClass.INDEXER
# The sparse kernel takes 4, 8 or 16 query heads for each KV head of a rank (vLLM 0.33.0, Step-5).
_FEWEST_QUERY_HEADS = 4


def _indexer(hidden: int, heads: int, sparse: Config) -> tuple[Tensor, ...]:
    """Query and key with norms, head weights, the compressor of regions, and the attention's log scale."""
    width, index_heads = positive(sparse, "proxy_dim"), positive(sparse, "sparse_indexer_num_heads")
    keys = positive(sparse, "sparse_indexer_num_k_heads") * width
    return (
        linear("indexer.q_proj", index_heads * width, hidden, _INDEXER, Split.REPLICATED),
        norm("indexer.q_norm", width, Dtype.F32),
        linear("indexer.k_proj", keys, hidden, _INDEXER, Split.REPLICATED),
        norm("indexer.k_norm", width, Dtype.F32),
        vector("indexer.k_norm.bias", width, TensorClass.NORM, dtype=Dtype.F32),
        Tensor("indexer.proj.weight", (index_heads, hidden), _INDEXER, dtype=Dtype.F32),
        linear("indexer.z_proj", keys, hidden, _INDEXER, Split.REPLICATED),
        vector("attn_ssmax.weight", heads, TensorClass.ATTENTION, Split.SHARDED, Dtype.F32),
    )


def _layer(config: Config, *, sliding: bool, sparse: bool) -> Layer:
    """One decoder layer; the layer types that the sparse config names have an index."""
    layer = step_layer(config, sliding=sliding, sparse=sparse)
    if sliding or config.get("sparse_config") is None:
        return layer
    choice = section(config, "sparse_config")
    if not choice.flag("enabled"):
        return layer
    region, width = positive(choice, "region_block_size"), positive(choice, "proxy_dim")
    heads = config.integer("num_attention_heads")
    return replace(
        layer,
        kind=LayerKind.SPARSE,
        tensors=(*layer.tensors, *_indexer(config.integer("hidden_size"), heads, choice)),
        index=IndexCache(IndexScheme.SUMMARY, width, region, positive(choice, "topk") * region),
    )


def parse(config: Config) -> Architecture:
    """Step-5; no llama.cpp architecture."""
    sparse = sparse_layers(config)
    make = cache(lambda sliding, routed: _layer(config, sliding=sliding, sparse=routed))
    kinds = [layer_type(config, i, "full_attention") for i in range(layer_count(config))]
    layers = tuple(make(kind == SLIDING, i in sparse) for i, kind in enumerate(kinds))
    base = step_architecture(config, None, layers)
    groups = ParallelDimension("query_head_groups", base.attention_heads // _FEWEST_QUERY_HEADS)
    return replace(base, parallel_dimensions=(*base.parallel_dimensions, groups))


PARSERS = {"Step5ForConditionalGeneration": parse}
