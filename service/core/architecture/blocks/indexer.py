"""Indexers of sparse attention: small projections that choose which cached tokens a query reads."""

from collections.abc import Iterator
from dataclasses import dataclass

from service.core.architecture.blocks.primitives import linear, norm, vector
from service.core.architecture.caches import IndexCache, IndexScheme
from service.core.architecture.tensors import Dtype, Split, Tensor, TensorClass

_INDEXER = TensorClass.INDEXER


@dataclass(frozen=True, slots=True)
class Indexer:
    """Sizes of one lightning indexer (DeepSeek V3.2, GLM-5, GLM-5.3-Flash, Mistral Large 4).

    query_width: what its queries are projected from, the query rank or the hidden size.
    pool: tokens pooled into one key, 1 without pooling. own_key_norm: the key has a layer norm.
    """

    hidden: int
    query_width: int
    heads: int
    head_dim: int
    top_tokens: int
    pool: int = 1


def indexer_tensors(shape: Indexer) -> tuple[Tensor, ...]:
    """Query, key and head-weight projections with the key's layer norm; every rank keeps them whole.

    The head weights (`indexer.proj`) stay 16 bit in FP8 checkpoints, so they do not count as linear.
    """
    return (*_projections(shape), *_pooling(shape))


def index_cache(shape: Indexer) -> IndexCache:
    """One key a token, or one for `pool` tokens."""
    scheme = IndexScheme.DSA if shape.pool == 1 else IndexScheme.POOLED
    return IndexCache(scheme, shape.head_dim, shape.pool, shape.top_tokens)


def head_weights(hidden: int, heads: int) -> Tensor:
    """The projection that weighs the index heads, kept at 16 bit by every published FP8 checkpoint."""
    return Tensor("indexer.proj.weight", (heads, hidden), _INDEXER)


def _projections(shape: Indexer) -> Iterator[Tensor]:
    """What every lightning indexer has."""
    rows = shape.heads * shape.head_dim
    yield linear("indexer.attn_q_b", rows, shape.query_width, _INDEXER, Split.REPLICATED)
    yield linear("indexer.attn_k", shape.head_dim, shape.hidden, _INDEXER, Split.REPLICATED)
    yield norm("indexer.k_norm", shape.head_dim)
    yield vector("indexer.k_norm.bias", shape.head_dim, TensorClass.NORM)
    yield head_weights(shape.hidden, shape.heads)


def _pooling(shape: Indexer) -> Iterator[Tensor]:
    """The gate and the position bias that pool several keys into one."""
    if shape.pool == 1:
        return
    gate = (shape.head_dim, shape.hidden)
    yield Tensor("indexer_compressor_gate.weight", gate, _INDEXER)
    yield Tensor("indexer_compressor_ape.weight", (shape.pool, shape.head_dim), _INDEXER, dtype=Dtype.BF16)
