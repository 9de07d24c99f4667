"""The model in every format that an engine loads: weights, memory, speed, and the GPU that it takes."""

from collections.abc import Mapping
from typing import Any

from service.catalog import Catalog
from service.core.engines import ENGINES
from service.core.scenario import Scenario
from service.core.sizing import Sizing
from service.core.weights.formats import FORMATS, Family
from service.core.weights.weigh import weigh
from service.i18n.marking import mark
from service.i18n.messages.terms import ENGINES as ENGINE_NAMES
from service.i18n.voice import Voice
from service.render import amounts
from service.render.changes import smallest_gpu
from service.render.speed_of import speed_by
from service.render.speeds import block
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
    rows = []
    for quantization in sorted({name for engine in ENGINES.values() for name in engine.formats}):
        if quantization == scenario.quantization:
            rows.append(_row(Outcome.of(sizing), catalog, selected=True))
            continue
        found = in_format(scenario, quantization) or in_format_elsewhere(scenario, quantization)
        if found is not None:
            rows.append(_row(found, catalog, selected=False))
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


def _row(outcome: Outcome, catalog: Catalog, *, selected: bool) -> dict[str, Any]:
    scenario = outcome.scenario
    speed = speed_by(catalog)(outcome.sizing())
    table = weigh(scenario.model, scenario.quantization, family=_family(scenario))
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
        "speed": None if speed is None else block(speed)["per_sequence"],
        "indicative": None if speed is None else speed.decode_basis.indicative,
        "smallest_gpu": _smallest_gpu(outcome, catalog),
        "selected": selected,
    }


def _smallest_gpu(outcome: Outcome, catalog: Catalog) -> dict[str, Any] | None:
    """The accelerator with the least memory that holds the format, in the same number."""
    weights = outcome.plan.fullest.weights
    found = smallest_gpu(outcome.scenario, catalog.gpus.values(), least_bytes=weights)
    if found is None:
        return None
    gpu = found.scenario.gpu
    return {"id": gpu.id, "name": gpu.name, "memory": amounts.maybe_amount(gpu.memory_bytes)}


def _named(engine: str) -> str:
    return ENGINE_NAMES.get(engine, engine)


def _family(scenario: Scenario) -> Family | None:
    """GGUF where the engine lives on it, for the 16-bit formats that exist in several kinds of file."""
    home = FORMATS[ENGINES[scenario.engine].default_format].family
    return Family.GGUF if home is Family.GGUF and FORMATS[scenario.quantization].recipe else None
