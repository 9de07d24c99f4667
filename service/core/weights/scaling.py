"""Spreading a published total over the tensors of a recipe that it replaces."""

from collections.abc import Sequence
from dataclasses import replace

from service.core.weights.table import Weighed

_FIXED = frozenset({"f32", "i32", "i64"})


def scaled_to(total_bytes: int, tensors: Sequence[Weighed]) -> tuple[Weighed, ...]:
    """The same tensors with bytes in the same proportions that sum to the total exactly.

    Every tensor is rounded down, so that alike layers stay alike. The bytes that this leaves over, fewer than
    there are tensors, go to the largest of which there is one. 32-bit tensors keep their bytes, as no
    quantizer touches them, unless they alone exceed the total.
    """
    fixed = sum(weighed.all_bytes for weighed in tensors if weighed.encoding in _FIXED)
    kept = _FIXED if fixed < total_bytes else frozenset()
    wanted = total_bytes - (fixed if kept else 0)
    free = [number for number, weighed in enumerate(tensors) if weighed.encoding not in kept]
    present = sum(tensors[number].all_bytes for number in free)
    if not present:
        return tuple(tensors)
    scaled = list(tensors)
    for number in free:
        one = tensors[number]
        scaled[number] = Weighed(one.tensor, one.layers, one.bytes * wanted // present, one.encoding)
    left = wanted - sum(scaled[number].all_bytes for number in free)
    largest = max(free, key=lambda number: (scaled[number].count == 1, scaled[number].bytes))
    scaled[largest : largest + 1] = _with(left, scaled[largest])
    return tuple(scaled)


def _with(left: int, weighed: Weighed) -> list[Weighed]:
    """A tensor with so many bytes more; of one that several layers have, the first layer's."""
    first = replace(weighed, layers=weighed.layers[:1], bytes=weighed.bytes + left)
    return [first, replace(weighed, layers=weighed.layers[1:])] if weighed.count > 1 else [first]
