"""Per-sequence figures before any split."""

from dataclasses import dataclass, replace

from service.core.architecture.caches import CompressedCache
from service.core.architecture.kinds import kinds_of
from service.core.architecture.model import Architecture
from service.core.engines.sglang.flags import Flags
from service.core.engines.sglang.stages import sizers_of, stages_of
from service.core.engines.sglang.states import history_bytes, outside_bytes, slot_bytes

_SINGLE = 4


@dataclass(frozen=True, slots=True)
class Figures:
    """Bytes of one sequence on one rank that holds the whole model."""

    kv_bytes_per_token: int
    kv_window_bytes: int
    state_bytes: int


def sequence_figures(architecture: Architecture, flags: Flags) -> Figures:
    """What a sequence adds with each token and what it holds whatever its length.

    Tokens: every layer that is cached at whole length (sliding ones too where they have no pool of their
    own), rounded down. Windows: a window and a page in the windows' pool. State: one slot with what lies
    beside the budget, or one running compressor.
    """
    alone = replace(flags, attention_parallel=1, decode_context=1, pipeline=1)
    (sizer,) = sizers_of(architecture, alone)
    window = int((sizer.window + sizer.page) * sizer.window_token)
    slot = slot_bytes(architecture, 1, stages_of(architecture, 1))
    state = slot + outside_bytes(architecture) + history_bytes(architecture)
    compressor = _SINGLE * sum(
        count * cache.state_elements
        for (cache, _, _), count in kinds_of(architecture)
        if isinstance(cache, CompressedCache)
    )
    return Figures(int(sizer.full_token), window if sizer.window_token else 0, state + compressor)
