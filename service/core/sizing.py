"""The frozen result of a sizing."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from service.core.evidence import Evidence
from service.core.notes import Note as Note
from service.core.scenario import Scenario


class Verdict(StrEnum):
    """The answer to "does it fit", per GPU."""

    FITS = "fits"
    TIGHT = "tight"
    DOES_NOT_FIT = "does_not_fit"
    UNSUPPORTED = "unsupported"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Memory:
    """Terms of GPU memory in bytes; `total` is always their sum."""

    weights: int = 0
    kv_cache: int = 0
    recurrent_state: int = 0
    compute_buffers: int = 0
    runtime_overhead: int = 0

    @property
    def total(self) -> int:
        """Sum of the terms."""
        return (
            self.weights + self.kv_cache + self.recurrent_state + self.compute_buffers + self.runtime_overhead
        )

    def times(self, count: int) -> "Memory":
        """The same memory on `count` GPUs."""
        return Memory(*(getattr(self, name) * count for name in self.__slots__))

    def plus(self, other: "Memory") -> "Memory":
        """Term by term sum."""
        return Memory(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))


@dataclass(frozen=True, slots=True)
class Rank:
    """What each of `count` GPUs that are alike holds."""

    count: int
    memory: Memory


@dataclass(frozen=True, slots=True)
class Sourced:
    """The evidence of one term and where its rule comes from."""

    evidence: Evidence
    source: str


@dataclass(frozen=True, slots=True)
class Limits:
    """What the configuration could hold at most; None only where a limit has no value of its own."""

    max_context_tokens: int | None
    max_concurrent_sequences: int | None
    kv_cache_capacity_tokens: int | None
    min_gpu_count: int | None


@dataclass(frozen=True, slots=True)
class EnginePlan:
    """What an engine would allocate for a scenario, whatever the GPU holds.

    ranks: groups of GPUs that are alike; the fullest decides.
    host_bytes: what the engine keeps in system RAM.
    kv_bytes_per_token: one sequence, before any split, growing layers and index keys.
    kv_window_bytes_per_sequence / state_bytes_per_sequence: the constant parts, before any split.
    usable_bytes: per GPU, None when the memory is not known. The limits ignore the verdict.
    model_weights_bytes: the model in this format, each tensor once, wherever it is kept.
    shortages: memory that is missing beside a total above usable_bytes.
    refusals: flags that the engine does not take for this model.
    """

    ranks: tuple[Rank, ...]
    host_bytes: int
    kv_bytes_per_token: int
    kv_window_bytes_per_sequence: int
    state_bytes_per_sequence: int
    usable_bytes: int | None
    kv_cache_capacity_tokens: int | None
    max_context_tokens: int | None
    max_concurrent_sequences: int | None
    evidence: Mapping[str, Sourced]
    model_weights_bytes: int = 0
    warnings: tuple[Note, ...] = ()
    shortages: tuple[Note, ...] = ()
    refusals: tuple[Note, ...] = ()

    @property
    def fullest(self) -> Memory:
        """The memory of the GPU that holds most."""
        return max((rank.memory for rank in self.ranks), key=lambda memory: memory.total)

    @property
    def total(self) -> Memory:
        """The memory over all GPUs."""
        result = Memory()
        for rank in self.ranks:
            result = result.plus(rank.memory.times(rank.count))
        return result


@dataclass(frozen=True, slots=True)
class Sizing:
    """The whole answer for one scenario."""

    scenario: Scenario
    plan: EnginePlan
    verdict: Verdict
    headroom_bytes: int | None
    utilization: float | None
    reasons: tuple[Note, ...]
    warnings: tuple[Note, ...]
    limits: Limits
