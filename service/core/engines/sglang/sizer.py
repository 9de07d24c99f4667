"""The token pools of one rank: what a budget holds, and the budget that tokens need.

Source: SGLang 0.5.23 srt/model_executor/pool_configurator.py (DefaultPoolConfigurator,
HybridSWAPoolConfigurator, SWARequestCapPoolConfigurator, DSV4PoolConfigurator).
"""

from dataclasses import dataclass
from math import ceil

from service.core.units import ceil_div, pad

_UNLIMITED = 2**63 - 1


@dataclass(frozen=True, slots=True)
class ReservedPages:
    """Pages that a compressed cache of a low ratio allocates beyond its tokens, in `layers` layers.

    main_page: bytes of the page of a layer's latents. index_entry: bytes of one index key, which pages of
    `index_page` hold.
    """

    ratio: int
    layers: int
    main_page: float
    index_entry: int
    index_page: int

    def bytes(self, tokens: int, page: int) -> float:
        """Bytes at a pool of `tokens`."""
        size = (tokens + page) // self.ratio
        slots = pad(size + self.index_page, self.index_page)
        return (self.main_page + (slots - tokens // self.ratio) * self.index_entry) * self.layers


@dataclass(frozen=True, slots=True)
class Pool:
    """Tokens that a rank's pools hold: whole contexts, and the windows' own pool (0 = none)."""

    tokens: int
    window_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Sizer:
    """How bytes become tokens on one rank.

    full_token: bytes of one token of max_total_tokens, without the windows. window_token: of one token of the
    windows' pool, which holds window_ratio tokens for each full one, or window_tokens where it is fixed.
    decode_context: ranks that share the tokens of a request; pools for windows are not widened by it.
    window: tokens that a request's window reaches back. state_bytes: compressor states of DeepSeek V4's
    request slots. reserved: pages beside the tokens.
    """

    full_token: float
    page: int
    decode_context: int = 1
    window_ratio: float = 0.0
    window: int = 0
    window_tokens: int = 0
    window_token: float = 0.0
    state_bytes: int = 0
    reserved: tuple[ReservedPages, ...] = ()

    @property
    def token_bytes(self) -> float:
        """Bytes of a token of max_total_tokens with the windows' share."""
        return self.full_token + self.window_ratio * self.window_token

    @property
    def window_bytes(self) -> int:
        """Bytes of a fixed pool for windows."""
        return int(self.window_tokens * self.window_token)

    def pool(self, budget: int) -> Pool:
        """The pools of a budget in bytes, floored to whole pages; no tokens where it does not suffice.

        A pipeline stage that caches nothing does not limit the others.
        """
        available = max(0, budget - self.window_bytes - self.state_bytes)
        if not self.token_bytes:
            return Pool(_UNLIMITED)
        tokens = int(available // self.token_bytes) // self.page * self.page
        while tokens > 0 and tokens * self.token_bytes + self._reserved(tokens) > available:
            tokens -= self.page
        return Pool(tokens, self._window_tokens(tokens))

    def tokens(self, context_tokens: int, sequences: int) -> int:
        """Tokens of the pool that `sequences` of this length need on a rank.

        Whole pages of each sequence, its share under decode context parallelism, and more where the windows'
        pool, which grows with the tokens, would hold fewer windows: a request takes min(context, window) and
        a page, and SGLang starts only when the pool is larger than one window and a page.
        """
        each = pad(ceil_div(context_tokens, self.decode_context), self.page)
        tokens = each * sequences
        if not self.window_ratio:
            return tokens
        windows = sequences * (min(context_tokens, self.window) + self.page)
        floor = max(windows, self.window + self.page + 1)
        tokens = max(tokens, pad(int(floor / self.window_ratio), self.page))
        while self._window_tokens(tokens) < floor:
            tokens += self.page
        return tokens

    def cache_bytes(self, tokens: int) -> int:
        """Bytes of cached tokens, of the windows and of the pages reserved beside them."""
        return ceil(tokens * self.token_bytes + self._reserved(tokens)) + self.window_bytes

    def _window_tokens(self, tokens: int) -> int:
        if not self.window_ratio:
            return self.window_tokens
        return int(tokens * self.window_ratio) // self.page * self.page

    def _reserved(self, tokens: int) -> float:
        return sum(pages.bytes(tokens, self.page) for pages in self.reserved)
