"""The fraction-of-free rule: what the pools get, and what that means for "usable"."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

from service.core.architecture.kinds import Kinds
from service.core.engines.tensorrt_llm.cache import BLOCK, CacheConfig, Rates, rates, state_bytes
from service.core.sizing import Memory
from service.core.units import ceil_div

FREE_FRACTION = 0.9  # free_gpu_memory_fraction


@dataclass(frozen=True, slots=True)
class Stage:
    """A rank of one pipeline stage. activations: peak of the profiling step."""

    weights: int
    activations: int
    overhead: int
    kept: Kinds
    config: CacheConfig
    rates: Rates = field(init=False, repr=False, compare=False)
    state_bytes: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # A search asks for the same bytes at many contexts.
        object.__setattr__(self, "rates", rates(self.kept, self.config))
        object.__setattr__(self, "state_bytes", state_bytes(self.kept, self.config))

    @property
    def peak(self) -> int:
        """Bytes taken before the pools."""
        return self.weights + self.activations + self.overhead

    def need(self, context_tokens: int, sequences: int) -> int:
        """Bytes that the sequences take of the pools."""
        return sequences * (self.rates.cache_bytes(context_tokens) + self.state_bytes)

    def memory(self, context_tokens: int, sequences: int) -> Memory:
        """The terms of this rank."""
        return Memory(
            weights=self.weights,
            kv_cache=sequences * self.rates.cache_bytes(context_tokens),
            recurrent_state=sequences * self.state_bytes,
            compute_buffers=self.activations,
            runtime_overhead=self.overhead,
        )


@dataclass(frozen=True, slots=True)
class Budget:
    """The ranks against the memory that is free at start.

    TensorRT-LLM loads, profiles, and gives the pools `fraction` of what is then still free
    (_torch/pyexecutor/_util.py _cal_max_memory), so the rest is never used: pool = fraction * (free - peak).
    "Usable" is therefore what the engine fills, peak + pool: 90 % of the free memory for a small model and
    all of it where nothing is left for pools. With it, total <= usable exactly when the sequences fit into
    the pool, because total = peak + need. Of several pipeline stages the one with the least to spare decides
    (ranks agree on the smallest pool), and usable is given for the fullest rank: its total plus that spare.
    A pool pinned by hand takes the place of the fraction.

    free_bytes: per GPU, None when unknown. replicas: data-parallel engines, which share the sequences.
    """

    stages: Sequence[Stage]
    free_bytes: int | None
    fraction: float
    pinned_bytes: int | None = None
    replicas: int = 1

    def pool(self, stage: Stage) -> int | None:
        """Bytes of the pools of a rank."""
        if self.pinned_bytes is not None:
            return self.pinned_bytes
        if self.free_bytes is None:
            return None
        return int(max(0, self.free_bytes - stage.peak) * self.fraction)

    def usable(self, context_tokens: int, sequences: int) -> int | None:
        """Usable bytes of the fullest rank, None when the memory is unknown."""
        if self.free_bytes is None:
            return None
        each = ceil_div(sequences, self.replicas)
        needs = [stage.need(context_tokens, each) for stage in self.stages]
        totals = [stage.peak + need for stage, need in zip(self.stages, needs, strict=True)]
        spare = min(self._spare(stage, need) for stage, need in zip(self.stages, needs, strict=True))
        return max(totals) + spare

    def _spare(self, stage: Stage, need: int) -> int:
        """Bytes of the pool that the sequences leave; negative by what is missing."""
        free = (self.free_bytes or 0) - stage.peak
        if self.pinned_bytes is not None or free < 0:
            return free - need
        return (self.pool(stage) or 0) - need

    def holds(self, context_tokens: int, sequences: int) -> bool:
        """Whether the pools of every stage hold the sequences."""
        each = ceil_div(sequences, self.replicas)
        return all((self.pool(stage) or 0) >= stage.need(context_tokens, each) for stage in self.stages)

    def capacity_tokens(self, context_tokens: int) -> int | None:
        """Tokens that one replica's pools hold, in sequences of this length where windows or states count."""
        counts = [
            _tokens(pool, stage, context_tokens)
            for stage in self.stages
            if (pool := self.pool(stage)) is not None and stage.need(context_tokens, 1)
        ]
        return min(counts, default=None)

    def max_context_tokens(self, sequences: int, at_most: int) -> int | None:
        """The longest context at which all `sequences` fit, 0 when none does."""
        if self.pinned_bytes is None and self.free_bytes is None:
            return None
        each = ceil_div(sequences, self.replicas)
        # Of the stages that keep alike, the one with the smallest pool decides.
        pools: dict[tuple[Rates, int], tuple[int, Stage]] = {}
        for stage in self.stages:
            pool, kept = self.pool(stage) or 0, (stage.rates, stage.state_bytes)
            pools[kept] = min(pools.get(kept, (pool, stage)), (pool, stage), key=itemgetter(0))
        return _largest(
            lambda context: all(pool >= stage.need(context, each) for pool, stage in pools.values()), at_most
        )

    def max_sequences(self, context_tokens: int, at_most: int) -> int | None:
        """Sequences of this length at once over all replicas, at most `at_most` in each."""
        if self.pinned_bytes is None and self.free_bytes is None:
            return None
        each = [
            (self.pool(stage) or 0) // need
            for stage in self.stages
            if (need := stage.need(context_tokens, 1))
        ]
        return self.replicas * min([at_most, *each])


def _tokens(pool: int, stage: Stage, context_tokens: int) -> int:
    """Tokens in a pool; where every block counts alike, whole blocks."""
    block = stage.need(BLOCK, 1)
    if block * 2 == stage.need(2 * BLOCK, 1) and stage.need(context_tokens, 1) == block * ceil_div(
        context_tokens, BLOCK
    ):
        return pool // block * BLOCK
    return int(pool / stage.need(context_tokens, 1) * context_tokens)


def _largest(fits: Callable[[int], bool], at_most: int) -> int:
    """The largest value up to `at_most` that fits, 0 when 1 does not; `fits` is monotone."""
    low, high = 0, at_most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low
