"""DeepSeek V4 attention: keys and values are one vector a token, compressed over tokens beside a window."""

from collections.abc import Iterator
from dataclasses import dataclass

from service.core.architecture.blocks.indexer import head_weights
from service.core.architecture.blocks.primitives import linear, norm, vector
from service.core.architecture.caches import CompressedCache, IndexCache, IndexScheme
from service.core.architecture.tensors import Dtype, Split, Tensor, TensorClass

_ATTENTION, _COMPRESSOR, _INDEXER = TensorClass.ATTENTION, TensorClass.COMPRESSOR, TensorClass.INDEXER


@dataclass(frozen=True, slots=True)
class CompressedAttention:
    """Sizes of one V4 mixer.

    ratio: tokens of one compressed entry, 0 when the layer has only the window. overlap: entries blend
    two neighbouring windows, so the compressor is twice as wide. owner: the layer compresses keys of
    its own. position_bias: learned bias inside a compression window (V4), absent in V4.1.
    """

    hidden: int
    heads: int
    head_dim: int
    rope_dim: int
    query_rank: int
    output_rank: int
    output_groups: int
    window: int
    ratio: int
    overlap: bool = False
    owner: bool = True
    position_bias: bool = True

    @property
    def halves(self) -> int:
        """Compressed series side by side: two when windows overlap."""
        return 2 if self.overlap else 1


@dataclass(frozen=True, slots=True)
class CompressedIndexer:
    """Sizes of the indexer over compressed entries.

    compresses: it has a compressor of its own (V4); else its key is projected from the latent (V4.1),
    by layers that own one (owner).
    """

    heads: int
    head_dim: int
    top_entries: int
    compresses: bool = True
    owner: bool = True


def compressed_tensors(shape: CompressedAttention) -> tuple[Tensor, ...]:
    """Every tensor of the mixer without an indexer, named as llama.cpp names them (deepseek4)."""
    grouped = shape.output_groups * shape.output_rank
    per_group = shape.heads * shape.head_dim // shape.output_groups
    tensors = (
        linear("attn_q_a", shape.query_rank, shape.hidden, _ATTENTION, Split.REPLICATED),
        norm("attn_q_a_norm", shape.query_rank),
        linear("attn_q_b", shape.heads * shape.head_dim, shape.query_rank, _ATTENTION),
        linear("attn_kv", shape.head_dim, shape.hidden, _ATTENTION, Split.REPLICATED),
        norm("attn_kv_a_norm", shape.head_dim),
        linear("attn_output_a", grouped, per_group, _ATTENTION),
        linear("attn_output_b", shape.hidden, grouped, _ATTENTION),
        vector("attn_sinks.weight", shape.heads, _ATTENTION, Split.SHARDED, Dtype.F32),
    )
    if not shape.ratio or not shape.owner:
        return tensors
    return (*tensors, *_compressor("attn_compressor", _COMPRESSOR, shape, shape.head_dim))


def compressed_indexer_tensors(shape: CompressedAttention, indexer: CompressedIndexer) -> tuple[Tensor, ...]:
    """The indexer of one layer; every rank keeps it whole."""
    rows = indexer.heads * indexer.head_dim
    tensors = (
        linear("indexer.attn_q_b", rows, shape.query_rank, _INDEXER, Split.REPLICATED),
        head_weights(shape.hidden, indexer.heads),
    )
    if indexer.compresses:
        return (*tensors, *_compressor("indexer_compressor", _INDEXER, shape, indexer.head_dim))
    if not indexer.owner:
        return tensors
    key = Tensor("indexer.attn_k.weight", (indexer.head_dim, shape.head_dim), _INDEXER)
    return (*tensors, key, norm("indexer.k_norm", indexer.head_dim))


def compressed_cache(shape: CompressedAttention, indexer: CompressedIndexer | None) -> CompressedCache:
    """Window, compressed entries and the f32 state of the running compressors.

    A compressor that pools keeps values and scores of a full window, both halves when windows overlap
    (vLLM 0.33.0 models/deepseek_v4/compressor.py, CompressorStateCache).
    """
    state = 0
    if shape.owner and shape.ratio > 1:
        width = shape.head_dim
        if indexer is not None and indexer.compresses:
            width += indexer.head_dim
        state = shape.halves**2 * shape.ratio * 2 * width
    latent = shape.head_dim - shape.rope_dim
    return CompressedCache(latent, shape.rope_dim, shape.ratio, shape.window, shape.owner, state)


def compressed_index(shape: CompressedAttention, indexer: CompressedIndexer) -> IndexCache | None:
    """One key for every compressed entry, where the layer owns entries."""
    if not shape.owner or not shape.ratio:
        return None
    top = indexer.top_entries * shape.ratio
    return IndexCache(IndexScheme.COMPRESSED, indexer.head_dim, shape.ratio, top)


def _compressor(role: str, part: TensorClass, shape: CompressedAttention, head_dim: int) -> Iterator[Tensor]:
    """Value and gate projections of a pooling compressor, its position bias and norm, at 16 or 32 bit."""
    width = shape.halves * head_dim
    yield Tensor(f"{role}_kv.weight", (width, shape.hidden), part)
    if shape.ratio > 1:
        yield Tensor(f"{role}_gate.weight", (width, shape.hidden), part)
    if shape.position_bias:
        yield Tensor(f"{role}_ape.weight", (shape.ratio, width), part, dtype=Dtype.F32)
    yield norm(f"{role}_norm", head_dim)
