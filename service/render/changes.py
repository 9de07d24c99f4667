"""The nearest value of each parameter at which the scenario fits, everything else the same."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from service.catalog import Catalog
from service.core.engines import ENGINES
from service.core.hardware import Gpu
from service.core.scenario import Scenario
from service.core.size import with_gpu_count
from service.core.sizing import Sizing, Verdict
from service.errors import InvalidParameters
from service.render import amounts
from service.render.what_if import Outcome, at_context, changed, in_format, on_gpu, planned

RUNS = (Verdict.FITS, Verdict.TIGHT)
Value = int | str


@dataclass(frozen=True, slots=True)
class Change:
    """One parameter's value now and the one that fits, with the outcome there."""

    parameter: str
    now: Value
    to: Value
    outcome: Outcome

    def entry(self) -> dict[str, Any]:
        """The change as JSON; GPUs by name."""
        plan = self.outcome.plan
        usable = plan.usable_bytes
        return {
            "parameter": self.parameter,
            "now": self.now,
            "to": self.to,
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
        yield from _of("gpu_count", scenario.gpu_count, count, _on_count(scenario, count))
    yield from _gpu(sizing, catalog.gpus)


def largest_format(sizing: Sizing) -> Outcome | None:
    """The outcome in the largest format of the same engine that fits."""
    scenario = sizing.scenario
    engine = ENGINES[scenario.engine]
    found = (in_format(scenario, name) for name in sorted(engine.formats))
    fitting = [outcome for outcome in found if outcome is not None and outcome.verdict in RUNS]
    return max(fitting, key=lambda outcome: outcome.plan.model_weights_bytes, default=None)


def smaller_kv_types(scenario: Scenario) -> list[Outcome]:
    """Outcomes with every KV type that makes the cache smaller, in the engine's order."""
    engine = ENGINES[scenario.engine]
    now = planned(scenario).total.kv_cache
    found = (changed(scenario, kv_cache_dtype=name, kv_cache_dtype_v=None) for name in engine.kv_dtypes)
    return [o for o in found if o is not None and o.plan.total.kv_cache < now and not o.plan.refusals]


def _of(parameter: str, now: Value, to: Value, outcome: Outcome | None) -> Iterator[Change]:
    if outcome is not None and to != now and outcome.verdict in RUNS:
        yield Change(parameter, now, to, outcome)


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


def _gpu(sizing: Sizing, gpus: Mapping[str, Gpu]) -> Iterator[Change]:
    """The accelerator with the least memory that holds it, in the same number."""
    scenario = sizing.scenario
    known = [
        gpu for gpu in gpus.values() if gpu.memory_bytes and gpu.exists and gpu.backends(scenario.engine)
    ]
    for gpu in sorted(known, key=lambda gpu: (gpu.memory_bytes or 0, gpu.id)):
        if scenario.gpu_count > gpu.max_per_node:
            continue
        found = on_gpu(scenario, gpu, scenario.gpu_count)
        if found is not None and found.verdict in RUNS:
            yield from _of("gpu", scenario.gpu.name, gpu.name, found)
            return
