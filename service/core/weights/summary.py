"""A weight table by layer, by place and by what tensor parallelism does: all that layouts ask of it."""

from dataclasses import dataclass, field

from service.core.architecture.tensors import Split, TensorClass
from service.core.identity import ByIdentity
from service.core.weights.table import Weighed, WeightTable

# Matrices of a vision tower are divided like those of the text model (--mm-encoder-tp-mode weights).
_SHARDED_VISION = frozenset({"vision.encoder", "vision.projector", "vision.adapter", "vision.audio.encoder"})
_LAST_STAGE = frozenset({TensorClass.OUTPUT, TensorClass.NORM})


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
        """Count one of these tensors."""
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

    layers: by number; those that are alike share their parts.
    lookup: tables of which a token reads a few rows, which engines may keep in host memory.
    sum: bytes of all tensors.
    """

    layers: dict[int, Parts] = field(default_factory=dict)
    first: Parts = field(default_factory=Parts)
    last: Parts = field(default_factory=Parts)
    embedding: Parts = field(default_factory=Parts)
    lookup: list[Weighed] = field(default_factory=list)
    sum: int = 0

    @property
    def end(self) -> int:
        """The number behind the last layer that has tensors."""
        return max(self.layers, default=-1) + 1

    def place(self, weighed: Weighed) -> Parts:
        """Where a tensor outside the layers is counted."""
        tensor_class = weighed.tensor.tensor_class
        if tensor_class is TensorClass.EMBEDDING:
            return self.embedding
        return self.last if tensor_class in _LAST_STAGE else self.first


def _summarise(table: WeightTable) -> Summary:
    summary = Summary(lookup=[found for found in table.tensors if _is_lookup(found)], sum=table.sum)
    for weighed in table.outside:
        if not _is_lookup(weighed):
            summary.place(weighed).add(weighed)
    for layers, tensors in table.kinds():
        parts = Parts()
        for weighed in tensors:
            if not _is_lookup(weighed):
                parts.add(weighed)
        summary.layers.update(dict.fromkeys(layers, parts))
    return summary


def _is_lookup(weighed: Weighed) -> bool:
    return weighed.tensor.tensor_class is TensorClass.LOOKUP_TABLE


summary_of = ByIdentity(_summarise)
