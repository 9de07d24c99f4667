"""Groups of like layers as data: what they keep for each token and sequence at 16 bit, and the arithmetic."""

from dataclasses import replace
from typing import Any

from service.core.architecture.caches import CompressedCache, KeyValueCache, LatentCache, Reach
from service.core.architecture.model import Architecture, FeedForward, Layer
from service.core.architecture.summary import (
    LayerGroup,
    indexer_bytes_per_token_16bit,
    kv_bytes_per_token_16bit,
    layer_groups,
    state_bytes_per_sequence,
    window_bytes_per_sequence_16bit,
)

_PER_TOKEN = ("kv_bytes_per_token", "index_bytes_per_token")
_WINDOWS, _STATES = "window_bytes_per_sequence", "state_bytes_per_sequence"
_MOE = (FeedForward.MOE, FeedForward.LATENT_MOE)


def groups(architecture: Architecture) -> list[dict[str, Any]]:
    """One entry for each group of layers; the bytes are those of all its layers together."""
    return [_entry(architecture, group) for group in layer_groups(architecture)]


def totals(entries: list[dict[str, Any]]) -> dict[str, int]:
    """Sums over groups, and how many layers keep a cache entry a token, a window, a state."""
    names = (*_PER_TOKEN, _WINDOWS, _STATES)
    sums = {name: sum(entry[name] for entry in entries) for name in names}
    return {
        **sums,
        "bytes_per_token": sum(sums[name] for name in _PER_TOKEN),
        "layers_with_cache": _layers(entries, *_PER_TOKEN),
        "layers_with_window": _layers(entries, _WINDOWS),
        "layers_with_state": _layers(entries, _STATES),
    }


def _layers(entries: list[dict[str, Any]], *names: str) -> int:
    return sum(entry["count"] for entry in entries if any(entry[name] for name in names))


def kinds(architecture: Architecture) -> list[dict[str, Any]]:
    """How many layers of each kind there are, in the order of their first layer."""
    counts: dict[str, int] = {}
    for layer in architecture.layers:
        counts[str(layer.kind)] = counts.get(str(layer.kind), 0) + 1
    return [{"kind": kind, "count": count} for kind, count in counts.items()]


def moe_layers(architecture: Architecture) -> int:
    """Layers with routed experts."""
    return sum(layer.feed_forward in _MOE for layer in architecture.layers)


def _entry(architecture: Architecture, group: LayerGroup) -> dict[str, Any]:
    layer = Layer(group.kind, group.feed_forward, (), group.cache, group.index, group.states)
    part = replace(architecture, layers=(layer,) * group.count)
    kv, index = kv_bytes_per_token_16bit(part), indexer_bytes_per_token_16bit(part)
    return {
        "kind": str(group.kind),
        "feed_forward": str(group.feed_forward),
        "count": group.count,
        "window_tokens": _window(group),
        "kv_bytes_per_token": kv,
        "kv_formula": _kv_formula(group) if kv else None,
        "index_bytes_per_token": index,
        "index_formula": _index_formula(group, index) if index else None,
        "window_bytes_per_sequence": window_bytes_per_sequence_16bit(part),
        "state_bytes_per_sequence": state_bytes_per_sequence(part),
    }


def _window(group: LayerGroup) -> int | None:
    """Tokens that the layers of the group look back at most; None where there is no such limit."""
    match group.cache:
        case KeyValueCache(reach=Reach.SLIDING | Reach.CHUNKED, window=window):
            return window
        case CompressedCache(window=window):
            return window
    return None


def _kv_formula(group: LayerGroup) -> str | None:
    """Layers times elements times two bytes, in figures."""
    match group.cache:
        case KeyValueCache(heads=heads, key_dim=key, value_dim=value):
            return f"{group.count} × {heads} × ({key} + {value}) × 2"
        case LatentCache(latent_dim=latent, rope_dim=rope):
            return f"{group.count} × ({latent} + {rope}) × 2"
        case CompressedCache(latent_dim=latent, rope_dim=rope, ratio=ratio):
            return f"{group.count} × ({latent} + {rope}) × 2 / {ratio}"
    return None


def _index_formula(group: LayerGroup, index_bytes: int) -> str | None:
    """As `_kv_formula`, of index keys; one key may stand for several tokens."""
    if group.index is None:
        return None
    whole = group.count * group.index.key_dim * 2
    plain = f"{group.count} × {group.index.key_dim} × 2"
    return plain if whole == index_bytes else f"{plain} / {group.index.tokens_per_key}"
