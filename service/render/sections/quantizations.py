"""The model in every format that an engine loads: weights, memory, speed, and the GPU that it takes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from service.catalog import Catalog
from service.core.engines import ENGINES
from service.core.hardware import Gpu
from service.core.scenario import Scenario
from service.core.sizing import Sizing
from service.core.speed.estimate import is_indicative
from service.core.speed.run import family
from service.core.weights.weigh import weigh
from service.i18n.marking import mark
from service.i18n.messages.terms import ENGINES as ENGINE_NAMES
from service.i18n.voice import Voice
from service.render import amounts
from service.render.at_once import Cell, Cells
from service.render.changes import from_smallest
from service.render.speeds import estimate
from service.render.what_if import elsewhere, here, scenario_elsewhere, scenario_in_format

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
    rows = [row for base, formats in _by_engine(scenario) for row in _rows(base, formats, catalog)]
    rows.sort(key=lambda row: (-row["weights"]["bytes"], row["quantization"]))
    return {
        "engine": scenario.engine,
        "gpu": amounts.gpu(sizing),
        "gpu_count": scenario.gpu_count,
        "context_tokens": scenario.context_tokens,
        "concurrent_sequences": scenario.concurrent_sequences,
        "usable": amounts.maybe_amount(sizing.plan.usable_bytes),
        "rows": [{**row, "selected": row["quantization"] == scenario.quantization} for row in rows],
    }


def _by_engine(scenario: Scenario) -> Iterator[tuple[Scenario, list[str]]]:
    """The formats of this engine; of others those that it does not load, each with the first that does."""
    own: list[str] = []
    others: dict[str, list[Scenario]] = {}
    for quantization in sorted({name for engine in ENGINES.values() for name in engine.formats}):
        if quantization == scenario.quantization or scenario_in_format(scenario, quantization):
            own.append(quantization)
        elif found := scenario_elsewhere(scenario, quantization):
            others.setdefault(found.engine, []).append(found)
    yield scenario, own
    for loaded in others.values():
        yield loaded[0], [each.quantization for each in loaded]


def _rows(base: Scenario, formats: Sequence[str], catalog: Catalog) -> Iterator[dict[str, Any]]:
    """A row for each format. base: the question with the engine that loads them."""
    known = tuple(catalog.gpus.values())
    # One that the caller described stands behind those of the catalog.
    every = known if catalog.gpus.get(base.gpu.id) is base.gpu else (*known, base.gpu)
    places = {gpu.id: place for place, gpu in enumerate(every)}
    smallest = from_smallest(known, base.engine, base.gpu_count)
    others = Cells(elsewhere(base), catalog, every, formats)
    own = others
    if here(base) != elsewhere(base):
        own = Cells(here(base), catalog, every, formats)
    indicative = is_indicative(base, catalog.speed) if base.gpu.memory_bandwidth_gbs else None
    for place, quantization in enumerate(formats):
        found = own.at(places[base.gpu.id], place)
        if found is not None:
            runs = others.running(place)
            holding = (gpu for gpu in smallest if runs and runs[places[gpu.id]])
            yield {
                **_row(base, quantization, found),
                "indicative": None if found.speed is None else indicative,
                "smallest_gpu": _named_gpu(next(holding, None)),
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


def _row(base: Scenario, quantization: str, found: Cell) -> dict[str, Any]:
    model, speed = base.model, found.speed
    table = weigh(model, quantization, family=family(base.engine, quantization))
    return {
        "quantization": quantization,
        "engine": base.engine,
        "weights": amounts.amount(table.total_bytes),
        "bits_per_parameter": round(8 * table.total_bytes / model.parameters_total, 2),
        "published_file": amounts.maybe_amount(table.published_file_bytes),
        "evidence": str(table.evidence),
        "source": table.source,
        "estimated": table.estimated,
        "total": amounts.amount(found.total),
        "per_gpu_total": amounts.amount(found.fullest),
        "verdict": str(found.verdict),
        "speed": None if speed is None else estimate(speed.times(1 / base.concurrent_sequences)),
    }


def _named_gpu(gpu: Gpu | None) -> dict[str, Any] | None:
    """The accelerator with the least memory that holds the format, in the same number."""
    if gpu is None:
        return None
    return {"id": gpu.id, "name": gpu.name, "memory": amounts.maybe_amount(gpu.memory_bytes)}


def _named(engine: str) -> str:
    return ENGINE_NAMES.get(engine, engine)
