"""How the memory grows with the context, and how long it can get."""

from collections.abc import Mapping
from typing import Any

from service.core.sizing import Sizing, Verdict
from service.i18n.marking import mark
from service.i18n.voice import Voice
from service.render import amounts
from service.render.what_if import Outcome, at_context

_STEPS = tuple(2**power for power in (12, 13, 14, 15, 16, 17, 18, 20))  # 4K ... 256K, 1M
NATIVE = mark("The model is made for contexts of up to %(native)s tokens.")
_LARGEST = mark("The largest context that fits here is %(largest)s tokens.")
_ALL = mark("All of it fits here.")
_NONE_FITS = mark("No context fits here.")
CONSTANT = mark("The weights are the same at every context; the KV cache grows with its length.")


def data(sizing: Sizing, _catalog: object) -> dict[str, Any]:
    """KV cache, state, total and verdict at each context up to the model's own, and at the scenario's."""
    scenario = sizing.scenario
    native = scenario.model.architecture.max_context_tokens
    contexts = {step for step in _STEPS if step <= native} | {scenario.context_tokens, native}
    rows = []
    for tokens in sorted(contexts):
        selected = tokens == scenario.context_tokens
        found = Outcome.of(sizing) if selected else at_context(scenario, tokens)
        if found is not None:
            rows.append(_row(found, selected=selected))
    return {
        "quantization": scenario.quantization,
        "engine": scenario.engine,
        "native_context_tokens": native,
        "max_context_tokens": sizing.limits.max_context_tokens,
        "usable": amounts.maybe_amount(sizing.plan.usable_bytes),
        "verdict": str(sizing.verdict),
        "rows": rows,
    }


def sentences(data: Mapping[str, Any], voice: Voice) -> list[str]:
    """The model's own limit and the one that the memory sets."""
    said = [voice.text(CONSTANT), voice.text(NATIVE, native=voice.integer(data["native_context_tokens"]))]
    if data["verdict"] in (Verdict.UNSUPPORTED, Verdict.UNKNOWN):
        return said
    largest = data["max_context_tokens"]
    if largest == data["native_context_tokens"]:
        said.append(voice.text(_ALL))
    elif largest:
        said.append(voice.text(_LARGEST, largest=voice.integer(largest)))
    else:
        said.append(voice.text(_NONE_FITS))
    return said


def _row(outcome: Outcome, *, selected: bool) -> dict[str, Any]:
    total = outcome.plan.total
    return {
        "context_tokens": outcome.scenario.context_tokens,
        "kv_cache": amounts.amount(total.kv_cache),
        "recurrent_state": amounts.amount(total.recurrent_state),
        "total": amounts.amount(total.total),
        "per_gpu_total": amounts.amount(outcome.plan.fullest.total),
        "verdict": str(outcome.verdict),
        "selected": selected,
    }
