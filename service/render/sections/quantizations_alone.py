"""The model in every format that an engine loads, by size, when no accelerator is named."""

from collections.abc import Mapping
from typing import Any

from service.core.catalogued import Model, Support
from service.core.engines import ENGINES
from service.core.tiers import TIER_ENGINE, on_card, plan_on_card, smallest_tier, usual_context
from service.core.units import GIB
from service.core.weights.formats import FORMATS, Family
from service.core.weights.weigh import weigh
from service.i18n.marking import mark
from service.i18n.messages.terms import ENGINES as ENGINE_NAMES
from service.i18n.voice import Voice
from service.render import amounts
from service.render.alone import doubts, subject
from service.render.sections.quantizations import ESTIMATED

_SIZES = mark("Each format with the engine that is tried first for it; the largest weights come first.")
_TOTALS = mark(
    "Totals are for one sequence of %(context)s tokens with %(engine)s on a single GPU; "
    "formats of other engines need an accelerator to be sized."
)
_PUBLISHED = mark(
    "A published file also holds the tokenizer and metadata, and may follow its publisher's own recipe."
)


def data_of_model(model: Model, _catalog: object) -> dict[str, Any]:
    """One row for each format, largest weights first."""
    context = usual_context(model.architecture)
    found = {name: _engine(model, name) for engine in ENGINES.values() for name in engine.formats}
    rows = [_row(model, name, engine, context) for name, engine in found.items() if engine]
    rows.sort(key=lambda row: (-row["weights"]["bytes"], row["quantization"]))
    return {
        **subject(model),
        "context_tokens": context,
        "concurrent_sequences": 1,
        "rows": rows,
    }


def sentences(data: Mapping[str, Any], voice: Voice) -> list[str]:
    """What the columns are, and what is estimated."""
    context = voice.integer(data["context_tokens"])
    said = [
        voice.text(_SIZES),
        voice.text(_TOTALS, context=context, engine=ENGINE_NAMES[data["engine"]]),
    ]
    if any(row["published_file"] for row in data["rows"]):
        said.append(voice.text(_PUBLISHED))
    if any(row["estimated"] for row in data["rows"]):
        said.append(voice.text(ESTIMATED))
    return [*said, *doubts(data, voice)]


def _engine(model: Model, quantization: str) -> str | None:
    """The engine to ask for the format: one that runs the model, llama.cpp first for its own formats."""
    able = [
        engine.id
        for engine in ENGINES.values()
        if quantization in engine.formats
        and (quantization != "native" or engine.loads_native(model.architecture))
    ]
    if FORMATS[quantization].family is Family.GGUF and TIER_ENGINE in able:
        return TIER_ENGINE
    running = (engine for engine in able if _support(model, engine) != "no")
    return next(running, able[0] if able else None)


def _support(model: Model, engine: str) -> str:
    return model.support.get(engine, Support("unknown")).status


def _row(model: Model, quantization: str, engine: str, context: int) -> dict[str, Any]:
    table = weigh(model, quantization)
    total = tier = None
    if engine == TIER_ENGINE:
        total = plan_on_card(on_card(model, quantization, context)).fullest.total
        tier = smallest_tier(total)
    return {
        "quantization": quantization,
        "engine": engine,
        "support": _support(model, engine),
        "weights": amounts.amount(table.total_bytes),
        "bits_per_parameter": round(8 * table.total_bytes / model.parameters_total, 2),
        "published_file": amounts.maybe_amount(table.published_file_bytes),
        "evidence": str(table.evidence),
        "source": table.source,
        "estimated": table.estimated,
        "total": amounts.maybe_amount(total),
        "smallest_tier": None if tier is None else amounts.amount(tier * GIB),
    }
