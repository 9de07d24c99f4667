"""The model in every format that an engine loads: weights, memory, speed, and the GPU that it takes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from service.catalog import Catalog
from service.core.engines import ENGINES
from service.core.hardware import Gpu
from service.core.sizing import Sizing
from service.core.speed.run import family
from service.core.weights.weigh import weigh
from service.i18n.marking import mark
from service.i18n.messages.terms import ENGINES as ENGINE_NAMES
from service.i18n.voice import Voice
from service.render import amounts
from service.render.changes import from_smallest, smallest_gpu
from service.render.speed_of import speed_by
from service.render.speeds import estimate
from service.render.what_if import Outcome, in_format, in_format_elsewhere

_SAME_QUESTION = mark(
    "Each format is sized for the same context and number of sequences; "
    "formats that %(engine)s does not load are sized with the engine named beside them."
)
_SPEEDS = mark(
    "Speeds are estimates for one sequence and only given where the format fits; "
    "the smallest GPU is that of least memory which runs the format, in the same number."
)
_LARGEST = mark("The largest format that fits here is %(quantization)s with %(engine)s.")
_NONE_FITS = mark("None of the formats fits here.")
ESTIMATED = mark("Sizes marked as an estimate have neither a quantization recipe nor a published file.")


def data(sizing: Sizing, catalog: object) -> dict[str, Any]:
    """One row for each format, largest weights first."""
    assert isinstance(catalog, Catalog)
    scenario = sizing.scenario
    found = list(_outcomes(sizing))
    gpus = {
        engine: from_smallest(catalog.gpus.values(), engine, scenario.gpu_count)
        for engine in {outcome.scenario.engine for outcome in found}
    }
    rows = [
        {
            **_row(outcome, catalog),
            "smallest_gpu": _smallest_gpu(outcome, gpus[outcome.scenario.engine]),
            "selected": outcome.scenario.quantization == scenario.quantization,
        }
        for outcome in found
    ]
    rows.sort(key=lambda row: (-row["weights"]["bytes"], row["quantization"]))
    return {
        "engine": scenario.engine,
        "gpu": amounts.gpu(sizing),
        "gpu_count": scenario.gpu_count,
        "context_tokens": scenario.context_tokens,
        "concurrent_sequences": scenario.concurrent_sequences,
        "usable": amounts.maybe_amount(sizing.plan.usable_bytes),
        "rows": rows,
    }


def _outcomes(sizing: Sizing) -> Iterator[Outcome]:
    """The outcome in every format that this engine loads, or another one on the same GPU."""
    scenario = sizing.scenario
    for quantization in sorted({name for engine in ENGINES.values() for name in engine.formats}):
        if quantization == scenario.quantization:
            yield Outcome.of(sizing)
            continue
        found = in_format(scenario, quantization) or in_format_elsewhere(scenario, quantization)
        if found is not None:
            yield found


def sentences(data: Mapping[str, Any], voice: Voice) -> list[str]:
    """How the rows compare, and the largest format that fits."""
    rows = data["rows"]
    said = [voice.text(_SAME_QUESTION, engine=_named(data["engine"]))]
    largest = next((row for row in rows if row["verdict"] in ("fits", "tight")), None)
    if largest is None:
        said.append(voice.text(_NONE_FITS))
    else:
        said.append(
            voice.text(_LARGEST, quantization=largest["quantization"], engine=_named(largest["engine"]))
        )
    said.append(voice.text(_SPEEDS))
    if any(row["estimated"] for row in rows):
        said.append(voice.text(ESTIMATED))
    return said


def _row(outcome: Outcome, catalog: Catalog) -> dict[str, Any]:
    scenario = outcome.scenario
    speed = speed_by(catalog)(outcome.sizing())
    table = weigh(
        scenario.model, scenario.quantization, family=family(scenario.engine, scenario.quantization)
    )
    return {
        "quantization": scenario.quantization,
        "engine": scenario.engine,
        "weights": amounts.amount(table.total_bytes),
        "bits_per_parameter": round(8 * table.total_bytes / scenario.model.parameters_total, 2),
        "published_file": amounts.maybe_amount(table.published_file_bytes),
        "evidence": str(table.evidence),
        "source": table.source,
        "estimated": table.estimated,
        "total": amounts.amount(outcome.plan.total.total),
        "per_gpu_total": amounts.amount(outcome.plan.fullest.total),
        "verdict": str(outcome.verdict),
        "speed": None if speed is None else estimate(speed.decode),
        "indicative": None if speed is None else speed.decode_basis.indicative,
    }


def _smallest_gpu(outcome: Outcome, gpus: Sequence[Gpu]) -> dict[str, Any] | None:
    """The first of the accelerators that holds the format, in the same number."""
    found = smallest_gpu(outcome.scenario, outcome.plan, gpus)
    if found is None:
        return None
    gpu = found.scenario.gpu
    return {"id": gpu.id, "name": gpu.name, "memory": amounts.maybe_amount(gpu.memory_bytes)}


def _named(engine: str) -> str:
    return ENGINE_NAMES.get(engine, engine)
