"""One pipeline stage's rank: what is taken before the pool, and what the pool can then hold.

Source: vLLM 0.33.0 v1/worker/gpu_worker.py determine_available_memory,
v1/core/kv_cache_planning.py get_kv_cache_configs.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import ceil

from service.core.engines.vllm.buffers import Activations
from service.core.engines.vllm.pool import Demand
from service.core.hardware import Gpu
from service.core.scenario import Scenario
from service.core.sizing import Memory
from service.core.units import ceil_div

UTILIZATION = 0.92  # default of --gpu-memory-utilization


@dataclass(frozen=True, slots=True)
class Stage:
    """A rank of one pipeline stage, or of many at once where the numbers are arrays.

    loaded_buffers: what loading adds to the weights. workspace_per_token: buffer bytes for each token of the
    context.
    """

    weights: int
    loaded_buffers: int
    activations: Activations
    fixed_buffers: int
    workspace_per_token: int
    overhead: int
    demand: Demand

    def buffers(self, context_tokens: int, sequences: int) -> int:
        """Compute buffers at a maximum context and number of sequences."""
        workspace = self.workspace_per_token * context_tokens
        fixed = self.loaded_buffers + self.fixed_buffers
        return self.activations.peak(sequences) + fixed + workspace

    def taken(self, context_tokens: int, sequences: int) -> int:
        """Bytes beside the pool."""
        return self.weights + self.buffers(context_tokens, sequences) + self.overhead

    def memory(self, context_tokens: int, sequences: int) -> Memory:
        """The terms of this rank for `sequences` of `context_tokens`.

        The pool is one, and kv_cache is all that the sequences reserve of it: keys, values, index keys and
        windows, and the pages of recurrent layers and running compressors beside them. recurrent_state is
        therefore 0 here. The null block that vLLM holds back is runtime overhead.
        """
        block = self.demand.bytes_per_block
        return Memory(
            weights=self.weights,
            kv_cache=block * self.demand.blocks(context_tokens, sequences),
            compute_buffers=self.buffers(context_tokens, sequences),
            runtime_overhead=self.overhead + block,
        )


def binding(stages: Iterable[Stage]) -> tuple[Stage, ...]:
    """Of stages with the same demand, the one whose pool is smallest; the others never decide."""
    fullest: dict[Demand, Stage] = {}
    for stage in stages:
        known = fullest.get(stage.demand)
        if known is None or _fixed(stage) > _fixed(known):
            fullest[stage.demand] = stage
    return tuple(fullest.values())


def _fixed(stage: Stage) -> int:
    """Bytes of a stage that depend on neither context nor sequences."""
    return stage.weights + stage.loaded_buffers + stage.fixed_buffers


def admits(stage: Stage, pool_bytes: int, context_tokens: int, sequences: int) -> bool:
    """Whether a rank's pool can admit `sequences` of this length, the null block set apart; also arrays."""
    blocks = stage.demand.blocks(context_tokens, sequences) + 1
    return pool_bytes >= blocks * stage.demand.bytes_per_block


@dataclass(frozen=True, slots=True)
class Budget:
    """The ranks of a deployment against the memory of its GPU.

    usable_bytes: per GPU, None when unknown. pinned_bytes: the pool when the caller fixed it; nothing is
    subtracted from it. replicas: data-parallel engines, which share the sequences.
    """

    stages: Sequence[Stage]
    usable_bytes: int | None
    pinned_bytes: int | None
    replicas: int = 1

    def pool(self, stage: Stage, context_tokens: int, each: int = 1) -> int | None:
        """Bytes of the block pool on a rank that serves `each` sequences."""
        if self.pinned_bytes is not None:
            return self.pinned_bytes
        if self.usable_bytes is None:
            return None
        return self.usable_bytes - stage.taken(context_tokens, each)

    def missing(self, context_tokens: int, sequences: int) -> int:
        """Bytes that a pool fixed by hand lacks beside weights and buffers, which vLLM does not check."""
        if self.pinned_bytes is None or self.usable_bytes is None:
            return 0
        each = ceil_div(sequences, self.replicas)
        taken = max(stage.taken(context_tokens, each) for stage in self.stages)
        return max(0, taken + self.pinned_bytes - self.usable_bytes)

    def holds(self, context_tokens: int, sequences: int) -> bool:
        """Whether every stage can admit `sequences` of this length, the null block set apart."""
        each = ceil_div(sequences, self.replicas)
        if self.missing(context_tokens, sequences):
            return False
        for stage in self.stages:
            if not admits(stage, self.pool(stage, context_tokens, each) or 0, context_tokens, each):
                return False
        return True

    def capacity_tokens(self, context_tokens: int, sequences: int) -> int | None:
        """ "GPU KV cache size" of one engine: the stage with the least decides."""
        printed = []
        for stage in self.stages:
            pool = self.pool(stage, context_tokens, ceil_div(sequences, self.replicas))
            tokens = None if pool is None else stage.demand.printed_tokens(pool, context_tokens)
            if tokens is not None:
                printed.append(tokens)
        return min(printed, default=None)

    def max_context_tokens(self, sequences: int, at_most: int) -> int | None:
        """The longest context at which all `sequences` fit, 0 when none does."""
        if not self.known:
            return None
        return largest(lambda context: self.holds(context, sequences), at_most)

    def max_sequences(self, context_tokens: int) -> int | None:
        """Sequences of this length at once over all replicas, one of each being admitted."""
        if not self.known:
            return None
        bounds = [
            (self.pool(stage, context_tokens) or 0) // (steady * stage.demand.bytes_per_block)
            for stage in self.stages
            if (steady := stage.demand.steady(context_tokens))
        ]
        if not bounds:
            return None
        most = max(0, min(bounds))
        return self.replicas * largest(lambda each: self.holds(context_tokens, each * self.replicas), most)

    @property
    def known(self) -> bool:
        """Whether there is a pool to measure against."""
        return self.pinned_bytes is not None or self.usable_bytes is not None


def usable_bytes(gpu: Gpu, scenario: Scenario) -> int | None:
    """What vLLM may use of the GPU: the requested share, or everything when the pool is fixed by hand."""
    if gpu.memory_bytes is None or not gpu.exists:
        return None
    if scenario.kv_cache_memory_bytes is not None:  # bypasses --gpu-memory-utilization
        return gpu.memory_bytes - scenario.reserved_memory_bytes
    share = UTILIZATION if scenario.memory_utilization is None else scenario.memory_utilization
    return ceil(gpu.memory_bytes * share) - scenario.reserved_memory_bytes


def largest(fits: Callable[[int], bool], at_most: int) -> int:
    """The largest value up to `at_most` that fits, 0 when 1 does not; `fits` is monotone."""
    if at_most < 1 or fits(at_most):
        return max(0, at_most)
    low, high = 0, at_most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
