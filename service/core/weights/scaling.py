"""Spreading a published total over the tensors of a recipe that it replaces."""

from collections.abc import Sequence
from dataclasses import replace

from service.core.weights.table import Weighed

_FIXED = frozenset({"f32", "i32", "i64"})


def scaled_to(total_bytes: int, tensors: Sequence[Weighed]) -> tuple[Weighed, ...]:
    """The same tensors with bytes in the same proportions that sum to the total exactly.

    32-bit tensors keep their bytes, as no quantizer touches them, unless they alone exceed the total.
    """
    fixed = sum(weighed.bytes for weighed in tensors if weighed.encoding in _FIXED)
    kept = _FIXED if fixed < total_bytes else frozenset()
    wanted = total_bytes - (fixed if kept else 0)
    present = sum(weighed.bytes for weighed in tensors if weighed.encoding not in kept)
    scaled, before, after = [], 0, 0
    for weighed in tensors:
        if weighed.encoding in kept:
            scaled.append(weighed)
            continue
        before += weighed.bytes
        until = before * wanted // present
        scaled.append(replace(weighed, bytes=until - after))
        after = until
    return tuple(scaled)
