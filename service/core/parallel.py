"""What one rank holds of the weights under tensor, expert, data and pipeline parallelism.

Sources: vLLM 0.33.0 model_executor/layers/linear.py (row and column parallel), config/model.py
get_num_kv_heads, model_executor/layers/vocab_parallel_embedding.py, fused_moe/config.py
(FusedMoEParallelConfig), distributed/utils.py get_pp_indices.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, repeat

from service.core.architecture.caches import KeyValueCache
from service.core.architecture.model import Architecture
from service.core.architecture.tensors import Split
from service.core.identity import ByIdentity
from service.core.scenario import Layout
from service.core.units import ceil_div, pad
from service.core.weights.summary import Parts, Summary, summary_of
from service.core.weights.table import WeightTable

VOCABULARY_PADDING = 64  # rows, times the degree; DEFAULT_VOCAB_PADDING_SIZE


@dataclass(frozen=True, slots=True)
class Cut:
    """Bytes of which a rank holds ceil(bytes * share / of)."""

    split: Split
    bytes: int
    share: int = 1
    of: int = 1


@lru_cache(256)  # asked for once by each stage of a layout
def stage_layers(layers: int, stages: int) -> tuple[range, ...]:
    """Layers of each pipeline stage; what does not divide goes to the stages before the last.

    Source: vLLM 0.33.0 distributed/utils.py get_pp_indices.
    """
    sizes = [layers // stages] * stages
    for extra in range(layers % stages):
        sizes[-2 - extra] += 1
    ends = accumulate(sizes)
    return tuple(range(end - size, end) for end, size in zip(ends, sizes, strict=True))


def lookup_bytes(table: WeightTable, roles: frozenset[str]) -> int:
    """Bytes of the lookup tables with these roles, whole, as the table's total counts them."""
    summary = summary_of(table)
    tables = sum(weighed.all_bytes for weighed in summary.lookup if weighed.tensor.role in roles)
    return tables * table.total_bytes // summary.sum if summary.sum else tables


def stage_weights(
    table: WeightTable,
    architecture: Architecture,
    layout: Layout,
    *,
    hosted: frozenset[str] = frozenset(),
) -> tuple[int, ...]:
    """Bytes of weights on a rank of each pipeline stage, first stage first.

    hosted: roles of the lookup tables that the engine keeps in host memory, which no rank holds. One rank
    alone holds exactly the table's total, vocabulary unpadded.
    """
    summary, split = summary_of(table), _split(architecture, layout)
    before = _layers_before(table, split)
    ranks = []
    for stage in range(layout.pipeline):
        layers = _layers(summary, architecture, layout, stage)
        beside = _beside(summary, architecture, layout, stage, hosted)
        ranks.append(before[layers.stop] - before[layers.start] + sum(map(split.rank, beside)))
    if summary.sum == table.total_bytes:
        return tuple(ranks)
    return tuple(ceil_div(rank * table.total_bytes, max(1, summary.sum)) for rank in ranks)


def stage_cuts(
    table: WeightTable,
    architecture: Architecture,
    layout: Layout,
    stage: int,
    *,
    hosted: frozenset[str] = frozenset(),
) -> tuple[Cut, ...]:
    """What a rank of one stage holds, sum by sum: the terms behind `stage_weights`, arguments as there."""
    summary, split = summary_of(table), _split(architecture, layout)
    layers = [n for n in _layers(summary, architecture, layout, stage) if n in summary.layers]
    return (
        *(cut for layer in layers for cut in split.cuts(summary.layers[layer], layer)),
        *(
            cut
            for parts in _beside(summary, architecture, layout, stage, hosted)
            for cut in split.cuts(parts)
        ),
    )


def _layers(summary: Summary, architecture: Architecture, layout: Layout, stage: int) -> range:
    """Layers of a stage; drafting layers are on the last."""
    own = stage_layers(len(architecture.layers), layout.pipeline)[stage]
    return range(own.start, max(own.stop, summary.end)) if stage == layout.pipeline - 1 else own


def _beside(
    summary: Summary, architecture: Architecture, layout: Layout, stage: int, hosted: frozenset[str]
) -> Iterator[Parts]:
    """What a stage holds beside its layers."""
    yield from _ends(summary, stage, layout, tied=architecture.tied)
    if summary.lookup:
        yield from _tables(summary, stage, _layers(summary, architecture, layout, stage), hosted)


def _ends(summary: Summary, stage: int, layout: Layout, *, tied: bool) -> Iterator[Parts]:
    """Outer tensors of a stage; a tied embedding is needed on both ends."""
    last = stage == layout.pipeline - 1
    if stage == 0:
        yield summary.first
    if stage == 0 or (last and tied):
        yield summary.embedding
    if last:
        yield summary.last


def _tables(summary: Summary, stage: int, layers: range, hosted: frozenset[str]) -> Iterator[Parts]:
    """Lookup tables of a stage that stay on the GPU; those outside the layers belong to the first."""
    for weighed in summary.lookup:
        if weighed.tensor.role not in hosted:
            here = sum(layer in layers for layer in weighed.layers) if weighed.layers else stage == 0
            parts = Parts()
            parts.add(weighed)
            yield from repeat(parts, here)


@dataclass(frozen=True, slots=True)
class _Split:
    """The share of one rank under a layout.

    experts: ranks that share them; expert_count: of a model, None where every rank has a slice of each.
    heads: KV heads of each layer. other_heads: of what is in none of them.
    """

    tensor: int
    experts: int
    expert_count: int | None
    heads: tuple[int, ...]
    other_heads: int

    def rank(self, parts: Parts, layer: int | None = None) -> int:
        """Bytes of one rank."""
        total = parts.replicated + ceil_div(parts.sharded, self.tensor)
        total += sum(self._vocabulary(rows, size) for rows, size in parts.vocabulary)
        if parts.by_heads:
            total += ceil_div(parts.by_heads, min(self.tensor, self.heads_of(layer)))
        return total + (self._expert_bytes(parts.experts) if parts.experts else 0)

    def cuts(self, parts: Parts, layer: int | None = None) -> Iterator[Cut]:
        """The same sum by sum, as `rank` adds them up."""
        yield Cut(Split.REPLICATED, parts.replicated)
        yield Cut(Split.SHARDED, parts.sharded, 1, self.tensor)
        yield Cut(Split.KV_HEADS, parts.by_heads, 1, min(self.tensor, self.heads_of(layer)))
        count = self.expert_count
        if count is not None:
            yield Cut(Split.EXPERTS, parts.experts, ceil_div(count, self.experts), count)
        else:
            yield Cut(Split.EXPERTS, parts.experts, 1, self.experts)
        for rows, size in parts.vocabulary:
            padded = pad(rows, VOCABULARY_PADDING * self.tensor) if self.tensor > 1 else rows
            yield Cut(Split.VOCABULARY, size, padded, rows * self.tensor)

    def heads_of(self, layer: int | None) -> int:
        """KV heads of a layer."""
        return self.heads[layer] if layer is not None and layer < len(self.heads) else self.other_heads

    def _expert_bytes(self, size: int) -> int:
        """Whole experts under expert parallelism, slices of every expert otherwise."""
        count = self.expert_count
        if count is not None:
            return ceil_div(size * ceil_div(count, self.experts), count)
        return ceil_div(size, self.experts)

    def _vocabulary(self, rows: int, size: int) -> int:
        """Rows padded to a multiple of 64 on every rank."""
        if self.tensor == 1:
            return size
        padded = pad(rows, VOCABULARY_PADDING * self.tensor)
        return ceil_div(size * padded, rows * self.tensor)


def _split(architecture: Architecture, layout: Layout) -> _Split:
    whole = layout.expert > 1
    return _splits(
        architecture,
        layout.tensor,
        # Without expert parallelism, experts are sharded over data-parallel ranks too.
        layout.expert if whole else layout.tensor * layout.data,
        whole,
    )


def _split_of(architecture: Architecture, tensor: int, experts: int, whole: bool) -> _Split:
    other = max(1, architecture.kv_heads)
    caches = (layer.cache for layer in architecture.layers)
    return _Split(
        tensor,
        experts,
        architecture.experts.count if whole and architecture.experts is not None else None,
        tuple(cache.heads if isinstance(cache, KeyValueCache) else other for cache in caches),
        other,
    )


_splits = ByIdentity(_split_of)


def _sum_layers(table: WeightTable, split: _Split) -> tuple[int, ...]:
    """Bytes of a rank that holds the first n layers, n from 0."""
    summary = summary_of(table)
    known: dict[tuple[int, int], int] = {}  # layers that are alike share their parts, not always their heads

    def size(layer: int) -> int:
        parts = summary.layers.get(layer)
        if parts is None:
            return 0
        key = id(parts), split.heads_of(layer)
        if key not in known:
            known[key] = split.rank(parts, layer)
        return known[key]

    return tuple(accumulate(map(size, range(max(summary.end, len(split.heads)))), initial=0))


_layers_before = ByIdentity(_sum_layers)
