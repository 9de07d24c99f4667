"""The one shape that every engine module has."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from service.core.architecture.model import Architecture
from service.core.evidence import Evidence
from service.core.hardware import Gpu
from service.core.request import Request
from service.core.scenario import Scenario
from service.core.sizing import EnginePlan, Note
from service.core.weights.table import WeightTable


@dataclass(frozen=True, slots=True)
class EngineDefaults:
    """What an engine does when a flag is not given, for one model on one accelerator.

    kv_cache_dtype: what `auto` means here. memory_utilization: None where the engine has no such flag.
    """

    kv_cache_dtype: str
    memory_utilization: float | None
    max_batched_tokens: int
    prefix_caching: bool
    vision: bool


class Engine(Protocol):
    """An inference engine: what it accepts, what it does by default, and what it allocates.

    preference: lower is asked first for a format that several engines load.
    formats: quantization ids it loads; default_format: the one meant when none is named.
    kv_dtypes: values of kv_cache_dtype beside `auto`.
    separate_value_dtype: K and V may have different types. splits_layers: several GPUs share the model by
    whole layers (llama.cpp family, MLX), not by tensors. offloads: cpu_offload_percent is possible.
    An engine may also derive its figures step by step: `service.core.derivation.explained.Explains`.
    modelled: false while another engine's allocation stands in for its own.
    """

    @property
    def id(self) -> str: ...  # noqa: D102

    @property
    def version(self) -> str: ...  # noqa: D102

    @property
    def preference(self) -> int: ...  # noqa: D102

    @property
    def modelled(self) -> bool: ...  # noqa: D102

    @property
    def formats(self) -> frozenset[str]: ...  # noqa: D102

    @property
    def default_format(self) -> str: ...  # noqa: D102

    @property
    def kv_dtypes(self) -> tuple[str, ...]: ...  # noqa: D102

    @property
    def separate_value_dtype(self) -> bool: ...  # noqa: D102

    @property
    def splits_layers(self) -> bool: ...  # noqa: D102

    @property
    def offloads(self) -> bool: ...  # noqa: D102

    def loads_native(self, architecture: Architecture) -> bool:
        """Whether the engine loads this architecture's published checkpoint as it is."""
        ...

    def defaults(
        self, architecture: Architecture, gpu: Gpu, tensor_parallel: int, context_tokens: int
    ) -> EngineDefaults:
        """What the engine chooses when the caller says nothing."""
        ...

    def plan(self, scenario: Scenario, *, limits: bool = True) -> EnginePlan:
        """The allocation for a scenario, computed whatever the verdict.

        limits: false leaves the largest context and the most sequences out, which cost a search.
        """
        ...


@runtime_checkable
class Settles(Protocol):
    """An engine with a default that depends on the whole scenario; the method is optional for an engine."""

    def settle(self, scenario: Scenario) -> Scenario:
        """The scenario with such defaults replaced by the engine's own values."""
        ...


@runtime_checkable
class Reads(Protocol):
    """An engine whose users name a layout otherwise than the API does; the method is optional."""

    def read(self, request: Request) -> Request:
        """The request with the degrees of such a layout in the API's sense."""
        ...


def short_of_pool(pool_bytes: int, missing: int) -> Note:
    """Why a KV cache fixed by hand does not do; missing: bytes that it lacks itself, 0 for the request's."""
    if missing:
        return Note("pool_exceeds_memory", {"pool_bytes": pool_bytes, "missing": missing})
    return Note("request_exceeds_pool", {"pool_bytes": pool_bytes})


def weight_notes(table: WeightTable) -> tuple[Note, ...]:
    """What to say of weights that no recipe and no published size backs."""
    if table.estimated:
        return (Note("estimated_quantization", {"format": table.quantization}),)
    if table.quantization == "native" and table.evidence is Evidence.ESTIMATE:
        return (Note("estimated_native_weights"),)
    return ()
