"""What a matrix shares between accelerators: engines whose terms follow from few facts of the GPU."""

from collections.abc import Hashable
from typing import Protocol, runtime_checkable

from service.core.engines.platforms import allowance, context_bytes
from service.core.hardware import Gpu, Platform
from service.core.scenario import Scenario


@runtime_checkable
class Groups(Protocol):
    """An engine that plans alike on accelerators with equal `peers`; the method is optional for an engine."""

    def peers(self, gpu: Gpu, platform: Platform, backend: str) -> Hashable:
        """Everything of the accelerator, beside the GPUs of a node, that the plan follows from."""
        ...


@runtime_checkable
class Offers(Groups, Protocol):
    """An engine that takes what an accelerator offers.

    That depends on its facts, its platform and the caller's own values, never on the model, the format or the
    context.
    """

    def offered(self, scenario: Scenario, gpu: Gpu, platform: Platform) -> int | None:
        """Bytes that a GPU offers a scenario like this one, None when its memory is not known."""
        ...


class FillsMemory:
    """Engines that allocate until what the platform leaves is full: the llama.cpp family and MLX."""

    __slots__ = ()

    def peers(self, gpu: Gpu, platform: Platform, backend: str) -> Hashable:  # noqa: ARG002 - no more is needed
        """The context of the process, the only term that differs."""
        return context_bytes(backend)

    def offered(self, scenario: Scenario, gpu: Gpu, platform: Platform) -> int | None:
        """What the platform allows."""
        return allowance(gpu, platform, scenario.reserved_memory_bytes).bytes
