"""What one rank holds of the weights under tensor, expert, data and pipeline parallelism.

Sources: vLLM 0.33.0 model_executor/layers/linear.py (row and column parallel), config/model.py
get_num_kv_heads, model_executor/layers/vocab_parallel_embedding.py, fused_moe/config.py
(FusedMoEParallelConfig), distributed/utils.py get_pp_indices.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from service.core.architecture.caches import KeyValueCache
from service.core.architecture.model import Architecture
from service.core.architecture.tensors import Split, TensorClass
from service.core.identity import ByIdentity
from service.core.scenario import Layout
from service.core.units import ceil_div, pad
from service.core.weights.table import Weighed, WeightTable

VOCABULARY_PADDING = 64  # rows, times the degree; DEFAULT_VOCAB_PADDING_SIZE
# Matrices of a vision tower are divided like those of the text model (--mm-encoder-tp-mode weights).
_SHARDED_VISION = frozenset({"vision.encoder", "vision.projector", "vision.adapter", "vision.audio.encoder"})
_LAST_STAGE = frozenset({TensorClass.OUTPUT, TensorClass.NORM})


@dataclass(frozen=True, slots=True)
class Cut:
    """Bytes of which a rank holds ceil(bytes * share / of)."""

    split: Split
    bytes: int
    share: int = 1
    of: int = 1


@dataclass(slots=True)
class Parts:
    """Bytes of one layer, or of what stands outside the layers, by how they are split.

    by_heads: what is split by KV heads. vocabulary: rows and bytes of each table split by vocabulary.
    """

    sharded: int = 0
    by_heads: int = 0
    experts: int = 0
    replicated: int = 0
    vocabulary: list[tuple[int, int]] = field(default_factory=list)

    def add(self, weighed: Weighed) -> None:
        """Count one tensor."""
        split = weighed.tensor.split
        if split is Split.VOCABULARY:
            self.vocabulary.append((weighed.tensor.shape[0], weighed.bytes))
        elif split is Split.EXPERTS:
            self.experts += weighed.bytes
        elif split is Split.KV_HEADS:
            self.by_heads += weighed.bytes
        elif split is Split.SHARDED or weighed.tensor.role in _SHARDED_VISION:
            self.sharded += weighed.bytes
        else:
            self.replicated += weighed.bytes


@dataclass(slots=True)
class Summary:
    """A weight table by layer and place: `first` and `last` are the outer tensors of the end stages.

    lookup: tables of which a token reads a few rows, which engines may keep in host memory.
    sum: bytes of all tensors.
    """

    layers: dict[int, Parts] = field(default_factory=dict)
    first: Parts = field(default_factory=Parts)
    last: Parts = field(default_factory=Parts)
    embedding: Parts = field(default_factory=Parts)
    lookup: list[Weighed] = field(default_factory=list)
    sum: int = 0

    def place(self, weighed: Weighed) -> Parts:
        """Where a tensor is counted."""
        tensor_class = weighed.tensor.tensor_class
        if weighed.layer is not None:
            return self.layers.setdefault(weighed.layer, Parts())
        if tensor_class is TensorClass.EMBEDDING:
            return self.embedding
        return self.last if tensor_class in _LAST_STAGE else self.first


def _summarise(table: WeightTable) -> Summary:
    summary = Summary()
    for weighed in table.tensors:
        if weighed.tensor.tensor_class is TensorClass.LOOKUP_TABLE:
            summary.lookup.append(weighed)
        else:
            summary.place(weighed).add(weighed)
        summary.sum += weighed.bytes
    return summary


_summary = ByIdentity(_summarise)


def stage_layers(layers: int, stages: int) -> tuple[range, ...]:
    """Layers of each pipeline stage; what does not divide goes to the stages before the last.

    Source: vLLM 0.33.0 distributed/utils.py get_pp_indices.
    """
    sizes = [layers // stages] * stages
    for extra in range(layers % stages):
        sizes[-2 - extra] += 1
    starts = [sum(sizes[:stage]) for stage in range(stages)]
    return tuple(range(start, start + size) for start, size in zip(starts, sizes, strict=True))


def lookup_bytes(table: WeightTable, roles: frozenset[str]) -> int:
    """Bytes of the lookup tables with these roles, whole, as the table's total counts them."""
    summary = _summary(table)
    tables = sum(weighed.bytes for weighed in summary.lookup if weighed.tensor.role in roles)
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
    summary = _summary(table)
    split = _Split(architecture, layout)
    members = (_members(summary, architecture, layout, stage, hosted) for stage in range(layout.pipeline))
    ranks = [sum(split.rank(parts, layer) for parts, layer in stage) for stage in members]
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
    split = _Split(architecture, layout)
    members = _members(_summary(table), architecture, layout, stage, hosted)
    return tuple(cut for parts, layer in members for cut in split.cuts(parts, layer))


def _members(
    summary: Summary, architecture: Architecture, layout: Layout, stage: int, hosted: frozenset[str]
) -> Iterator[tuple[Parts, int | None]]:
    """What a stage holds, with the layer that it belongs to; drafting layers are on the last stage."""
    count = len(architecture.layers)
    drafting = range(count, max(summary.layers, default=0) + 1)
    layers = stage_layers(count, layout.pipeline)[stage]
    members = [*layers, *(drafting if stage == layout.pipeline - 1 else ())]
    yield from ((summary.layers[layer], layer) for layer in members if layer in summary.layers)
    yield from ((parts, None) for parts in _ends(summary, stage, layout, tied=architecture.tied))
    yield from ((parts, None) for parts in _tables(summary, stage, set(members), hosted))


def _ends(summary: Summary, stage: int, layout: Layout, *, tied: bool) -> Iterator[Parts]:
    """Outer tensors of a stage; a tied embedding is needed on both ends."""
    last = stage == layout.pipeline - 1
    if stage == 0:
        yield summary.first
    if stage == 0 or (last and tied):
        yield summary.embedding
    if last:
        yield summary.last


def _tables(summary: Summary, stage: int, members: set[int], hosted: frozenset[str]) -> Iterator[Parts]:
    """Lookup tables of a stage that stay on the GPU; those outside the layers belong to the first."""
    for weighed in summary.lookup:
        here = stage == 0 if weighed.layer is None else weighed.layer in members
        if here and weighed.tensor.role not in hosted:
            parts = Parts()
            parts.add(weighed)
            yield parts


class _Split:
    """The share of one rank under a layout."""

    def __init__(self, architecture: Architecture, layout: Layout) -> None:
        self._architecture = architecture
        self._tensor = layout.tensor
        # Without expert parallelism, experts are sharded over data-parallel ranks too.
        self._experts = layout.expert if layout.expert > 1 else layout.tensor * layout.data
        self._by_expert = layout.expert > 1

    def rank(self, parts: Parts, layer: int | None = None) -> int:
        """Bytes of one rank."""
        total = parts.replicated + ceil_div(parts.sharded, self._tensor)
        total += sum(self._vocabulary(rows, size) for rows, size in parts.vocabulary)
        if parts.by_heads:
            total += ceil_div(parts.by_heads, min(self._tensor, self._heads(layer)))
        return total + (self._expert_bytes(parts.experts) if parts.experts else 0)

    def cuts(self, parts: Parts, layer: int | None = None) -> Iterator[Cut]:
        """The same sum by sum, as `rank` adds them up."""
        yield Cut(Split.REPLICATED, parts.replicated)
        yield Cut(Split.SHARDED, parts.sharded, 1, self._tensor)
        yield Cut(Split.KV_HEADS, parts.by_heads, 1, min(self._tensor, self._heads(layer)))
        experts = self._architecture.experts
        if self._by_expert and experts is not None:
            yield Cut(Split.EXPERTS, parts.experts, ceil_div(experts.count, self._experts), experts.count)
        else:
            yield Cut(Split.EXPERTS, parts.experts, 1, self._experts)
        for rows, size in parts.vocabulary:
            padded = pad(rows, VOCABULARY_PADDING * self._tensor) if self._tensor > 1 else rows
            yield Cut(Split.VOCABULARY, size, padded, rows * self._tensor)

    def _heads(self, layer: int | None) -> int:
        """KV heads of a layer."""
        layers = self._architecture.layers
        cache = layers[layer].cache if layer is not None and layer < len(layers) else None
        return cache.heads if isinstance(cache, KeyValueCache) else max(1, self._architecture.kv_heads)

    def _expert_bytes(self, size: int) -> int:
        """Whole experts under expert parallelism, slices of every expert otherwise."""
        experts = self._architecture.experts
        if self._by_expert and experts is not None:
            return ceil_div(size * ceil_div(experts.count, self._experts), experts.count)
        return ceil_div(size, self._experts)

    def _vocabulary(self, rows: int, size: int) -> int:
        """Rows padded to a multiple of 64 on every rank."""
        if self._tensor == 1:
            return size
        padded = pad(rows, VOCABULARY_PADDING * self._tensor)
        return ceil_div(size * padded, rows * self._tensor)
