"""The same question on other hardware: what a rented instance would have to hold."""

from dataclasses import dataclass
from typing import Any

from service.core.engines import ENGINES
from service.core.hardware import Gpu, Platform
from service.core.request import PARAMETERS, Request
from service.core.resolve import platforms, resolve
from service.core.scenario import DEGREES, Scenario
from service.core.size import at_least_nothing, judge
from service.core.sizing import Limits, Note, Sizing, Verdict
from service.core.units import ceil_div
from service.errors import InvalidParameters

_NO_LIMITS = Limits(None, None, None, None)
RUNS = (Verdict.FITS, Verdict.TIGHT)
# Settings of one machine; another has its own.
_OF_THE_MACHINE = frozenset(
    {"gpu_count", "engine", "quantization", "backend", "platform", "system_memory_gib", *DEGREES}
    | {"kv_cache_memory_bytes"}
)


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The scenario on other hardware. reasons: why it does not run there.

    sizing: without its limits, which take a search; None when the engine has no layout for that number.
    """

    gpu: Gpu
    gpu_count: int
    sizing: Sizing | None
    verdict: Verdict
    reasons: tuple[Note, ...]

    @property
    def runs(self) -> bool:
        """Whether it fits, tightly or not."""
        return self.verdict in RUNS


def on_hardware(scenario: Scenario, gpu: Gpu, gpu_count: int) -> Elsewhere:
    """The scenario on `gpu_count` accelerators of another kind, per GPU, in their default layout.

    Engine and format stay; what was given for the caller's own machine is dropped. Rented is a server.
    """
    try:
        moved = resolve(_request(scenario, gpu, gpu_count))
    except InvalidParameters:
        note = Note("no_layout_on_gpus", {"gpu": gpu.name, "gpu_count": gpu_count})
        return Elsewhere(gpu, gpu_count, None, Verdict.UNSUPPORTED, (note,))
    sizing = sized_without_limits(moved)
    return Elsewhere(gpu, gpu_count, sizing, sizing.verdict, sizing.reasons)


def sized_without_limits(scenario: Scenario) -> Sizing:
    """The sizing of a scenario, its limits left out: each takes a search."""
    plan = at_least_nothing(ENGINES[scenario.engine].plan(scenario, limits=False))
    verdict, reasons = judge(scenario, plan)
    usable, total = plan.usable_bytes, plan.fullest.total
    return Sizing(
        scenario=scenario,
        plan=plan,
        verdict=verdict,
        headroom_bytes=None if usable is None else usable - total,
        utilization=total / usable if usable else None,
        reasons=reasons,
        warnings=plan.warnings,
        limits=_NO_LIMITS,
    )


def fewest(scenario: Scenario, gpu: Gpu) -> Elsewhere:
    """The scenario on the fewest accelerators of one machine that run it; if none do, on all it has."""
    most = gpu.max_per_node
    found = on_hardware(scenario, gpu, 1)
    if found.runs or most == 1:
        return found
    for count in range(_floor(found), most + 1):
        found = on_hardware(scenario, gpu, count)
        if found.runs or found.verdict is Verdict.UNKNOWN:
            return found
    note = Note("exceeds_one_machine", {"gpu": gpu.name, "gpu_count": most})
    return Elsewhere(gpu, most, found.sizing, Verdict.DOES_NOT_FIT, (note,))


def _floor(single: Elsewhere) -> int:
    """Fewer cannot hold the weights once."""
    if single.sizing is None or not single.sizing.plan.usable_bytes:
        return 2
    plan = single.sizing.plan
    return max(2, ceil_div(plan.total.weights, plan.usable_bytes or 1))


def _request(scenario: Scenario, gpu: Gpu, gpu_count: int) -> Request:
    kept: dict[str, Any] = {
        name: getattr(scenario, name)
        for name in PARAMETERS
        if name not in _OF_THE_MACHINE and name not in scenario.defaulted
    }
    server = Platform.LINUX_SERVER
    return Request(
        model=scenario.model,
        gpu=gpu,
        gpu_count=gpu_count,
        engine=scenario.engine,
        quantization=scenario.quantization,
        platform=server if server in platforms(gpu) else None,
        **kept,
    )
