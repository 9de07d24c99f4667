"""Bytes that one token costs on a rank, from the layers that it caches.

Source: SGLang 0.5.23 srt/model_executor/pool_configurator.py _compute_cell_size,
_compute_dsa_indexer_cell_size, HybridSWAPoolConfigurator.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from service.core.architecture.caches import (
    Cache,
    IndexCache,
    IndexScheme,
    KeyValueCache,
    LatentCache,
    Reach,
)
from service.core.architecture.kinds import Census
from service.core.architecture.model import Architecture, Layer, LayerKind
from service.core.engines.sglang.classes import EXCLUSIVE_WINDOW, UNDECLARED_DRAFTS, WINDOW_POOL
from service.core.engines.sglang.dtypes import (
    SPARSE_LATENT,
    element_bytes,
    has_index,
    index_bytes,
    key_value_bytes,
    latent_elements,
    packed_bytes,
)
from service.core.engines.sglang.flags import Flags
from service.core.identity import ByIdentity
from service.core.units import ceil_div

WINDOW_RATIO = 0.8  # --swa-full-tokens-ratio
EVICTION_INTERVAL = 128  # SGLANG_SWA_EVICTION_INTERVAL
_QUERY = "attn_q.weight"

Held = tuple[Cache | None, IndexCache | None]
Counted = Sequence[tuple[Held, int]]


@dataclass(frozen=True, slots=True)
class Cell:
    """Bytes of a token: in the pool of whole contexts, and in the pool of the windows.

    window: tokens that the longest window reaches back, 0 without a pool for windows.
    """

    full: int
    windows: int = 0
    window: int = 0

    @property
    def hybrid(self) -> bool:
        """Whether the windows have a pool of their own."""
        return self.windows > 0


def cell(architecture: Architecture, stage: range, flags: Flags) -> Cell:
    """The cell of the layers in `stage`, drafting layers included where they draft."""
    held = [pair for pair in _held(architecture).among(stage) if pair[0][0] is not None]
    drafts = drafting_layers(architecture) if flags.draft_tokens else 0
    if has_windows(architecture):
        return _hybrid(architecture, stage, held, drafts, flags)
    return Cell(_plain(architecture, held, drafts, flags))


def has_windows(architecture: Architecture) -> bool:
    """Whether sliding or chunked layers get their own pool; otherwise they cache whole contexts."""
    return architecture.engine_class in WINDOW_POOL and any(
        _is_window(cache) for (cache, _), _ in _held(architecture).counted
    )


def drafting_layers(architecture: Architecture) -> int:
    """Caching layers of the MTP module that the token budget knows of."""
    if architecture.engine_class in UNDECLARED_DRAFTS:
        return 0
    return sum(1 for layer in architecture.mtp if layer.cache is not None)


def _with_shared(architecture: Architecture) -> Census[Held]:
    """What each layer caches; a layer that shares an earlier one's cache still gets rows like it.

    Its kind follows from the width of its queries, which window and full layers have differently.
    """
    owners: dict[tuple[int, ...] | None, Held] = {}
    if all(layer.kind is not LayerKind.SHARED_KV for layer in architecture.layers):
        return Census([(layer.cache, layer.index) for layer in architecture.layers])
    for layer in architecture.layers:
        if layer.cache is not None:
            owners.setdefault(_query_shape(layer), (layer.cache, layer.index))
    return Census(
        [
            owners.get(_query_shape(layer), (None, None))
            if layer.kind is LayerKind.SHARED_KV
            else (layer.cache, layer.index)
            for layer in architecture.layers
        ]
    )


_held = ByIdentity(_with_shared)


def _query_shape(layer: Layer) -> tuple[int, ...] | None:
    return next((tensor.shape for tensor in layer.tensors if tensor.role == _QUERY), None)


def _is_window(cache: Cache | None) -> bool:
    return isinstance(cache, KeyValueCache) and cache.reach is not Reach.FULL


def _plain(architecture: Architecture, held: Counted, drafts: int, flags: Flags) -> int:
    """One pool for every layer; drafts cost as much as the target's average layer."""
    if flags.packed:
        return _packed(held, flags)
    main, index, layers = _main_bytes(architecture, held, flags), _index_bytes(held, flags), _number(held)
    if not has_index(architecture, SPARSE_LATENT):
        total = main + index
        return total + (int(total * drafts / layers) if drafts and layers else 0)
    # The index is copied to every rank of decode context parallelism, and drafts are not divided by it.
    copies = flags.decode_context
    total = main + index * copies
    if drafts and layers:
        own = next((index for (_, index), _ in held if index is not None), None)
        key = 0 if own is None else index_bytes(own, flags.kv_dtype, flags.generation)
        total += (int(main * drafts / layers) + key * drafts) * copies
    return total


def _number(held: Counted) -> int:
    return sum(count for _, count in held)


def _main_bytes(architecture: Architecture, held: Counted, flags: Flags) -> int:
    """Keys and values or latents of all layers, without index keys."""
    sparse = has_index(architecture, SPARSE_LATENT)
    counted: dict[KeyValueCache, int] = {}
    total = 0
    for (cache, _), count in held:
        if isinstance(cache, KeyValueCache):
            counted[cache] = counted.get(cache, 0) + count
        elif isinstance(cache, LatentCache):
            row = latent_elements(cache, flags.kv_dtype, flags.generation, architecture.engine_class, sparse)
            total += count * row * element_bytes(flags.kv_dtype)
    minimax = any(index is not None and index.scheme is IndexScheme.MINIMAX for (_, index), _ in held)
    ranks = flags.attention_parallel if minimax else max(1, flags.attention_parallel // flags.decode_context)
    return total + sum(
        key_value_bytes(cache, heads_on_rank(cache.heads, ranks), layers, flags.kv_dtype)
        for cache, layers in counted.items()
    )


def _index_bytes(held: Counted, flags: Flags) -> int:
    return sum(
        count * index_bytes(index, flags.kv_dtype, flags.generation)
        for (_, index), count in held
        if index is not None
    )


def _packed(held: Counted, flags: Flags) -> int:
    return sum(
        count * packed_bytes(cache, index, heads_on_rank(cache.heads, flags.attention_parallel))
        for (cache, index), count in held
        if isinstance(cache, KeyValueCache) and index is not None
    )


def _hybrid(architecture: Architecture, stage: range, held: Counted, drafts: int, flags: Flags) -> Cell:
    """Two pools; drafts are priced as the stage's last window layer."""
    full = windows = window = 0
    sizes: dict[Held, int] = {}
    for pair, count in held:
        cache = pair[0]
        if not isinstance(cache, KeyValueCache):
            continue
        heads = heads_on_rank(cache.heads, flags.attention_parallel)
        size = key_value_bytes(cache, heads, 1, flags.kv_dtype)
        if _is_window(cache):
            windows, sizes[pair] = windows + count * size, size
            window = max(window, cache.window or 0)
        else:
            full += count * size
    if architecture.engine_class in EXCLUSIVE_WINDOW:
        window = max(0, window - 1)
    if drafts:
        census = _held(architecture)
        last = (census.counted[number][0] for number in reversed(census.numbers[stage.start : stage.stop]))
        windows += drafts * next((sizes[pair] for pair in last if pair in sizes), 0)
    return Cell(full, windows, window)


def heads_on_rank(heads: int, ranks: int) -> int:
    """KV heads of a rank: divided until one is left, then copied."""
    return max(1, heads // ranks)


def request_cap(window: int, requests: int, flags: Flags) -> int:
    """Tokens of a window pool sized for `requests`, not rounded to pages (compute_swa_request_cap)."""
    drafts = flags.draft_tokens
    trailing = window + EVICTION_INTERVAL * max(1, drafts) + flags.page
    allocated = flags.page
    if drafts:
        allocated = (2 if flags.overlap else 1) * ceil_div(drafts, flags.page) * flags.page
    chunks = 2 if flags.overlap else 1
    return requests * (trailing + allocated) + chunks * flags.chunk + flags.page
