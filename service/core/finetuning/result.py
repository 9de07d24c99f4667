"""The frozen answer about a fine-tuning."""

from collections.abc import Mapping
from dataclasses import dataclass

from service.core.finetuning.training import Method, Training
from service.core.hardware import Gpu
from service.core.notes import Note
from service.core.sizing import Sourced, Verdict


@dataclass(frozen=True, slots=True)
class TrainingMemory:
    """Terms of GPU memory in bytes; `total` is always their sum.

    weights: the model. adapters: weights of LoRA. gathered_weights: layers that ZeRO-3 holds whole for a
    moment. dequantization: the largest nf4 matrix at 16 bit.
    """

    weights: int = 0
    adapters: int = 0
    gradients: int = 0
    optimizer: int = 0
    activations: int = 0
    gathered_weights: int = 0
    dequantization: int = 0
    runtime_overhead: int = 0

    @property
    def total(self) -> int:
        """Sum of the terms."""
        return sum(getattr(self, name) for name in self.__slots__)

    def times(self, count: int) -> "TrainingMemory":
        """The same memory on `count` GPUs."""
        return TrainingMemory(*(getattr(self, name) * count for name in self.__slots__))


TERMS: tuple[str, ...] = TrainingMemory.__slots__


@dataclass(frozen=True, slots=True)
class Placement:
    """A number of accelerators that runs a fine-tuning, and what one of them holds."""

    gpu: Gpu
    gpu_count: int
    per_gpu_bytes: int
    usable_bytes: int


@dataclass(frozen=True, slots=True)
class FineTuning:
    """One method: what it takes on each GPU, whether that fits, and what would do.

    verdict: None when no accelerator was named. min_gpu_count: of that accelerator; None when no number up to
    1024 is enough. smallest: the fewest accelerators of the catalog, and of those the ones with least memory.
    """

    method: Method
    parameters: int
    trainable_parameters: int
    per_gpu: TrainingMemory
    usable_bytes: int | None
    verdict: Verdict | None
    reasons: tuple[Note, ...]
    min_gpu_count: int | None
    smallest: Placement | None
    notes: tuple[Note, ...]
    evidence: Mapping[str, Sourced]

    @property
    def headroom_bytes(self) -> int | None:
        """Usable memory less the need, per GPU; may be negative."""
        return None if self.usable_bytes is None else self.usable_bytes - self.per_gpu.total

    @property
    def utilization(self) -> float | None:
        """Need divided by usable memory, per GPU."""
        return self.per_gpu.total / self.usable_bytes if self.usable_bytes else None


@dataclass(frozen=True, slots=True)
class FineTunings:
    """The whole answer: the question and one result for each method."""

    training: Training
    results: tuple[FineTuning, ...]
