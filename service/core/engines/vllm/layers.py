"""From the layers of an architecture to counted specs."""

from collections import Counter
from collections.abc import Iterable, Iterator

from service.core.architecture.caches import (
    Cache,
    CompressedCache,
    IndexCache,
    IndexScheme,
    KeyValueCache,
    LatentCache,
    Reach,
    RecurrentState,
)
from service.core.architecture.model import Layer
from service.core.engines.vllm.compressed import compressed_specs
from service.core.engines.vllm.dtypes import index_bytes, key_value_bytes, latent_bytes, shares_entries
from service.core.engines.vllm.specs import CacheConfig, Spec, SpecCounts, SpecKind
from service.core.engines.vllm.states import state_spec

Holding = tuple[Cache | None, IndexCache | None, tuple[RecurrentState, ...]]
Holdings = tuple[tuple[Holding, int], ...]

_REACH = {Reach.FULL: SpecKind.FULL, Reach.SLIDING: SpecKind.SLIDING, Reach.CHUNKED: SpecKind.CHUNKED}
# Raw keys of the tokens that are not pooled yet: tokens of the ring and bytes an element and token.
_RINGS = {IndexScheme.POOLED: 4, IndexScheme.QSA: 2}


def holdings(layers: Iterable[Layer]) -> Holdings:
    """What layers cache, equal layers counted together; layers that cache nothing are left out."""
    counted = Counter((layer.cache, layer.index, layer.states) for layer in layers)
    return tuple((held, count) for held, count in counted.items() if any(held))


def shared_entries(held: Holdings) -> bool:
    """Whether compressed entries are read across layers (V4.1); false without compressed caches."""
    ratios = [cache.ratio for (cache, _, _), _ in held if isinstance(cache, CompressedCache)]
    return bool(ratios) and shares_entries(ratios)


def sparse_latents(held: Holdings) -> bool:
    """Whether the model attends latents sparsely; then all its latent layers use the sparse backend."""
    return any(index is not None and isinstance(cache, LatentCache) for (cache, index, _), _ in held)


def spec_counts(held: Holdings, config: CacheConfig, block: int, page_bytes: int, shared: bool) -> SpecCounts:
    """Specs of all layers with how many layers have each.

    block: tokens of an attention block. page_bytes: the attention page that states are padded to.
    """
    counted: Counter[Spec] = Counter()
    sparse = sparse_latents(held)
    for (cache, index, states), layers in held:
        attention = (
            compressed_specs(cache, index, config, block, shared)
            if isinstance(cache, CompressedCache)
            else _attention(cache, index, config, block, sparse)
        )
        for spec in attention:
            counted[spec] += layers
        for state in states:
            counted[state_spec(state, config, page_bytes)] += layers
    return tuple(counted.items())


def heads_on_rank(heads: int, tensor_parallel: int) -> int:
    """KV heads of a rank: divided until one is left, then copied."""
    return max(1, heads // tensor_parallel)


def _attention(
    cache: Cache | None, index: IndexCache | None, config: CacheConfig, block: int, sparse: bool
) -> Iterator[Spec]:
    """The main cache of a layer, its index keys and the ring beside them."""
    main = _main(cache, config, block, sparse)
    if main is not None:
        yield main
    if index is not None:
        yield Spec(SpecKind.FULL, index_bytes(index), block, index.tokens_per_key, latent=True)
        yield from _ring(index, main)


def _main(cache: Cache | None, config: CacheConfig, block: int, sparse: bool) -> Spec | None:
    """Keys and values, or the latent."""
    if isinstance(cache, KeyValueCache):
        heads = heads_on_rank(cache.heads, config.tensor_parallel)
        entry = heads * key_value_bytes(cache, config.kv_dtype)
        return Spec(_REACH[cache.reach], entry, block, window=cache.window or 0)
    if isinstance(cache, LatentCache):
        entry = latent_bytes(cache, config.kv_dtype, config.generation, sparse)
        return Spec(SpecKind.FULL, entry, block, latent=True)
    return None


def _ring(index: IndexCache, main: Spec | None) -> Iterator[Spec]:
    """The ring of tokens that wait to be pooled into a key (one block of a request)."""
    if index.scheme in _RINGS:
        tokens = index.tokens_per_key
        yield Spec(SpecKind.RING, tokens * index.key_dim * _RINGS[index.scheme], tokens)
    elif index.scheme is IndexScheme.SUMMARY and main is not None:
        yield Spec(SpecKind.RING, main.page, main.block)
