"""Recurrent states: bytes of a slot, slots of a request, and the share of the budget that slots take.

Source: SGLang 0.5.23 srt/mem_cache/kv_cache_configurator.py _handle_max_mamba_cache,
_calculate_mamba_ratio; srt/configs/mamba_utils.py.
"""

from dataclasses import dataclass
from math import ceil

from service.core.architecture.caches import RecurrentState, StateKind
from service.core.architecture.kinds import Kinds, kinds_of
from service.core.architecture.model import Architecture
from service.core.engines.sglang.flags import Flags
from service.core.identity import ByIdentity
from service.core.units import pad

MAMBA_FULL_MEMORY_RATIO = 0.9  # --mamba-full-memory-ratio: state bytes for each byte of cache
_CONV_BYTES = 2  # SGLANG_MAMBA_CONV_DTYPE bfloat16
_WIDTHS = {"float32": 4, "f32": 4, "bfloat16": 2, "bf16": 2, "float16": 2, "fp16": 2}
_CACHED_PREFIX_SLOTS = 3
_TOKEN_ID = 8
_CONVERGES = 64  # steps that halve the distance to a consistent split


def slot_bytes(architecture: Architecture, parallel: int, stages: tuple[range, ...]) -> int:
    """One state slot on a rank: all recurrent layers, or the most that one pipeline stage has of them."""
    return _slot(architecture, parallel, stages)


def _slot_bytes(architecture: Architecture, parallel: int, stages: tuple[range, ...]) -> int:
    total, layers = _recurrent(kinds_of(architecture), architecture.state_dtype, parallel)
    if not total or len(stages) == 1:
        return total
    kept = (kinds_of(architecture, stage) for stage in stages)
    most = max(_recurrent(own, architecture.state_dtype, parallel)[1] for own in kept)
    return int(total * (most / layers))


_slot = ByIdentity(_slot_bytes)


def _recurrent(kept: Kinds, dtype: str | None, parallel: int) -> tuple[int, int]:
    """State bytes of layers, and how many have any."""
    total = layers = 0
    for (_, _, states), count in kept:
        if size := sum(_state_bytes(state, dtype, parallel) for state in states):
            total, layers = total + count * size, layers + count
    return total, layers


def outside_bytes(architecture: Architecture) -> int:
    """Bytes of a slot that are kept beside the budget and not divided: short convolutions over lookups."""
    return sum(
        count * state.conv_elements * _CONV_BYTES
        for (_, _, states), count in kinds_of(architecture)
        for state in states
        if state.kind is StateKind.LOOKUP_CONV
    )


def history_bytes(architecture: Architecture) -> int:
    """Token ids that n-gram lookups remember of a sequence."""
    kept = kinds_of(architecture)
    return sum(count * _TOKEN_ID * state.token_history for (_, _, states), count in kept for state in states)


def _state_bytes(state: RecurrentState, dtype: str | None, parallel: int) -> int:
    """One layer's state; heads and channels are divided, Mamba-2 groups padded to the ranks first."""
    if state.kind is StateKind.LOOKUP_CONV:
        return 0
    channels = state.conv_channels
    if state.groups:
        channels += 2 * state.group_width * (pad(state.groups, parallel) - state.groups)
    conv = channels // parallel * state.conv_rows * _CONV_BYTES
    return conv + state.recurrent_elements // parallel * _WIDTHS.get(dtype or "", 4)


def slots_per_request(flags: Flags) -> int:
    """Slots that a running request may hold: itself, and with cached prefixes checkpoints and buffers.

    --mamba-radix-cache-strategy auto is extra_buffer: two buffers with overlap scheduling, one without.
    """
    if not flags.prefix_caching:
        return 1
    return _CACHED_PREFIX_SLOTS + (2 if flags.overlap else 1)


@dataclass(frozen=True, slots=True)
class StatePool:
    """The slots of a rank and what they take; slot: bytes, 0 for a model without recurrent states.

    requests: --max-running-requests of a worker, None = not given.
    """

    slot: int
    per_request: int
    draft_tokens: int = 0
    requests: int | None = None

    @property
    def _fixed(self) -> bool:
        """Whether the slots follow from the requests instead of the budget."""
        return self.per_request == 1 and self.requests is not None

    def slots(self, budget: int) -> int:
        """Slots (without the padding one) of a budget for states and tokens together."""
        if self._fixed:
            return self.requests or 0
        share = budget * MAMBA_FULL_MEMORY_RATIO / (1 + MAMBA_FULL_MEMORY_RATIO)
        drafts = self.draft_tokens
        return int((share - self.slot * (1 + drafts)) // (self.slot * (1 + drafts / self.per_request)))

    def slots_beside(self, cache: int) -> int:
        """Slots of the pool whose split leaves `cache` bytes for tokens; the fewest, as two numbers can."""
        if self._fixed:
            return self.requests or 0
        slots = int(cache * MAMBA_FULL_MEMORY_RATIO // self.slot)
        for _ in range(_CONVERGES):
            slots = max(0, self.slots(cache + self.bytes(slots)))
        while slots > 0 and self.slots(cache + self.bytes(slots - 1)) == slots - 1:
            slots -= 1
        return slots

    def bytes(self, slots: int) -> int:
        """Bytes of the slots with the padding one, and of drafts' intermediate states."""
        return self.slot * (slots + 1) + self._intermediate(slots)

    def _intermediate(self, slots: int) -> int:
        """Every drafted token of a request keeps a state until it is verified."""
        if not self.draft_tokens:
            return 0
        requests = slots // self.per_request
        if self.requests is not None:
            requests = slots if self._fixed else min(self.requests, requests)
        return self.slot * (requests + 1) * self.draft_tokens

    def budget(self, sequences: int, cache: int) -> int:
        """The budget from which `sequences` have their slots and `cache` bytes remain for tokens.

        The split is fixed by --mamba-full-memory-ratio, so one of the two sides is usually left with more
        than it needs; up to one slot above the smallest such budget.
        """
        slots = sequences * self.per_request
        if self._fixed:
            return self.bytes(self.requests or 0) + cache
        ratio, drafts = MAMBA_FULL_MEMORY_RATIO, self.draft_tokens
        own = self.slot * (slots * (1 + drafts / self.per_request) + 1 + drafts) * (1 + ratio) / ratio
        return max(ceil(own), ceil(cache * (1 + ratio)), self.bytes(slots) + cache)
