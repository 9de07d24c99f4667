"""What a decode step reads of the caches of one sequence, and what a prompt's attention computes."""

from collections.abc import Iterator
from dataclasses import dataclass

from service.core.architecture.caches import CompressedCache, IndexCache, KeyValueCache, LatentCache
from service.core.architecture.model import Architecture, Layer
from service.core.engines.llama_cpp.layers import counted
from service.core.identity import ByIdentity

# Bytes of an element, the scales of its block included: ggml/src/ggml-common.h, vLLM 0.33.0 config/cache.py.
_ELEMENT_BYTES = {
    "q8_0": 34 / 32,
    "q5_1": 24 / 32,
    "q5_0": 22 / 32,
    "q4_1": 20 / 32,
    "q4_0": 18 / 32,
    "iq4_nl": 18 / 32,
    "nvfp4": 9 / 16,
    "nvfp4_ds_mla": 352 / 576,
    "fp8_ds_mla": 656 / 576,
    "f32": 4.0,
}
_HALF, _SINGLE = 2, 4


@dataclass(frozen=True, slots=True)
class CacheReads:
    """Bytes that one sequence's step moves, before any split.

    by_heads: keys and values, with the heads that tensor parallelism may divide them by; replicated: latents
    and index keys, which every rank reads whole; state: recurrent state, read and written.
    """

    by_heads: tuple[tuple[float, int], ...]
    replicated: float
    state: float

    def on_rank(self, tensor: int) -> float:
        """Bytes on one of `tensor` ranks."""
        split = sum(size / min(tensor, heads) for size, heads in self.by_heads)
        return split + self.replicated + self.state / tensor


def element_bytes(dtype: str) -> float:
    """Bytes of one cached element; 8-bit types by their name, any other type has two."""
    if dtype in _ELEMENT_BYTES:
        return _ELEMENT_BYTES[dtype]
    if dtype.startswith(("fp8", "int8", "e4m3", "e5m2")):
        return 1.0
    return 0.5 if dtype.startswith("int4") else float(_HALF)


def cache_reads(architecture: Architecture, tokens: float, dtype_k: str, dtype_v: str) -> CacheReads:
    """Reads of one step at a cache filled with `tokens` tokens.

    Full layers read every row, sliding layers their window, sparse layers the chosen rows and every
    index key.
    """
    return _reads(architecture, tokens, dtype_k, dtype_v)


def _read(architecture: Architecture, tokens: float, dtype_k: str, dtype_v: str) -> CacheReads:
    key, value = element_bytes(dtype_k), element_bytes(dtype_v)
    by_heads: dict[int, float] = {}
    replicated = state = 0.0
    for layer, count in counted(architecture):
        cache = layer.cache
        if isinstance(cache, KeyValueCache):
            row = cache.heads * (cache.key_dim * key + cache.value_dim * value)
            by_heads[cache.heads] = by_heads.get(cache.heads, 0.0) + count * row * attended(layer, tokens)
        elif isinstance(cache, LatentCache):
            width = cache.latent_dim + cache.rope_dim
            replicated += count * width * key * attended(layer, tokens)
        elif isinstance(cache, CompressedCache):
            replicated += count * _compressed(cache, layer.index, tokens) * key
        replicated += count * _index(layer, tokens) * key
        state += count * _state(layer)
    return CacheReads(tuple((size, heads) for heads, size in by_heads.items()), replicated, state)


_reads: ByIdentity[Architecture, float, str, str, CacheReads] = ByIdentity(_read)


def attended(layer: Layer, tokens: float) -> float:
    """Tokens whose keys a query of this layer reads."""
    cache, index = layer.cache, layer.index
    if isinstance(cache, KeyValueCache) and cache.window:
        return min(tokens, cache.window)
    if index is not None and index.top_tokens:
        return min(tokens, index.top_tokens)
    return tokens


def attention_products(architecture: Architecture, tokens: float, before: float) -> float:
    """Multiply-adds times two of the attention scores and sums for `tokens` tokens after `before` others.

    A causal prompt sees half of itself on average; 2 FLOP x (key + value width) x heads x pairs.
    """
    seen = before + tokens / 2
    total = 0.0
    for layer, count in counted(architecture):
        if layer.cache is not None:
            total += count * _head_width(layer, architecture) * attended(layer, seen)
    return 2 * total * tokens * architecture.attention_heads


def _head_width(layer: Layer, architecture: Architecture) -> int:
    if isinstance(layer.cache, KeyValueCache):
        return layer.cache.key_dim + layer.cache.value_dim
    return 2 * architecture.head_dim


def _compressed(cache: CompressedCache, index: IndexCache | None, tokens: float) -> float:
    """Elements of the window and of the compressed entries that are chosen, or of all of them."""
    width = cache.latent_dim + cache.rope_dim
    rows = min(tokens, cache.window)
    if cache.ratio:
        entries = tokens / cache.ratio
        rows += min(entries, index.top_tokens) if index is not None and index.top_tokens else entries
    return width * rows


def _index(layer: Layer, tokens: float) -> float:
    """Elements of index keys: every key is scored."""
    if layer.index is None:
        return 0.0
    cache = layer.cache
    per_key = (
        cache.ratio if isinstance(cache, CompressedCache) and cache.ratio else layer.index.tokens_per_key
    )
    return layer.index.key_dim * tokens / max(1, per_key)


def _state(layer: Layer) -> float:
    """Bytes read and written: recurrences in f32, convolution history in 16 bit."""
    return sum(2 * size for size in _state_bytes(layer))


def _state_bytes(layer: Layer) -> Iterator[float]:
    for state in layer.states:
        yield state.recurrent_elements * _SINGLE + state.conv_elements * _HALF
    if isinstance(layer.cache, CompressedCache):
        yield layer.cache.state_elements * _SINGLE
