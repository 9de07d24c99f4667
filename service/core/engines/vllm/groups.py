"""KV cache groups: which layers share a block id, and what one block costs.

Source: vLLM 0.33.0 v1/core/kv_cache_planning.py get_kv_cache_groups and its helpers.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

from service.core.engines.vllm.specs import Spec, SpecCounts, SpecKind
from service.core.units import ceil_div, pad


@dataclass(frozen=True, slots=True)
class Group:
    """Layers that take blocks together; `spec` tells how many, `layers` is how many there are."""

    spec: Spec
    layers: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Grouping:
    """All groups of a rank; every block id stands for `bytes_per_block`, whichever group draws it."""

    groups: tuple[Group, ...]
    bytes_per_block: int
    packed: bool = False


def group_layers(specs: SpecCounts, packed: bool, slab_alignment: int = 1) -> Grouping:
    """The first rule that fits: one uniform type, packed slabs, or pages of one size.

    packed: the backends keep the block outermost. slab_alignment: what the slab is rounded to.
    """
    if not specs:
        return Grouping((), 0)
    buckets = _uniform_types(specs)
    if len(buckets) == 1 and buckets[0][0][0].kind is not SpecKind.STATE:
        group = _bucket_group(buckets[0])
        return Grouping((group,), group.bytes)
    unified = None if packed else _unify(specs)
    if unified is None:
        return _packed(buckets, slab_alignment)
    return _uniform_pages(unified)


Bucket = list[tuple[Spec, int]]


def _uniform_types(specs: SpecCounts) -> list[Bucket]:
    """Layers of one base class, block size and window; states and rings also by their own size."""
    buckets: dict[Hashable, Bucket] = defaultdict(list)
    for spec, count in specs:
        constant = spec.kind in (SpecKind.STATE, SpecKind.RING)
        latent = spec.latent and spec.kind is SpecKind.SLIDING
        key = (spec.kind, spec.block, spec.window, latent, spec.entry_bytes if constant else 0)
        buckets[key].append((spec, count))
    return list(buckets.values())


def _bucket_group(bucket: Bucket) -> Group:
    """A whole bucket as one group: pages add."""
    layers = sum(count for _, count in bucket)
    return Group(bucket[0][0], layers, sum(spec.page * count for spec, count in bucket))


def _split(count: int, parts: int) -> Iterable[int]:
    """Layer i goes to part i mod parts."""
    return (ceil_div(count - part, parts) for part in range(parts))


def _unify(specs: SpecCounts) -> Bucket | None:
    """Pages of one size: larger blocks for small pages, padding for the rest; None where MLA forbids it."""
    largest = max(spec.page for spec, _ in specs)
    unified: Bucket = []
    for spec, count in specs:
        if spec.page == largest:
            unified.append((spec, count))
        elif spec.block and largest % spec.page == 0:
            unified.append((replace(spec, block=spec.block * (largest // spec.page)), count))
        elif spec.latent:
            return None
        else:
            unified.append((replace(spec, padded=largest), count))
    return unified


def _uniform_pages(specs: Bucket) -> Grouping:
    """Groups of about the smallest bucket's size (`_get_kv_cache_groups_uniform_page_size`)."""
    counts = [count for _, count in specs]
    size = max(counts) if max(counts) < 1.5 * min(counts) else min(counts)
    groups = [
        Group(spec, layers, layers * spec.page)
        for spec, count in specs
        for layers in _split(count, ceil_div(count, size))
    ]
    return Grouping(tuple(groups), max(group.bytes for group in groups))


def _packed(buckets: Sequence[Bucket], slab_alignment: int) -> Grouping:
    """Slabs as wide as the widest group (`_get_packed_kv_cache_groups`)."""
    repeats = _repeats(buckets)
    whole = [_bucket_group(bucket) for bucket in buckets]
    groups: list[Group] = []
    for position, bucket in enumerate(buckets):
        others = [group.bytes for index, group in enumerate(whole) if index != position]
        groups += _split_bucket(bucket, repeats, max(others, default=whole[position].bytes))
    widest = max(group.bytes for group in groups)
    return Grouping(tuple(groups), pad(widest, slab_alignment), packed=True)


def _split_bucket(bucket: Bucket, repeats: int, anchor: int) -> list[Group]:
    """Balanced buckets split by the common repeat count, constant ones by the width of the widest other."""
    spec, layers = bucket[0]
    if spec.kind in (SpecKind.STATE, SpecKind.RING) or (spec.kind is SpecKind.SLIDING and not repeats):
        parts = ceil_div(layers, max(1, anchor // spec.page))
    elif repeats and _balanced(bucket):
        parts = ceil_div(layers, repeats)
    else:
        parts = 1
    if parts == 1:
        return [_bucket_group(bucket)]
    pages = sum(member.page for member, _ in bucket)
    return [Group(spec, part * len(bucket), part * pages) for part in _split(layers, parts)]


def _balanced(bucket: Bucket) -> bool:
    """Every page size occurs equally often."""
    return len({count for _, count in bucket}) == 1


def _repeats(buckets: Sequence[Bucket]) -> int:
    """The repeat count with the least padding, larger on ties; 0 when no balanced bucket mixes page sizes."""
    balanced = [
        bucket
        for bucket in buckets
        if _balanced(bucket) and bucket[0][0].kind not in (SpecKind.STATE, SpecKind.RING)
    ]
    mixed = [bucket[0][1] for bucket in balanced if len(bucket) > 1]
    if not mixed:
        return 0
    counts = [bucket[0][1] for bucket in balanced]
    candidates = range(max(mixed), max(counts) + 1)
    return min(candidates, key=lambda size: (sum(-count % size for count in counts), -size))
