"""Pipeline stages, and the sizer of each."""

from dataclasses import replace
from functools import lru_cache
from itertools import accumulate, pairwise

from service.core.architecture.model import Architecture
from service.core.engines.sglang import compressed
from service.core.engines.sglang.cells import WINDOW_RATIO, Cell, cell, request_cap
from service.core.engines.sglang.flags import Flags
from service.core.engines.sglang.sizer import Sizer
from service.core.identity import ByIdentity
from service.core.units import pad


def stages_of(architecture: Architecture, stages: int) -> tuple[range, ...]:
    """Layers of each pipeline stage; what does not divide goes to the last stages.

    Source: SGLang 0.5.23 srt/distributed/utils.py get_pp_indices.
    """
    return _parts(len(architecture.layers), stages)


@lru_cache(256)
def _parts(layers: int, stages: int) -> tuple[range, ...]:
    base, extra = divmod(layers, stages)
    ends = accumulate([base] * (stages - extra) + [base + 1] * extra, initial=0)
    return tuple(range(start, stop) for start, stop in pairwise(ends))


def _sizers_of(architecture: Architecture, flags: Flags) -> tuple[Sizer, ...]:
    return tuple(sizer_of(architecture, stage, flags) for stage in stages_of(architecture, flags.pipeline))


_sizers = ByIdentity(_sizers_of)


def sizers_of(architecture: Architecture, flags: Flags) -> tuple[Sizer, ...]:
    """The sizer of every stage, the same at every context."""
    return _sizers(architecture, replace(flags, context_tokens=1))


def sizer_of(architecture: Architecture, stage: range, flags: Flags) -> Sizer:
    """The sizer of one stage, as create_memory_pool_configurator picks it."""
    if compressed.is_compressed(architecture):
        return compressed.sizer(architecture, stage, flags)
    own = cell(architecture, stage, flags)
    if not own.hybrid or not own.full:  # a stage of windows alone is sized without the ratio
        return Sizer(own.full + own.windows, flags.page, flags.decode_context)
    requests = flags.worker_requests
    if not flags.prefix_caching and requests is not None:
        return _capped(own, requests, flags)
    return Sizer(own.full, flags.page, window_ratio=WINDOW_RATIO, window=own.window, window_token=own.windows)


def _capped(own: Cell, requests: int, flags: Flags) -> Sizer:
    """Without cached prefixes and with a known number of requests, the windows' pool is what they need."""
    tokens = pad(request_cap(own.window, requests, flags), flags.page)
    return Sizer(
        own.full,
        flags.page,
        window=own.window,
        window_tokens=tokens,
        window_token=own.windows,
    )
