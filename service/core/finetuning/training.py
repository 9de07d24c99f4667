"""What is asked of a fine-tuning, every value decided."""

from dataclasses import dataclass, field
from enum import StrEnum

from service.core.catalogued import Model
from service.core.hardware import Gpu

ALL_LINEAR = "all-linear"
ATTENTION = "attention"
EXPERTS = "experts"
# Smallest and largest accepted value of each numeric parameter.
RANGES: dict[str, tuple[float, float]] = {
    "rank": (1, 4096),
    "sequence_tokens": (1, 2**24),
    "micro_batch": (1, 4096),
    "zero_stage": (0, 3),
}


class Method(StrEnum):
    """What is trained, and how the frozen rest is stored."""

    FULL = "full"  # every parameter
    LORA = "lora"  # adapters beside 16-bit weights
    QLORA = "qlora"  # adapters beside weights in nf4


class Optimizer(StrEnum):
    """The optimizer and the precision of what it keeps."""

    ADAMW = "adamw"  # 32-bit states, a 32-bit master copy of 16-bit weights
    ADAMW_8BIT = "adamw-8bit"  # two 8-bit states, no master copy
    ADAMW_BF16 = "adamw-bf16"  # everything in bf16


@dataclass(frozen=True, slots=True)
class Training:
    """One fine-tuning; names and units are those of the API.

    gpu: None when only the amounts are asked for. targets: what LoRA adapts, `all-linear`, `attention` or
    names of modules. sequence_tokens and micro_batch: one forward pass on one GPU. gpu_count: data-parallel
    GPUs, over which zero_stage divides the states. defaulted: names of the parameters not given.
    """

    model: Model
    gpu: Gpu | None = None
    gpu_count: int = 1
    methods: tuple[Method, ...] = tuple(Method)
    rank: int = 16
    targets: tuple[str, ...] = (ALL_LINEAR,)
    sequence_tokens: int = 2048
    micro_batch: int = 1
    optimizer: Optimizer = Optimizer.ADAMW
    gradient_checkpointing: bool = True
    zero_stage: int = 3
    defaulted: tuple[str, ...] = field(default=())
