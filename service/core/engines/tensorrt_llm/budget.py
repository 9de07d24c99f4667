"""The fraction-of-free rule: what the pools get, and what that means for "usable"."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter

from service.core.arrays import chosen, floor, larger
from service.core.engines.tensorrt_llm.cache import BLOCK, Rates
from service.core.sizing import Memory
from service.core.units import ceil_div

FREE_FRACTION = 0.9  # free_gpu_memory_fraction


@dataclass(frozen=True, slots=True)
class Stage:
    """A rank of one pipeline stage, or of many at once where the numbers are arrays.

    activations: peak of the profiling step. rates, state_bytes: what one sequence takes of the pools.
    """

    weights: int
    activations: int
    overhead: int
    rates: Rates
    state_bytes: int

    @property
    def peak(self) -> int:
        """Bytes taken before the pools."""
        return self.weights + self.activations + self.overhead

    def pool(self, free_bytes: int, fraction: float) -> int:
        """Bytes of the pools, which get a fraction of what is free after loading and profiling."""
        return floor(larger(0, free_bytes - self.peak) * fraction)

    def spare(self, free_bytes: int, fraction: float, need: int, *, pinned: bool = False) -> int:
        """Bytes of the pools that the sequences leave; negative by what is missing.

        pinned: pools of a size fixed by hand, beside which the free memory counts.
        """
        left = free_bytes - self.peak
        if pinned:
            return left - need
        return chosen(left < 0, left, self.pool(free_bytes, fraction)) - need

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

    @property
    def missing(self) -> int:
        """Bytes that a pool pinned by hand lacks beside weights and activations."""
        if self.pinned_bytes is None or self.free_bytes is None:
            return 0
        return max(0, max(stage.peak for stage in self.stages) + self.pinned_bytes - self.free_bytes)

    def pool(self, stage: Stage) -> int | None:
        """Bytes of the pools of a rank."""
        if self.pinned_bytes is not None:
            return self.pinned_bytes
        if self.free_bytes is None:
            return None
        return stage.pool(self.free_bytes, self.fraction)

    def usable(self, context_tokens: int, sequences: int) -> int | None:
        """Usable bytes of the fullest rank, None when the memory is unknown."""
        free = self.free_bytes
        if free is None:
            return None
        each, pinned = ceil_div(sequences, self.replicas), self.pinned_bytes is not None
        needs = [stage.need(context_tokens, each) for stage in self.stages]
        totals = [stage.peak + need for stage, need in zip(self.stages, needs, strict=True)]
        spare = min(
            stage.spare(free, self.fraction, need, pinned=pinned)
            for stage, need in zip(self.stages, needs, strict=True)
        )
        return max(totals) + spare

    def holds(self, context_tokens: int, sequences: int) -> bool:
        """Whether the pools of every stage hold the sequences."""
        each = ceil_div(sequences, self.replicas)
        return not self.missing and all(
            (self.pool(stage) or 0) >= stage.need(context_tokens, each) for stage in self.stages
        )

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
        if self.missing:
            return 0
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
        if self.missing:
            return 0
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
