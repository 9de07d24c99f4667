"""The nearest value of each parameter at which the scenario fits, everything else the same."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from service.catalog import Catalog
from service.core.engines import ENGINES
from service.core.hardware import Gpu
from service.core.planning.formats import format_bytes
from service.core.planning.reach import Reach
from service.core.scenario import DEGREES, Scenario
from service.core.size import with_gpu_count
from service.core.sizing import EnginePlan, Sizing, Verdict
from service.core.speed.run import family
from service.errors import InvalidParameters
from service.render import amounts
from service.render.what_if import (
    OF_THE_MACHINE,
    Outcome,
    at_context,
    changed,
    on_gpu,
    planned,
    scenario_in_format,
)

RUNS = (Verdict.FITS, Verdict.TIGHT)
Value = int | str


# What would no longer hold after a change, or no longer be what it was.
_DROPPED: Mapping[str, Mapping[str, None]] = {
    "context_tokens": {"prompt_tokens": None, "output_tokens": None},
    "kv_cache_dtype": {"kv_cache_dtype_v": None},
}


@dataclass(frozen=True, slots=True)
class Change:
    """One parameter's value now and the one that fits, with the outcome there.

    dropped: parameters that were given and that the outcome is without.
    """

    parameter: str
    now: Value
    to: Value
    outcome: Outcome
    dropped: tuple[str, ...] = ()

    def sets(self) -> dict[str, Any]:
        """Parameters of the API that make the change and keep the rest; None: no longer given."""
        scenario = self.outcome.scenario
        kept: dict[str, Any] = {"engine": scenario.engine, "quantization": scenario.quantization}
        if any(name in DEGREES for name in self.dropped):  # the number may have followed from them
            kept["gpu_count"] = scenario.gpu_count
        dropped = {**_DROPPED.get(self.parameter, {}), **dict.fromkeys(self.dropped)}
        return {**kept, **dropped, self.parameter: _value(scenario, self.parameter)}

    def entry(self) -> dict[str, Any]:
        """The change as JSON; GPUs by name."""
        plan = self.outcome.plan
        usable = plan.usable_bytes
        return {
            "parameter": self.parameter,
            "now": self.now,
            "to": self.to,
            "sets": self.sets(),
            "verdict": str(self.outcome.verdict),
            "per_gpu_total": amounts.amount(plan.fullest.total),
            "usable": amounts.maybe_amount(usable),
            "utilization": round(plan.fullest.total / usable, 6) if usable else None,
        }


def nearest(sizing: Sizing, catalog: Catalog) -> Iterator[Change]:
    """Context, sequences, format, KV type, GPU count and GPU at which it fits; those that exist."""
    scenario, limits = sizing.scenario, sizing.limits
    if context := limits.max_context_tokens:
        yield from _of("context_tokens", scenario.context_tokens, context, at_context(scenario, context))
    if sequences := limits.max_concurrent_sequences:
        outcome = changed(scenario, concurrent_sequences=sequences)
        yield from _of("concurrent_sequences", scenario.concurrent_sequences, sequences, outcome)
    if best := largest_format(sizing):
        found = best.scenario.quantization
        yield from _of("quantization", scenario.quantization, found, best)
    yield from _kv_type(sizing)
    if count := limits.min_gpu_count:
        outcome = _on_count(scenario, count)
        yield from _of("gpu_count", scenario.gpu_count, count, outcome, _given(scenario, DEGREES))
    yield from _gpu(sizing, catalog.gpus)


def upgrades(sizing: Sizing, catalog: Catalog) -> Iterator[Change]:
    """More of the same GPUs and the smallest other one at which the verdict gets better; none where it fits.

    What does not run is to run; what is tight is to fit with headroom.
    """
    scenario, limits = sizing.scenario, sizing.limits
    if sizing.verdict is Verdict.FITS:
        return
    wanted = (Verdict.FITS,) if sizing.verdict is Verdict.TIGHT else RUNS
    enough = limits.min_gpu_count if sizing.verdict is not Verdict.TIGHT else scenario.gpu_count + 1
    if enough:
        yield from _more(scenario, range(enough, 2 * enough + 1), wanted)
    yield from _gpu(sizing, catalog.gpus, wanted)


def _more(scenario: Scenario, counts: Iterable[int], wanted: Collection[Verdict]) -> Iterator[Change]:
    """The first number of the same GPUs with a wanted verdict."""
    for count in counts:
        outcome = _on_count(scenario, count)
        if outcome is not None and outcome.verdict in wanted:
            yield from _of("gpu_count", scenario.gpu_count, count, outcome, _given(scenario, DEGREES))
            return


def largest_format(sizing: Sizing) -> Outcome | None:
    """The outcome in the largest format of the same engine that fits; what surely does not is not planned."""
    scenario = sizing.scenario
    model, engine = scenario.model, ENGINES[scenario.engine]
    reach = Reach(model, scenario.gpu, offloads=bool(scenario.cpu_offload_percent))
    loaded = (scenario_in_format(scenario, name) for name in sorted(engine.formats))
    found = [asked for asked in loaded if asked is not None]
    found.sort(key=lambda s: -format_bytes(model, s.quantization, family=family(s.engine, s.quantization)))
    for asked in found:
        if reach.exceeded_by(asked.quantization, asked.gpu_count) is not None:
            continue
        outcome = Outcome.planned(asked)
        if outcome.verdict in RUNS:
            return outcome
        reach.learn(outcome.plan)
    return None


def smaller_kv_types(scenario: Scenario) -> list[Outcome]:
    """Outcomes with every KV type that makes the cache smaller, in the engine's order."""
    engine = ENGINES[scenario.engine]
    now = planned(scenario).total.kv_cache
    found = (changed(scenario, kv_cache_dtype=name, kv_cache_dtype_v=None) for name in engine.kv_dtypes)
    return [o for o in found if o is not None and o.plan.total.kv_cache < now and not o.plan.refusals]


def _value(scenario: Scenario, parameter: str) -> Value:
    """The value that the API takes: the id of a GPU, not its name."""
    value = getattr(scenario, parameter)
    return value.id if isinstance(value, Gpu) else value


def _of(
    parameter: str, now: Value, to: Value, outcome: Outcome | None, dropped: tuple[str, ...] = ()
) -> Iterator[Change]:
    if outcome is not None and to != now and outcome.verdict in RUNS:
        yield Change(parameter, now, to, outcome, dropped)


def _given(scenario: Scenario, names: Iterable[str]) -> tuple[str, ...]:
    """Those of the parameters that the caller gave."""
    return tuple(name for name in names if name not in scenario.defaulted)


def _kv_type(sizing: Sizing) -> Iterator[Change]:
    """Only where it makes the difference: a cache that fits need not shrink."""
    if sizing.verdict in RUNS:
        return
    scenario = sizing.scenario
    fitting = (o for o in smaller_kv_types(scenario) if o.verdict in RUNS)
    if found := next(fitting, None):
        yield Change("kv_cache_dtype", scenario.kv_cache_dtype, found.scenario.kv_cache_dtype, found)


def _on_count(scenario: Scenario, count: int) -> Outcome | None:
    try:
        return Outcome.planned(with_gpu_count(scenario, count))
    except InvalidParameters:
        return None


def from_smallest(gpus: Iterable[Gpu], engine: str, gpu_count: int) -> tuple[Gpu, ...]:
    """Accelerators of which the engine uses so many in one machine, by memory; where it is a port, last."""
    known = (
        gpu
        for gpu in gpus
        if gpu.memory_bytes and gpu.exists and gpu.backends(engine) and gpu_count <= gpu.max_per_node
    )
    return tuple(sorted(known, key=lambda gpu: (_is_port(gpu, engine), gpu.memory_bytes, gpu.id)))


def smallest_gpu(
    scenario: Scenario,
    plan: EnginePlan,
    ordered: Iterable[Gpu],
    wanted: Collection[Verdict] = RUNS,
) -> Outcome | None:
    """The outcome on the first of the ordered accelerators, in the same number, that has a wanted verdict.

    plan: of the scenario where it is; what it puts on a GPU in any case need not be tried on smaller ones.
    """
    least = _anywhere(scenario, plan)
    for gpu in ordered:
        if (gpu.memory_bytes or 0) <= least:
            continue
        found = on_gpu(scenario, gpu, scenario.gpu_count)
        if found is not None and found.verdict in wanted:
            return found
    return None


def _anywhere(scenario: Scenario, plan: EnginePlan) -> int:
    """Bytes on the fullest GPU that are the same on any other; pools of KV cache follow from its memory.

    Degrees that were given are not taken along, and without them each GPU may hold less.
    """
    memory = plan.fullest
    if not all(name in scenario.defaulted for name in DEGREES):
        return 0
    if not ENGINES[scenario.engine].splits_layers:
        return memory.weights
    return memory.weights + memory.kv_cache + memory.recurrent_state


def _gpu(sizing: Sizing, gpus: Mapping[str, Gpu], wanted: Collection[Verdict] = RUNS) -> Iterator[Change]:
    scenario = sizing.scenario
    ordered = from_smallest(gpus.values(), scenario.engine, scenario.gpu_count)
    found = smallest_gpu(scenario, sizing.plan, ordered, wanted)
    if found is not None:
        dropped = _given(scenario, OF_THE_MACHINE)
        yield from _of("gpu", scenario.gpu.name, found.scenario.gpu.name, found, dropped)


def _is_port(gpu: Gpu, engine: str) -> bool:
    """Whether the engine's preferred backend there is only a port."""
    return gpu.port(engine, gpu.backends(engine)[0]) is not None
