"""The other models of the catalog on this hardware, each in the best format that fits."""

from collections.abc import Mapping, Sequence
from typing import Any

from service.catalog import Catalog
from service.core.catalogued import Model
from service.core.engines import ENGINES
from service.core.planning.reach import Reach
from service.core.scenario import Scenario
from service.core.sizing import Sizing, Verdict
from service.core.weights.formats import FORMATS, Family
from service.i18n.marking import mark, mark_plural
from service.i18n.messages.terms import ENGINES as NAMES
from service.i18n.voice import Voice
from service.render import amounts
from service.render.changes import RUNS
from service.render.what_if import Outcome, of_model

MOST_ROWS = 40
# From the best to the smallest format that people use; of checkpoints only the published one surely exists.
_LADDERS: Mapping[Family, tuple[str, ...]] = {
    Family.GGUF: ("q8_0", "q6_k", "q5_k_m", "q4_k_m", "iq4_xs", "q3_k_m", "q2_k"),
    Family.MLX: ("mlx-8bit", "mlx-6bit", "mlx-5bit", "mlx-4bit", "mlx-3bit"),
    Family.SAFETENSORS: ("native",),
}
_SAME = mark(
    "Each model is sized with %(engine)s at a context of %(context)s tokens, in the best of these formats "
    "that fits: %(formats)s."
)
_SAME_IN_ONE = mark(
    "Each model is sized with %(engine)s at a context of %(context)s tokens, in the format %(formats)s."
)
_FIT = mark_plural(
    "One of %(total)s other models fits; the largest models come first.",
    "%(n)s of %(total)s other models fit; the largest models come first.",
)
_NONE = mark("None of %(total)s other models fits.")
_NONE_RUNS = mark("None of %(total)s other models runs like this.")
_UNKNOWN = mark("Whether any of %(total)s other models fits is unknown.")
_CAPPED = mark("The first %(shown)s rows are shown.")


def data(sizing: Sizing, catalog: object) -> dict[str, Any]:
    """The best format, verdict and utilization of each; what fits first, most parameters first."""
    assert isinstance(catalog, Catalog)
    scenario = sizing.scenario
    formats = _LADDERS[FORMATS[ENGINES[scenario.engine].default_format].family]
    others = [
        model
        for model in catalog.models.values()
        if model.id != scenario.model.id and _supported(model, scenario.engine)
    ]
    found = (_row(scenario, model, formats) for model in others)
    rows = [row for row in found if row is not None]
    rows.sort(key=_order)
    return {
        "gpu": amounts.gpu(sizing),
        "gpu_count": scenario.gpu_count,
        "engine": scenario.engine,
        "context_tokens": scenario.context_tokens,
        "concurrent_sequences": scenario.concurrent_sequences,
        "formats": list(formats),
        "total": len(rows),
        "fitting": sum(row["verdict"] in RUNS for row in rows),
        "shown": min(len(rows), MOST_ROWS),
        "rows": rows[:MOST_ROWS],
    }


def sentences(data: Mapping[str, Any], voice: Voice) -> list[str]:
    """What the rows have in common and how many fit."""
    total, fitting = voice.integer(data["total"]), data["fitting"]
    said = [
        voice.text(
            _SAME if len(data["formats"]) > 1 else _SAME_IN_ONE,
            engine=NAMES.get(data["engine"], data["engine"]),
            context=voice.integer(data["context_tokens"]),
            formats=voice.list(data["formats"]),
        ),
        voice.plural(*_FIT, fitting, total=total) if fitting else voice.text(_none(data), total=total),
    ]
    if data["shown"] < data["total"]:
        said.append(voice.text(_CAPPED, shown=voice.integer(data["shown"])))
    return said


def _none(data: Mapping[str, Any]) -> str:
    """What is said where no model fits: that depends on why."""
    verdicts = {row["verdict"] for row in data["rows"]}
    if verdicts == {Verdict.UNKNOWN}:
        return _UNKNOWN
    return _NONE_RUNS if verdicts == {Verdict.UNSUPPORTED} else _NONE


def _supported(model: Model, engine: str) -> bool:
    support = model.support.get(engine)
    return support is None or support.status != "no"


def _row(scenario: Scenario, model: Model, formats: Sequence[str]) -> dict[str, Any] | None:
    found = _best(scenario, model, formats)
    if found is None:
        return None
    usable, needed = found.plan.usable_bytes, found.plan.fullest.total
    return {
        "model": model.id,
        "name": model.name,
        "provided_by": str(model.provided_by),
        "parameters_total": model.parameters_total,
        "parameters_active": model.parameters_active,
        "quantization": found.scenario.quantization,
        "verdict": str(found.verdict),
        "per_gpu_total": amounts.amount(needed),
        "usable": amounts.maybe_amount(usable),
        "utilization": round(needed / usable, 6) if usable else None,
    }


def _best(scenario: Scenario, model: Model, formats: Sequence[str]) -> Outcome | None:
    """The outcome in the first format that fits, else in the smallest; what surely exceeds is not planned."""
    reach = Reach(model, scenario.gpu, offloads=bool(scenario.cpu_offload_percent))
    found = None
    for name in formats:
        if name != formats[-1] and reach.exceeded_by(name, scenario.gpu_count) is not None:
            continue
        found = of_model(scenario, model, name)
        if found is not None:
            if found.verdict in RUNS:
                return found
            reach.learn(found.plan)
    return found


def _order(row: Mapping[str, Any]) -> tuple[bool, float, str]:
    runs = row["verdict"] in RUNS
    return (not runs, -row["parameters_total"] if runs else row["per_gpu_total"]["bytes"], row["model"])
