"""Layers counted: parsers repeat one object for layers that are alike, so sums need few terms."""

from collections import Counter
from collections.abc import Iterable

from service.core.architecture.model import Layer


def counted(layers: Iterable[Layer]) -> list[tuple[Layer, int]]:
    """Each layer object once, with how often it occurs, in the order of the first."""
    counts: Counter[int] = Counter()
    examples: dict[int, Layer] = {}
    for layer in layers:
        counts[id(layer)] += 1
        examples.setdefault(id(layer), layer)
    return [(layer, counts[key]) for key, layer in examples.items()]


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
