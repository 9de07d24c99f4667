"""Layers counted: parsers repeat one object for layers that are alike, so sums need few terms."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import accumulate
from typing import NamedTuple

from service.core.architecture.model import Architecture, Layer
from service.core.identity import ByIdentity

Counts = tuple[tuple[int, int], ...]


def _count(layers: Iterable[Layer]) -> list[tuple[Layer, int]]:
    counts: Counter[int] = Counter()
    examples: dict[int, Layer] = {}
    for layer in layers:
        counts[id(layer)] += 1
        examples.setdefault(id(layer), layer)
    return [(layer, counts[key]) for key, layer in examples.items()]


_counted: ByIdentity[Architecture, list[tuple[Layer, int]]] = ByIdentity(
    lambda architecture: _count(architecture.layers)
)


def counted(architecture: Architecture) -> list[tuple[Layer, int]]:
    """Each layer object of a model once, with how often it occurs, in the order of the first."""
    return _counted(architecture)


class Kinds(NamedTuple):
    """Layers by kind: one layer of each, and how many of each stand before every layer and after the last."""

    examples: tuple[Layer, ...]
    before: tuple[tuple[int, ...], ...]

    def among(self, layers: range) -> Counts:
        """How many of each kind are among these layers, kinds that do not occur left out."""
        return tuple(
            (kind, found)
            for kind, before in enumerate(self.before)
            if (found := before[layers.stop] - before[layers.start]) > 0
        )


def sort_kinds(layers: Iterable[Layer]) -> tuple[tuple[Layer, ...], tuple[int, ...]]:
    """One layer of each kind, and the kind of every layer; alike is what keeps the same for a sequence."""
    kinds: dict[object, int] = {}
    by_object: dict[int, int] = {}
    examples: list[Layer] = []
    numbers = []
    for layer in layers:
        if id(layer) not in by_object:
            key = (layer.cache, layer.index, layer.states, layer.index and layer.feed_forward)
            if key not in kinds:
                kinds[key] = len(examples)
                examples.append(layer)
            by_object[id(layer)] = kinds[key]
        numbers.append(by_object[id(layer)])
    return tuple(examples), tuple(numbers)


def file_layers(architecture: Architecture, count: int) -> tuple[Layer, ...]:
    """The layers of a file: beyond the model's own, prediction layers, whose context keeps no index."""
    if count <= len(architecture.layers):
        return architecture.layers
    drafting = (replace(layer, index=None) for layer in architecture.mtp)
    return (*architecture.layers, *drafting)[:count]


def _kinds(architecture: Architecture, count: int) -> Kinds:
    examples, numbers = sort_kinds(file_layers(architecture, count))
    before = (accumulate((number == kind for number in numbers), initial=0) for kind in range(len(examples)))
    return Kinds(examples, tuple(map(tuple, before)))


_sorted: ByIdentity[Architecture, int, Kinds] = ByIdentity(_kinds)


def kinds(architecture: Architecture, count: int) -> Kinds:
    """The kinds of a file with `count` layers."""
    return _sorted(architecture, count)
