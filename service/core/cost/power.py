"""What hardware draws when it works, and what that costs."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from service.core.cost.facts import HostPower
from service.core.cost.money import decimal
from service.core.hardware import Gpu, GpuKind
from service.core.units import ceil_div


@dataclass(frozen=True, slots=True)
class Power:
    """Watts at full load: accelerators at their limit, their share of the hosts, and the site's overhead."""

    gpu_watts: int
    host_watts: int
    pue: float
    source: str

    @property
    def watts(self) -> int:
        """(accelerators + hosts) * PUE."""
        return round((self.gpu_watts + self.host_watts) * decimal(self.pue))

    def usd(self, hours: Decimal, usd_per_kwh: float) -> Decimal:
        """Price of the electricity of so many hours."""
        return self.watts * hours * decimal(usd_per_kwh) / 1000


def power(gpu: Gpu, gpu_count: int, hosts: Mapping[GpuKind, HostPower]) -> Power | None:
    """The power of `gpu_count` accelerators in as few machines as hold them; None without a known limit."""
    if gpu.tdp_watts is None:
        return None
    host = hosts[gpu.kind]
    gpu_watts = gpu.tdp_watts * gpu_count
    machines = ceil_div(gpu_count, gpu.max_per_node)
    shared = round(gpu_watts * decimal(host.per_gpu_watt))
    return Power(gpu_watts, shared + machines * host.per_machine_watts, host.pue, host.source)
