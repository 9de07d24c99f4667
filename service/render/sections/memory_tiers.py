"""What of the model fits on cards of each usual size: best format, memory needed, largest context."""

from collections.abc import Mapping
from typing import Any

from service.core.catalogued import Model
from service.core.sizing import Sizing
from service.core.tiers import (
    TIERS_GIB,
    WATERMARK_PERCENT,
    ladder,
    on_card,
    plan_on_card,
    usable_bytes,
    usual_context,
)
from service.core.units import GIB
from service.core.weights.formats import Family
from service.core.weights.weigh import weigh
from service.i18n.marking import mark
from service.i18n.messages.terms import ENGINES as ENGINE_NAMES
from service.i18n.voice import Voice
from service.render import amounts
from service.render.alone import doubts, subject

_BASIS = mark(
    "For each card size this is the best format that fits with %(engine)s, one sequence and "
    "%(context)s tokens of context, and the largest context that this format leaves room for."
)
_CARD = mark(
    "A card sold as 24 GB is taken as 24 GiB, about what its driver reports; %(percent)s of it is counted "
    "on, the rest is left to the system."
)
_HOST = mark("System RAM holds what %(engine)s keeps there anyway; it is not part of the total.")
_SMALLEST = mark(
    "The smallest of these formats, %(quantization)s, needs %(needed)s, so the smallest card is %(tier)s."
)
_NONE = mark(
    "None of these cards holds the model: even the smallest format, %(quantization)s, needs %(needed)s; "
    "several GPUs are required."
)
_NATIVE = mark("Where the largest context is %(native)s tokens, the model sets the limit, not the memory.")


def data(sizing: Sizing, catalog: object) -> dict[str, Any]:
    """The tiers of the scenario's model, whatever its GPU."""
    return data_of_model(sizing.scenario.model, catalog)


def data_of_model(model: Model, _catalog: object) -> dict[str, Any]:
    """One row for each card size, and the formats that were tried."""
    context = usual_context(model.architecture)
    formats = [_format(model, name, context) for name in ladder(model)]
    return {
        **subject(model),
        "context_tokens": context,
        "concurrent_sequences": 1,
        "native_context_tokens": model.architecture.max_context_tokens,
        "watermark_percent": WATERMARK_PERCENT,
        "formats": formats,
        "rows": [_row(model, tier, formats, context) for tier in TIERS_GIB],
    }


def sentences(data: Mapping[str, Any], voice: Voice) -> list[str]:
    """What the rows assume, and from which card size the model fits."""
    engine = ENGINE_NAMES[data["engine"]]
    said = [
        voice.text(_BASIS, engine=engine, context=voice.integer(data["context_tokens"])),
        voice.text(_CARD, percent=voice.percent(data["watermark_percent"] / 100)),
    ]
    smallest = min(data["formats"], key=lambda entry: entry["total"]["bytes"])
    values = {"quantization": smallest["quantization"], "needed": voice.gib(smallest["total"]["bytes"])}
    holding = next((row for row in data["rows"] if row["quantization"]), None)
    if holding is None:
        said.append(voice.text(_NONE, **values))
    else:
        said.append(voice.text(_SMALLEST, **values, tier=voice.gib(holding["memory"]["bytes"], 0)))
        said.append(voice.text(_HOST, engine=engine))
        if any(row["limited_by_model"] for row in data["rows"]):
            said.append(voice.text(_NATIVE, native=voice.integer(data["native_context_tokens"])))
    return [*said, *doubts(data, voice)]


def _format(model: Model, quantization: str, context: int) -> dict[str, Any]:
    plan = plan_on_card(on_card(model, quantization, context))
    table = weigh(model, quantization, family=Family.GGUF)
    return {
        "quantization": quantization,
        "weights": amounts.amount(table.total_bytes),
        "published_file": amounts.maybe_amount(table.published_file_bytes),
        "total": amounts.amount(plan.fullest.total),
        "host": amounts.amount(plan.host_bytes),
    }


def _row(model: Model, tier: int, formats: list[dict[str, Any]], context: int) -> dict[str, Any]:
    usable = usable_bytes(tier)
    best = next((entry for entry in formats if entry["total"]["bytes"] <= usable), None)
    row = {
        "tier_gib": tier,
        "memory": amounts.amount(tier * GIB),
        "usable": amounts.amount(usable),
        "quantization": None,
        "total": None,
        "host": None,
        "max_context_tokens": None,
        "limited_by_model": False,
    }
    if best is None:
        return row
    largest = plan_on_card(on_card(model, best["quantization"], context), tier).max_context_tokens
    return row | {
        "quantization": best["quantization"],
        "total": best["total"],
        "host": best["host"],
        "max_context_tokens": largest,
        "limited_by_model": largest == model.architecture.max_context_tokens,
    }
