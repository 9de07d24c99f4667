"""DeepSeek V4 and V4.1: compressed entries, a pool of windows, and compressor states per request slot.

Source: SGLang 0.5.23 srt/model_executor/pool_configurator.py DSV4PoolConfigurator,
srt/mem_cache/deepseek_v4_memory_pool.py, kernels/ops/attention/dsv4/kv_layout.py.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from service.core.architecture.caches import CompressedCache, IndexCache
from service.core.architecture.model import Architecture
from service.core.engines.sglang.cells import request_cap
from service.core.engines.sglang.flags import Flags
from service.core.engines.sglang.sizer import ReservedPages, Sizer
from service.core.engines.vllm.generation import Generation
from service.core.units import ceil_div, pad

_WINDOW_RATIO = 0.1  # written into --swa-full-tokens-ratio for V4, so that its request cap is never used
_SINGLE = 4  # bytes of an element of the compressor states
_OVERLAPPING, _LOW_RATIO, _HIGH_RATIO = 4, 2, 128
_PREFIX_TAILS = 4  # cached windows kept for each request slot while prefixes are cached


@dataclass(frozen=True, slots=True)
class Layout:
    """How FlashMLA lays out cached rows: bytes of a row and what a page is padded to."""

    row: int
    alignment: int

    def page_bytes(self, tokens: int) -> int:
        """Bytes of a page of `tokens` rows."""
        return pad(tokens * self.row, self.alignment)

    def token_bytes(self, tokens: int) -> float:
        """Bytes of one row with its share of the padding."""
        return self.page_bytes(tokens) / tokens


_PLAIN = Layout(584, 576)  # 448 fp8, 64 of 16 bits, 8 of scales
_MEGA = Layout(528, 512)  # 512 fp8 and 16 scales
_MEGA_COMPRESSED = Layout(288, 256)  # 512 of four bits and 32 scales


def is_compressed(architecture: Architecture) -> bool:
    """Whether the model is sized by this module."""
    return any(isinstance(layer.cache, CompressedCache) for layer in architecture.layers)


def shares_entries(architecture: Architecture) -> bool:
    """V4.1: ratios of at most two, entries read across layers."""
    caches = [layer.cache for layer in architecture.layers if isinstance(layer.cache, CompressedCache)]
    return max((cache.ratio for cache in caches), default=0) <= _LOW_RATIO


def sizer(architecture: Architecture, stage: range, flags: Flags) -> Sizer:
    """The sizer of the layers in `stage`; T divides nothing."""
    held = [
        (layer.cache, layer.index)
        for layer in (architecture.layers[index] for index in stage)
        if isinstance(layer.cache, CompressedCache)
    ]
    rows = _Rows(held, flags, shared=shares_entries(architecture))
    requests = flags.worker_requests or 1
    window = max(cache.window for cache, _ in held)
    # One more layer drafts, of the target's average cost.
    inflation = (len(held) + 1) / len(held) if flags.draft_tokens else 1.0
    common = Sizer(
        rows.full_token() * inflation,
        flags.page,
        window=window,
        window_token=rows.window_token() * inflation,
        state_bytes=rows.fixed_states(requests),
    )
    if not rows.shared:
        return replace(common, window_ratio=_WINDOW_RATIO)
    tails = _PREFIX_TAILS * requests if flags.prefix_caching else 0
    cap = pad(request_cap(window, requests, flags) + tails * (window + flags.page), flags.page)
    return replace(common, window_tokens=cap, reserved=tuple(rows.reserved()))


class _Rows:
    """Bytes of one token by what it is stored as."""

    def __init__(
        self, held: Sequence[tuple[CompressedCache, IndexCache | None]], flags: Flags, *, shared: bool
    ) -> None:
        self._held, self._flags, self.shared = held, flags, shared
        # Attention tensor parallelism keeps the V4 layouts: the mega kernels pad each rank to 64 heads.
        mega = shared and flags.attention_parallel == 1
        self._mega = mega and flags.generation is Generation.BLACKWELL_DATACENTER

    @property
    def _index_page(self) -> int:
        """Tokens of an index page (dsv41_index_page_size): DeepGEMM's sparse kernel takes larger ones."""
        return 128 if self._flags.generation is Generation.BLACKWELL_DATACENTER else 64

    def _layers(self, ratio: int) -> list[tuple[CompressedCache, IndexCache | None]]:
        return [pair for pair in self._held if pair[0].ratio == ratio and pair[0].owner]

    def _layout(self, *, compressed: bool) -> Layout:
        if not self._mega:
            return _PLAIN
        return _MEGA_COMPRESSED if compressed else _MEGA

    def _entry(self, ratio: int) -> float:
        return self._layout(compressed=True).token_bytes(self._flags.page // ratio)

    def full_token(self) -> float:
        """Compressed entries and index keys of one token, all layers."""
        total = 0.0
        for ratio in sorted({cache.ratio for cache, _ in self._held if cache.owner and cache.ratio}):
            layers = self._layers(ratio)
            index = layers[0][1]
            total += len(layers) * (self._entry(ratio) + self._index_entry(index)) / ratio
        return total

    def _index_entry(self, index: IndexCache | None) -> int:
        """Fp8 with a scale for 128; V4.1's are four-bit with a scale for 32."""
        if index is None:
            return 0
        if self.shared:
            return index.key_dim // 2 + index.key_dim // 32
        return index.key_dim + index.key_dim // 128 * 4

    def window_token(self) -> float:
        """One token of the windows' pool, with the ratio-4 states that are kept for each of its pages."""
        rows = self._layout(compressed=False).token_bytes(self._flags.page) * len(self._held)
        overlapping = self._layers(_OVERLAPPING)
        ring = 16 if self._flags.draft_tokens else 8
        elements = sum(
            4 * (cache.latent_dim + cache.rope_dim + (index.key_dim if index else 0))
            for cache, index in overlapping
        )
        return rows + ring / self._flags.page * elements * _SINGLE

    def fixed_states(self, requests: int) -> int:
        """Running states of the other ratios: rings for every request slot, one more than requests."""
        total = 0
        for ratio in (_LOW_RATIO, _HIGH_RATIO):
            ring = _ring(ratio, self._flags.draft_tokens)
            rows = ceil_div((requests + 1) * ring + ring + 1, ratio) * ratio
            elements = sum(2 * (cache.latent_dim + cache.rope_dim) for cache, _ in self._layers(ratio))
            total += rows * elements * _SINGLE
        return total

    def reserved(self) -> Iterator[ReservedPages]:
        """Pages beside the tokens of the low ratios."""
        for ratio in (1, _LOW_RATIO):
            layers = self._layers(ratio)
            if layers:
                main = self._flags.page * self._entry(ratio)
                yield ReservedPages(
                    ratio, len(layers), main, self._index_entry(layers[0][1]), self._index_page
                )


def _ring(ratio: int, drafts: int) -> int:
    """Rows of a request's ring (get_compress_state_ring_size)."""
    if ratio == _LOW_RATIO:
        return 1 << (drafts + 1).bit_length() if drafts else 2
    return 2 * ratio if drafts else ratio
