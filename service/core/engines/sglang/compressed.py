"""DeepSeek V4 and V4.1: compressed entries, a pool of windows, and compressor states per request slot.

Source: SGLang 0.5.23 srt/model_executor/pool_configurator.py DSV4PoolConfigurator,
srt/mem_cache/deepseek_v4_memory_pool.py, kernels/ops/attention/dsv4/kv_layout.py.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from service.core.architecture.caches import CompressedCache, IndexCache
from service.core.architecture.kinds import kinds_of
from service.core.architecture.model import Architecture
from service.core.engines.sglang.cells import request_cap
from service.core.engines.sglang.dtypes import has_cache
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
    return has_cache(architecture, CompressedCache)


def shares_entries(architecture: Architecture) -> bool:
    """V4.1: ratios of at most two, entries read across layers."""
    caches = (cache for (cache, _, _), _ in kinds_of(architecture))
    ratios = (cache.ratio for cache in caches if isinstance(cache, CompressedCache))
    return max(ratios, default=0) <= _LOW_RATIO


def sizer(architecture: Architecture, stage: range, flags: Flags) -> Sizer:
    """The sizer of the layers in `stage`; T divides nothing."""
    held = [
        _Alike(cache, index, count)
        for (cache, index, _), count in kinds_of(architecture, stage)
        if isinstance(cache, CompressedCache)
    ]
    rows = _Rows(held, flags, shared=shares_entries(architecture))
    requests = flags.worker_requests or 1
    window = max(alike.cache.window for alike in held)
    # One more layer drafts, of the target's average cost.
    inflation = (rows.layers + 1) / rows.layers if flags.draft_tokens else 1.0
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


@dataclass(frozen=True, slots=True)
class _Alike:
    """Layers of a stage that cache alike."""

    cache: CompressedCache
    index: IndexCache | None
    layers: int


class _Rows:
    """Bytes of one token by what it is stored as; layers: how many the stage has."""

    def __init__(self, held: Sequence[_Alike], flags: Flags, *, shared: bool) -> None:
        self._held, self._flags, self.shared = held, flags, shared
        self.layers = _number(held)
        # Attention tensor parallelism keeps the V4 layouts: the mega kernels pad each rank to 64 heads.
        mega = shared and flags.attention_parallel == 1
        self._mega = mega and flags.generation is Generation.BLACKWELL_DATACENTER

    @property
    def _index_page(self) -> int:
        """Tokens of an index page (dsv41_index_page_size): DeepGEMM's sparse kernel takes larger ones."""
        return 128 if self._flags.generation is Generation.BLACKWELL_DATACENTER else 64

    def _owners(self, ratio: int) -> list[_Alike]:
        return [alike for alike in self._held if alike.cache.ratio == ratio and alike.cache.owner]

    def _layout(self, *, compressed: bool) -> Layout:
        if not self._mega:
            return _PLAIN
        return _MEGA_COMPRESSED if compressed else _MEGA

    def _entry(self, ratio: int) -> float:
        return self._layout(compressed=True).token_bytes(self._flags.page // ratio)

    def full_token(self) -> float:
        """Compressed entries and index keys of one token, all layers."""
        total = 0.0
        caches = (alike.cache for alike in self._held)
        for ratio in sorted({cache.ratio for cache in caches if cache.owner and cache.ratio}):
            owners = self._owners(ratio)
            total += _number(owners) * (self._entry(ratio) + self._index_entry(owners[0].index)) / ratio
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
        rows = self._layout(compressed=False).token_bytes(self._flags.page) * self.layers
        ring = 16 if self._flags.draft_tokens else 8
        elements = sum(
            alike.layers * 4 * (_width(alike.cache) + (alike.index.key_dim if alike.index else 0))
            for alike in self._owners(_OVERLAPPING)
        )
        return rows + ring / self._flags.page * elements * _SINGLE

    def fixed_states(self, requests: int) -> int:
        """Running states of the other ratios: rings for every request slot, one more than requests."""
        total = 0
        for ratio in (_LOW_RATIO, _HIGH_RATIO):
            ring = _ring(ratio, self._flags.draft_tokens)
            rows = ceil_div((requests + 1) * ring + ring + 1, ratio) * ratio
            elements = sum(2 * alike.layers * _width(alike.cache) for alike in self._owners(ratio))
            total += rows * elements * _SINGLE
        return total

    def reserved(self) -> Iterator[ReservedPages]:
        """Pages beside the tokens of the low ratios."""
        for ratio in (1, _LOW_RATIO):
            owners = self._owners(ratio)
            if owners:
                main, entry = self._flags.page * self._entry(ratio), self._index_entry(owners[0].index)
                yield ReservedPages(ratio, _number(owners), main, entry, self._index_page)


def _number(held: Sequence[_Alike]) -> int:
    return sum(alike.layers for alike in held)


def _width(cache: CompressedCache) -> int:
    return cache.latent_dim + cache.rope_dim


def _ring(ratio: int, drafts: int) -> int:
    """Rows of a request's ring (get_compress_state_ring_size)."""
    if ratio == _LOW_RATIO:
        return 1 << (drafts + 1).bit_length() if drafts else 2
    return 2 * ratio if drafts else ratio
