"""What saves memory with this model, each tip with its figure; one that saves nothing is not given."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from service.core.catalogued import Model
from service.core.engines import ENGINES
from service.core.engines.base import Engine
from service.core.engines.llama_cpp.state import state_bytes
from service.core.scenario import Scenario
from service.core.sizing import Sizing
from service.core.tiers import TIER_ENGINE, on_card, plan_on_card, without_experts
from service.core.units import gib
from service.core.weights.weigh import weigh
from service.i18n.marking import mark
from service.i18n.messages.terms import ENGINES as ENGINE_NAMES
from service.i18n.voice import Voice
from service.render import amounts
from service.render.alone import doubts, subject

_QUANTIZATION, _LARGER = "q4_k_m", "q8_0"
_LONG, _SHORT = 32_768, 8192
_SERVER_SLOTS = 4  # llama-server without `-np` (tools/server, 2026-10-01)
_BASIS = mark(
    "The savings are those of one sequence of %(context)s tokens with %(engine)s and %(quantization)s, "
    "which needs %(total)s of GPU memory."
)
_NOTHING = mark("None of the usual options saves memory with this model.")
_SAYS: Mapping[str, str] = {
    "smaller_format": mark("%(option)s instead of %(other)s saves %(saved)s."),
    "published_weights": mark(
        "The published weights (%(option)s) are %(saved)s smaller than %(other)s; engines that load them, "
        "such as %(engine)s, gain nothing from a further quantization."
    ),
    "shorter_context": mark("A context of %(short)s tokens instead of %(context)s saves %(saved)s."),
    "cache_type": mark("A KV cache in %(other)s saves %(saved)s."),
    "one_slot": mark(
        "The server prepares %(slots)s slots unless told otherwise; with a single one, %(saved)s of "
        "recurrent state are saved."
    ),
    "experts_in_ram": mark(
        "With the routed experts in system RAM, the GPU needs %(saved)s less and system RAM holds %(host)s, "
        "at the price of speed."
    ),
    "no_projector": mark("Without images, leaving out the vision projector saves %(saved)s."),
}


@dataclass(frozen=True, slots=True)
class _Saving:
    """What a tip changes: the option that does it, bytes saved, bytes that system RAM then holds.

    other: the format it is compared with or changes to. engine: that has the option or loads the format.
    """

    option: str
    saved: int
    other: str | None = None
    host: int | None = None
    engine: str = TIER_ENGINE


def data(sizing: Sizing, catalog: object) -> dict[str, Any]:
    """The tips for the scenario's model, whatever its GPU."""
    return data_of_model(sizing.scenario.model, catalog)


def data_of_model(model: Model, _catalog: object) -> dict[str, Any]:
    """The tips that apply, largest saving first."""
    context = min(_LONG, model.architecture.max_context_tokens)
    scenario = on_card(model, _QUANTIZATION, context)
    total = _total(scenario)
    tips = []
    for code, find in _FINDERS.items():
        found = find(scenario, total)
        if found is not None and gib(found.saved) > 0:
            tips.append(_entry(code, found))
    tips.sort(key=lambda tip: -tip["saved"]["bytes"])
    return {
        **subject(model),
        "quantization": _QUANTIZATION,
        "context_tokens": context,
        "short_context_tokens": _SHORT,
        "server_slots": _SERVER_SLOTS,
        "total": amounts.amount(total),
        "tips": tips,
    }


def sentences(data: Mapping[str, Any], voice: Voice) -> list[str]:
    """What the savings are measured against, and each tip."""
    basis = voice.text(
        _BASIS,
        context=voice.integer(data["context_tokens"]),
        engine=ENGINE_NAMES[data["engine"]],
        quantization=data["quantization"],
        total=voice.gib(data["total"]["bytes"]),
    )
    if not data["tips"]:
        return [basis, voice.text(_NOTHING)]
    said = [_said(tip, data, voice) for tip in data["tips"]]
    return [basis, *said, *doubts(data, voice)]


def _said(tip: Mapping[str, Any], data: Mapping[str, Any], voice: Voice) -> str:
    values = {
        "option": tip["option"],
        "other": tip["other"],
        "saved": voice.gib(tip["saved"]["bytes"]),
        "context": voice.integer(data["context_tokens"]),
        "short": voice.integer(data["short_context_tokens"]),
        "engine": ENGINE_NAMES[tip["engine"]],
        "slots": voice.integer(data["server_slots"]),
        "host": "" if tip["host"] is None else voice.gib(tip["host"]["bytes"]),
    }
    return voice.fill(_SAYS[tip["code"]], values)


def _entry(code: str, found: _Saving) -> dict[str, Any]:
    return {
        "code": code,
        "option": found.option,
        "other": found.other,
        "saved": amounts.amount(found.saved),
        "host": amounts.maybe_amount(found.host),
        "engine": found.engine,
    }


def _total(scenario: Scenario) -> int:
    return plan_on_card(scenario).fullest.total


def _smaller_format(scenario: Scenario, total: int) -> _Saving:
    larger = _total(replace(scenario, quantization=_LARGER))
    return _Saving(_QUANTIZATION, larger - total, _LARGER)


def _published_weights(scenario: Scenario, _total: int) -> _Saving | None:
    """The published checkpoint beside the same tensors in 4 bit, without drafts and vision."""
    model = scenario.model
    engine = next((engine for engine in ENGINES.values() if _runs_published(model, engine)), None)
    if engine is None:
        return None
    published = weigh(model, "native").total_bytes
    saved = weigh(model, _QUANTIZATION).total_bytes - published
    return _Saving(model.architecture.native.name, saved, _QUANTIZATION, engine=engine.id)


def _runs_published(model: Model, engine: Engine) -> bool:
    support = model.support.get(engine.id)
    loads = "native" in engine.formats and engine.loads_native(model.architecture)
    return loads and support is not None and support.status == "yes"


def _shorter_context(scenario: Scenario, total: int) -> _Saving | None:
    if scenario.context_tokens <= _SHORT:
        return None
    return _Saving(f"-c {_SHORT}", total - _total(replace(scenario, context_tokens=_SHORT)))


def _cache_type(scenario: Scenario, total: int) -> _Saving | None:
    plan = plan_on_card(replace(scenario, kv_cache_dtype="q8_0", kv_cache_dtype_v="q8_0"))
    return None if plan.refusals else _Saving("-ctk q8_0 -ctv q8_0", total - plan.fullest.total, "q8_0")


def _one_slot(scenario: Scenario, _total: int) -> _Saving:
    """A server without `-np` shares the cache among its slots, but each has a state of its own."""
    architecture = scenario.model.architecture
    return _Saving("-np 1", state_bytes(architecture, _SERVER_SLOTS) - state_bytes(architecture))


def _experts_in_ram(scenario: Scenario, total: int) -> _Saving | None:
    moved = without_experts(scenario)
    if moved is None:
        return None
    plan = plan_on_card(moved)
    return _Saving("--cpu-moe", total - plan.fullest.total, host=plan.host_bytes)


def _no_projector(scenario: Scenario, total: int) -> _Saving | None:
    if not scenario.model.architecture.vision:
        return None
    return _Saving("--no-mmproj", _total(replace(scenario, vision=True)) - total)


_FINDERS: Mapping[str, Callable[[Scenario, int], _Saving | None]] = {
    "smaller_format": _smaller_format,
    "published_weights": _published_weights,
    "shorter_context": _shorter_context,
    "cache_type": _cache_type,
    "one_slot": _one_slot,
    "experts_in_ram": _experts_in_ram,
    "no_projector": _no_projector,
}
