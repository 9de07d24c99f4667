"""A server of SGLang on its GPUs: what is static, what is left to run in, and what that can serve.

SGLang divides the memory that is free when it starts: mem_fraction_static of it holds weights and pools, the
rest is the reserve for everything else. The pools are made as large as the static part allows, whatever the
load, and the reserve is not measured. So a scenario is served when the static part holds the weights and the
pools that its sequences need, and the reserve what is allocated from it.

Counted as compute buffers, because they are taken from the reserve: activations and CUDA graphs (estimates),
the table of request tokens, and what a state slot keeps beside the budget.

Source: SGLang 0.5.23 srt/mem_cache/kv_cache_configurator.py _profile_available_bytes,
_resolve_memory_pool_config.
"""

from dataclasses import dataclass
from functools import cached_property

from service.core.engines.sglang.flags import Flags
from service.core.engines.sglang.requests import request_table_bytes, running_requests
from service.core.engines.sglang.sizer import Sizer
from service.core.engines.sglang.states import StatePool
from service.core.engines.vllm.budget import largest
from service.core.sizing import Memory
from service.core.units import ceil_div


@dataclass(frozen=True, slots=True)
class Loaded:
    """A rank of one pipeline stage: weights, what is static beside them, and how its tokens are sized."""

    weights: int
    beside: int
    sizer: Sizer

    @property
    def taken(self) -> int:
        """Static bytes before the pools."""
        return self.weights + self.beside


@dataclass(frozen=True, slots=True)
class Capacity:
    """max_total_tokens of a rank, state slots, and max_running_requests of a worker."""

    tokens: int
    slots: int
    requests: int


@dataclass(frozen=True)
class Deployment:
    """Stages of a server, bytes per GPU.

    available: memory less what others hold, None when unknown. runtime: CUDA context and NCCL, which exist
    before SGLang measures. transient: activations and graphs. slot_outside: of a state slot, outside the
    budget. pinned: the token pool when the caller fixed it; nothing is subtracted from it, and states come
    beside it.
    Without slots, so that what no sequence changes is found once for all steps of a search.
    """

    flags: Flags
    stages: tuple[Loaded, ...]
    states: StatePool
    available: int | None
    fraction: float
    runtime: int
    transient: int
    slot_outside: int = 0
    pinned: int | None = None

    @cached_property
    def static(self) -> int | None:
        """Bytes for weights and pools."""
        return None if self.available is None else int(max(0, self.available - self.runtime) * self.fraction)

    @cached_property
    def reserve(self) -> int | None:
        """Bytes that are left beside the static part."""
        static = self.static
        return None if static is None or self.available is None else self.available - self.runtime - static

    @cached_property
    def budget(self) -> int | None:
        """Bytes for states and tokens on the rank with the least left, None when unknown."""
        static = self.static
        return None if static is None else static - max(stage.taken for stage in self.stages)

    @cached_property
    def _sizers(self) -> tuple[Sizer, ...]:
        """The sizers that differ; stages with the same layers have the same."""
        return tuple(dict.fromkeys(stage.sizer for stage in self.stages))

    @cached_property
    def _pools(self) -> tuple[int, int] | None:
        """max_total_tokens and state slots of a rank; None when the memory is unknown."""
        pinned, budget = self.pinned, self.budget
        if pinned is None and budget is None:
            return None
        slots, cache = 0, max(0, budget or 0) if pinned is None else pinned
        if self.states.slot:
            slots = self.states.slots(cache) if pinned is None else self.states.slots_beside(cache)
            cache -= 0 if pinned is not None else self.states.bytes(max(0, slots))
        return min(sizer.pool(cache).tokens for sizer in self._sizers), max(0, slots)

    def capacity(self, context_tokens: int) -> Capacity | None:
        """What the pools hold when requests are at most this long; None when the memory is unknown."""
        pools = self._pools
        return None if pools is None else Capacity(*pools, self._requests(*pools, context_tokens))

    def _requests(self, tokens: int, slots: int, context_tokens: int) -> int:
        admitted = slots // self.states.per_request if self.states.slot else None
        return running_requests(tokens, self.flags, admitted, context_tokens=context_tokens)

    def tokens_needed(self, context_tokens: int, sequences: int) -> int:
        """Tokens of the pool for the sequences of one worker."""
        return max(sizer.tokens(context_tokens, sequences) for sizer in self._sizers)

    def needed(self, stage: Loaded, context_tokens: int, sequences: int) -> int:
        """The budget from which SGLang would make pools for the sequences of one worker."""
        return self._needed(stage.sizer, self.tokens_needed(context_tokens, sequences), sequences)

    def _needed(self, sizer: Sizer, tokens: int, sequences: int) -> int:
        cache = sizer.cache_bytes(tokens) + sizer.state_bytes
        if self.pinned is not None or not self.states.slot:
            return cache
        return self.states.budget(sequences, cache)

    def outside(self, context_tokens: int, sequences: int) -> int:
        """Bytes that are taken from the reserve.

        The table has a row for every request that SGLang admits, not only for those of the scenario.
        """
        return self._outside(self.tokens_needed(context_tokens, sequences), context_tokens, sequences)

    def _outside(self, tokens: int, context_tokens: int, sequences: int) -> int:
        slots = sequences * self.states.per_request
        if self._pools is not None:
            tokens, slots = max(tokens, self._pools[0]), max(slots, self._pools[1])
        requests = self._requests(tokens, slots, context_tokens)
        table = request_table_bytes(requests, self.flags, context_tokens=context_tokens)
        return self.transient + table + (self.slot_outside * (slots + 1) if self.slot_outside else 0)

    def memories(self, context_tokens: int, sequences: int) -> tuple[Memory, ...]:
        """The terms of each stage's rank for the sequences of one worker.

        kv_cache: whole pages of every sequence at the cell's bytes, so with the windows' share, and DeepSeek
        V4.1's fixed pool of windows. recurrent_state: the slots that the sequences may hold (one each
        without cached prefixes, up to five with them) and the padding one, or the compressor states of all
        request slots. runtime_overhead: context, NCCL, the multimodal cache, copies made by loading, and the
        part of a budget for states and tokens that their fixed ratio strands on one of the sides.
        """
        tokens = self.tokens_needed(context_tokens, sequences)
        outside = self._outside(tokens, context_tokens, sequences)
        caches = {sizer: sizer.cache_bytes(tokens) for sizer in self._sizers}
        stranded = {sizer: self._stranded(sizer, tokens, sequences) for sizer in self._sizers}
        return tuple(
            Memory(
                weights=stage.weights,
                kv_cache=caches[stage.sizer],
                recurrent_state=self._states(stage.sizer, sequences),
                compute_buffers=outside,
                runtime_overhead=self.runtime + stage.beside + stranded[stage.sizer],
            )
            for stage in self.stages
        )

    def _states(self, sizer: Sizer, sequences: int) -> int:
        """State bytes that the sequences need."""
        if not self.states.slot:
            return sizer.state_bytes
        return sizer.state_bytes + self.states.bytes(sequences * self.states.per_request)

    def stranded(self, stage: Loaded, context_tokens: int, sequences: int) -> int:
        """Bytes of the needed budget that the fixed ratio of states to tokens leaves unused."""
        return self._stranded(stage.sizer, self.tokens_needed(context_tokens, sequences), sequences)

    def _stranded(self, sizer: Sizer, tokens: int, sequences: int) -> int:
        used = sizer.cache_bytes(tokens) + self._states(sizer, sequences)
        return max(0, self._needed(sizer, tokens, sequences) - used)

    def usable(self, context_tokens: int, sequences: int) -> int | None:
        """Memory less the part of the reserve that nothing counted here takes, and what stages leave idle.

        With it, a total is at most the usable memory exactly when weights and pools fit the static part. A
        pool fixed by hand leaves no reserve.
        """
        reserve = self.reserve
        if self.available is None or reserve is None or self.pinned is not None:
            return self.available
        spare = max(0, reserve - self.outside(context_tokens, sequences))
        return self.available - spare - self.uneven(context_tokens, sequences)

    def uneven(self, context_tokens: int, sequences: int) -> int:
        """Static bytes of the fullest stage that no pool can have.

        The stage with the most weights decides the budget of all, and the one that caches most the tokens.
        """
        if len(self.stages) == 1:
            return 0
        tokens = self.tokens_needed(context_tokens, sequences)
        needed = {sizer: self._needed(sizer, tokens, sequences) for sizer in self._sizers}
        together = max(stage.taken + needed[stage.sizer] for stage in self.stages)
        return max(stage.taken for stage in self.stages) + max(needed.values()) - together

    def reserve_suffices(self, context_tokens: int, sequences: int) -> bool:
        """Whether the reserve holds what is taken from it; a pool fixed by hand has no reserve to keep."""
        reserve = self.reserve
        if reserve is None or self.pinned is not None:
            return True
        return self.outside(context_tokens, sequences) <= reserve

    def pools_suffice(self, context_tokens: int, sequences: int) -> bool:
        """Whether every stage's pools hold the sequences of one worker."""
        budget = self.budget if self.pinned is None else self.pinned
        tokens = self.tokens_needed(context_tokens, sequences)
        needed = max(self._needed(sizer, tokens, sequences) for sizer in self._sizers)
        return budget is not None and needed <= budget

    def missing(self, context_tokens: int, sequences: int) -> int:
        """Bytes that a pool fixed by hand lacks beside everything else, for the sequences of one worker."""
        if self.pinned is None or self.available is None:
            return 0
        beside = max(each.total - each.kv_cache for each in self.memories(context_tokens, sequences))
        return max(0, beside + self.pinned - self.available)

    def holds(self, context_tokens: int, sequences: int) -> bool:
        """Whether the server runs `sequences` of this length at once, shared by its workers."""
        each = ceil_div(sequences, self.flags.attention_data)
        held = self.capacity(context_tokens)
        if held is None or each > held.requests:
            return False
        if self.missing(context_tokens, each):
            return False
        return self.pools_suffice(context_tokens, each) and self.reserve_suffices(context_tokens, each)

    def max_context_tokens(self, sequences: int, at_most: int) -> int | None:
        """The longest context at which all `sequences` run, 0 when none does."""
        if self.capacity(1) is None:
            return None
        return largest(lambda context: self.holds(context, sequences), at_most)

    def max_sequences(self, context_tokens: int) -> int | None:
        """Sequences of this length at once over all workers, at most max_running_requests of each."""
        held = self.capacity(context_tokens)
        if held is None:
            return None
        workers = self.flags.attention_data
        return workers * largest(lambda each: self.holds(context_tokens, each * workers), held.requests)
