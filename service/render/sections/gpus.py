"""The same question on every other accelerator of the catalog."""

from collections.abc import Mapping
from typing import Any

from service.catalog import Catalog
from service.core.hardware import Gpu
from service.core.scenario import Scenario
from service.core.sizing import Sizing, Verdict
from service.core.units import ceil_div
from service.i18n.marking import mark, mark_plural
from service.i18n.messages.terms import ENGINES as NAMES
from service.i18n.voice import Voice
from service.render import amounts
from service.render.changes import RUNS
from service.render.what_if import Outcome, on_gpu

MOST_ROWS = 40
_SAME = mark(
    "Each row asks the same question of another GPU: format, context, sequences, engine and number of GPUs "
    "are those of the scenario."
)
_FIT = mark_plural(
    "It fits on one of the %(total)s other GPUs on which %(engine)s runs.",
    "It fits on %(n)s of the %(total)s other GPUs on which %(engine)s runs.",
)
_NONE = mark("It fits on none of the %(total)s other GPUs on which %(engine)s runs.")
_COUNT = mark("The last column is the smallest number within one machine that holds it.")
_CAPPED = mark("The first %(shown)s rows are shown.")


def data(sizing: Sizing, catalog: object) -> dict[str, Any]:
    """Verdict, utilization and smallest number of each; what fits first, the smallest memory first."""
    assert isinstance(catalog, Catalog)
    scenario = sizing.scenario
    others = [
        gpu
        for gpu in catalog.gpus.values()
        if gpu.id != scenario.gpu.id and gpu.exists and gpu.memory_bytes and gpu.backends(scenario.engine)
    ]
    rows = [row for row in (_row(scenario, gpu) for gpu in others) if row is not None]
    rows.sort(key=_order)
    return {
        "model": amounts.model(sizing),
        "engine": scenario.engine,
        "quantization": scenario.quantization,
        "context_tokens": scenario.context_tokens,
        "gpu_count": scenario.gpu_count,
        "total": len(rows),
        "fitting": sum(row["verdict"] in RUNS for row in rows),
        "shown": min(len(rows), MOST_ROWS),
        "rows": rows[:MOST_ROWS],
    }


def sentences(data: Mapping[str, Any], voice: Voice) -> list[str]:
    """What the rows have in common and on how many it fits."""
    values = {
        "total": voice.integer(data["total"]),
        "engine": NAMES.get(data["engine"], data["engine"]),
    }
    fitting = data["fitting"]
    said = [voice.text(_SAME)]
    said.append(voice.plural(*_FIT, fitting, **values) if fitting else voice.text(_NONE, **values))
    said.append(voice.text(_COUNT))
    if data["shown"] < data["total"]:
        said.append(voice.text(_CAPPED, shown=voice.integer(data["shown"])))
    return said


def _row(scenario: Scenario, gpu: Gpu) -> dict[str, Any] | None:
    found = on_gpu(scenario, gpu, scenario.gpu_count)
    if found is None:
        return None
    usable, needed = found.plan.usable_bytes, found.plan.fullest.total
    return {
        "gpu": gpu.id,
        "name": gpu.name,
        "provided_by": str(gpu.provided_by),
        "memory": amounts.maybe_amount(gpu.memory_bytes),
        "verdict": str(found.verdict),
        "per_gpu_total": amounts.amount(needed),
        "usable": amounts.maybe_amount(usable),
        "utilization": round(needed / usable, 6) if usable else None,
        "min_gpu_count": _fewest(scenario, gpu, found),
        "max_per_machine": gpu.max_per_node,
    }


def _fewest(scenario: Scenario, gpu: Gpu, found: Outcome) -> int | None:
    """The smallest number within one machine; None where not even a full one holds it."""
    memory = gpu.memory_bytes
    if not memory or found.verdict not in (*RUNS, Verdict.DOES_NOT_FIT):
        return None
    weights = found.plan.model_weights_bytes - found.plan.host_bytes
    for count in range(max(1, ceil_div(max(0, weights), memory)), gpu.max_per_node + 1):
        outcome = found if count == scenario.gpu_count else on_gpu(scenario, gpu, count)
        if outcome is not None and outcome.verdict in RUNS:
            return count
    return None


def _order(row: Mapping[str, Any]) -> tuple[bool, float, str]:
    runs = row["verdict"] in RUNS
    size = row["memory"]["bytes"] if runs else (row["utilization"] or float("inf"))
    return (not runs, size, row["gpu"])
