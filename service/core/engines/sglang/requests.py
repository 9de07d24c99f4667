"""Running requests, and the table of their tokens.

Source: SGLang 0.5.23 srt/mem_cache/kv_cache_configurator.py resolve_max_num_reqs,
srt/mem_cache/memory_pool.py ReqToTokenPool.
"""

from service.core.engines.sglang.flags import Flags

_TABLE_ENTRY = 4  # bytes of a token's slot number
_TABLE_MARGIN = 4
_CONTEXTS = 512
_FEWEST, _MOST = 2048, 4096


def running_requests(
    tokens: int, flags: Flags, state_requests: int | None = None, *, context_tokens: int | None = None
) -> int:
    """max_running_requests of a worker whose pool holds `tokens` on a rank.

    state_requests: requests that the state slots admit, None without recurrent states. context_tokens: the
    longest request, None = that of the flags.
    """
    wanted = flags.worker_requests
    if wanted is None:
        wanted = max(_FEWEST, min(_MOST, int(tokens / (context_tokens or flags.context_tokens) * _CONTEXTS)))
    admitted = min(wanted, tokens // 2)
    return max(0, admitted if state_requests is None else min(admitted, state_requests))


def request_table_bytes(requests: int, flags: Flags, *, context_tokens: int | None = None) -> int:
    """The table of every request's tokens, as long as the longest request; it is not part of the budget."""
    row = (context_tokens or flags.context_tokens) + _TABLE_MARGIN + flags.draft_tokens
    return (requests + 1) * row * _TABLE_ENTRY
