"""An accelerator as the sizing sees it."""

from dataclasses import dataclass
from enum import StrEnum

from service.core.evidence import Evidence
from service.core.provenance import ProvidedBy


class GpuKind(StrEnum):
    """The market an accelerator is made for; it decides the default platform."""

    CONSUMER = "consumer"
    WORKSTATION = "workstation"
    DATACENTER = "datacenter"
    UNIFIED = "unified"


class Platform(StrEnum):
    """The operating environment, which decides how much of the memory is free."""

    LINUX_SERVER = "linux-server"
    LINUX_DESKTOP = "linux-desktop"
    WINDOWS = "windows"
    MACOS = "macos"


@dataclass(frozen=True, slots=True)
class EngineOnGpu:
    """An engine that runs on the accelerator, through which backend, and how well known that is.

    port: only as a fork, plug-in or vendor build beside the engine's own releases, or unverified.
    """

    engine: str
    backend: str
    note: str | None = None
    port: bool = False


@dataclass(frozen=True, slots=True)
class Tflops:
    """Dense matrix rates in TFLOPS (TOPS for int8); None = the format has no hardware, or is not known."""

    fp16: float | None = None
    fp8: float | None = None
    int8: float | None = None
    fp4: float | None = None


@dataclass(frozen=True, slots=True)
class Gpu:
    """Facts of one accelerator (one device, or one machine with unified memory).

    memory_bytes: the total that the driver reports; None when it is not known.
    label_gb: the number on the box, never used in arithmetic.
    unified_usable_fraction: part of a unified memory that the GPU may use by default.
    compute_capability: NVIDIA SM version such as 90, None elsewhere.
    exists: false for a product that was named but never sold.
    usd_per_hour: rent that a caller gave for an accelerator of their own; catalog prices are offers.
    provided_by: who states the facts; `evidence` says how well they are known.
    """

    id: str
    name: str
    vendor: str
    family: str
    kind: GpuKind
    memory_bytes: int | None
    memory_evidence: Evidence
    label_gb: int
    memory_bandwidth_gbs: float | None
    tflops: Tflops
    tdp_watts: int | None
    interconnect: str | None
    interconnect_gbs: float | None
    max_per_node: int
    engines: tuple[EngineOnGpu, ...]
    evidence: str
    sources: tuple[str, ...]
    released: str | None = None
    memory_type: str | None = None
    unified_usable_fraction: float | None = None
    compute_capability: int | None = None
    price_usd: float | None = None
    aliases: tuple[str, ...] = ()
    notes: str | None = None
    exists: bool = True
    usd_per_hour: float | None = None
    provided_by: ProvidedBy = ProvidedBy.CATALOG

    def port(self, engine: str, backend: str) -> EngineOnGpu | None:
        """The engine on a backend where it runs only as a port; None where its own releases do."""
        return next((e for e in self.engines if (e.engine, e.backend) == (engine, backend) and e.port), None)

    def backends(self, engine: str) -> tuple[str, ...]:
        """Backends through which `engine` runs here, preferred first; empty when it does not run."""
        return tuple(e.backend for e in self.engines if e.engine == engine)
