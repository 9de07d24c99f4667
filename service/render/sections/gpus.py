"""The same question on every other accelerator of the catalog."""

from collections.abc import Iterator, Mapping
from typing import Any

from service.catalog import Catalog
from service.core.hardware import Gpu
from service.core.planning.reach import Reach
from service.core.scenario import Scenario
from service.core.sizing import Sizing, Verdict
from service.i18n.marking import mark, mark_plural
from service.i18n.messages.terms import ENGINES as NAMES
from service.i18n.voice import Voice
from service.render import amounts
from service.render.at_once import Cell, Cells
from service.render.changes import RUNS
from service.render.what_if import elsewhere, on_gpu

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
    rows = list(_rows(scenario, catalog))
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


def _rows(scenario: Scenario, catalog: Catalog) -> Iterator[dict[str, Any]]:
    every = tuple(catalog.gpus.values())
    cells = Cells(elsewhere(scenario), catalog, every)
    for place, gpu in enumerate(every):
        if gpu.id == scenario.gpu.id or not (
            gpu.exists and gpu.memory_bytes and gpu.backends(scenario.engine)
        ):
            continue
        found = cells.at(place)
        if found is not None:
            yield _row(scenario, gpu, found)


def _row(scenario: Scenario, gpu: Gpu, found: Cell) -> dict[str, Any]:
    utilization = found.utilization
    return {
        "gpu": gpu.id,
        "name": gpu.name,
        "provided_by": str(gpu.provided_by),
        "memory": amounts.maybe_amount(gpu.memory_bytes),
        "verdict": str(found.verdict),
        "per_gpu_total": amounts.amount(found.fullest),
        "usable": amounts.maybe_amount(found.usable),
        "utilization": None if utilization is None else round(utilization, 6),
        "min_gpu_count": _fewest(scenario, gpu, found),
        "max_per_machine": gpu.max_per_node,
    }


def _fewest(scenario: Scenario, gpu: Gpu, found: Cell) -> int | None:
    """The smallest number within one machine; None where not even a full one holds it."""
    if found.verdict not in (*RUNS, Verdict.DOES_NOT_FIT):
        return None
    reach = Reach(scenario.model, gpu, offloads=bool(scenario.cpu_offload_percent))
    for count in range(1, gpu.max_per_node + 1):
        if count == scenario.gpu_count:
            if found.verdict in RUNS:
                return count
        elif reach.exceeded_by(scenario.quantization, count) is None:
            outcome = on_gpu(scenario, gpu, count)
            if outcome is not None and outcome.verdict in RUNS:
                return count
    return None


def _order(row: Mapping[str, Any]) -> tuple[bool, float, str]:
    runs = row["verdict"] in RUNS
    size = row["memory"]["bytes"] if runs else (row["utilization"] or float("inf"))
    return (not runs, size, row["gpu"])
