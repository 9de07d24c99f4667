"""Pipeline stages, and the sizer of each."""

from service.core.architecture.model import Architecture
from service.core.engines.sglang import compressed
from service.core.engines.sglang.cells import WINDOW_RATIO, Cell, cell, request_cap
from service.core.engines.sglang.flags import Flags
from service.core.engines.sglang.sizer import Sizer
from service.core.units import pad


def stages_of(architecture: Architecture, stages: int) -> tuple[range, ...]:
    """Layers of each pipeline stage; what does not divide goes to the last stages.

    Source: SGLang 0.5.23 srt/distributed/utils.py get_pp_indices.
    """
    layers = len(architecture.layers)
    base, extra = divmod(layers, stages)
    sizes = [base] * (stages - extra) + [base + 1] * extra
    starts = [sum(sizes[:stage]) for stage in range(stages)]
    return tuple(range(start, start + size) for start, size in zip(starts, sizes, strict=True))


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
