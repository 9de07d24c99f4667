"""The paragraph about a model, sentence by sentence, in any language."""

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

from service.core.units import GIB
from service.i18n.marking import mark, mark_plural
from service.i18n.messages.terms import ENGINES, LAYER_KINDS
from service.i18n.voice import Voice

_BY = mark("%(model)s is an open-weight model by %(publisher)s, released %(released)s.")
_BY_UNDATED = mark("%(model)s is an open-weight model by %(publisher)s.")
_POSTED = mark("%(model)s is a model that the caller described.")
_DENSE = mark("It has %(total)s parameters and is dense: every token passes through all of its text layers.")
_SPARSE = mark(
    "It has %(total)s parameters, of which %(active)s take part in each token: memory must hold all of "
    "them, while speed follows the active ones."
)
_LAYERS = mark("It is built from %(layers)s layers: %(kinds)s.")
_KIND = mark("%(count)s × %(kind)s")
_BESIDE = mark("%(first)s, %(second)s")
_EXPERTS = mark(
    "In %(layers)s of them a router chooses %(chosen)s of %(count)s routed experts for each token."
)
_SHARED = mark_plural(
    "One shared expert takes part in every token.", "%(n)s shared experts take part in every token."
)
_CONTEXT = mark("The context window is %(native)s tokens.")
_STATE = mark(
    "Beside the cache it keeps %(state)s of state for each sequence, which does not grow with the context."
)
_NATIVE = mark("The published weights are stored as %(format)s and take %(size)s.")
_VISION = mark("The checkpoint includes a vision tower with %(parameters)s parameters.")
_AUDIO = mark("The checkpoint includes encoders for images and sound with %(parameters)s parameters.")
_PREDICTION = mark_plural(
    "It also holds one layer for multi-token prediction, which engines load only to draft tokens.",
    "It also holds %(n)s layers for multi-token prediction, which engines load only to draft tokens.",
)
_LICENSE = mark("License: %(license)s.")
_UNKNOWN: Mapping[str, str] = {
    "released": mark("Its release date is not known."),
    "license": mark("Its license is not known."),
    "parameters": mark("The exact number of parameters is not known."),
    "support": mark("Whether %(engines)s can run it is not known."),
}


def sentences(data: Mapping[str, Any], voice: Voice) -> list[str]:
    """Who published it, how large it is, what it is built from, and what is not known."""
    return [
        _origin(data, voice),
        _size(data, voice),
        *_structure(data, voice),
        *_extent(data, voice),
        *([voice.text(_LICENSE, license=data["license"])] if data["license"] else []),
        *_gaps(data, voice),
    ]


def _origin(data: Mapping[str, Any], voice: Voice) -> str:
    names = {"model": data["model"]["name"], "publisher": data["publisher"]}
    if data["publisher"] is None:
        return voice.text(_POSTED, model=names["model"])
    if data["released"] is None:
        return voice.text(_BY_UNDATED, **names)
    return voice.text(_BY, **names, released=voice.period(data["released"]))


def _size(data: Mapping[str, Any], voice: Voice) -> str:
    total = voice.compact(data["parameters_total"])
    if data["dense"]:
        return voice.text(_DENSE, total=total)
    return voice.text(_SPARSE, total=total, active=voice.compact(data["parameters_active"]))


def _structure(data: Mapping[str, Any], voice: Voice) -> list[str]:
    kinds = [
        voice.text(_KIND, count=voice.integer(entry["count"]), kind=voice.text(LAYER_KINDS[entry["kind"]]))
        for entry in data["layer_kinds"]
    ]
    said = [voice.text(_LAYERS, layers=voice.integer(data["layers"]), kinds=reduce(_joined(voice), kinds))]
    experts = data["experts"]
    if experts is not None:
        values = {"layers": data["moe_layers"], "chosen": experts["per_token"], "count": experts["count"]}
        said.append(voice.text(_EXPERTS, **{name: voice.integer(n) for name, n in values.items()}))
        if experts["shared_count"]:
            said.append(voice.plural(*_SHARED, experts["shared_count"]))
    return said


def _joined(voice: Voice) -> Callable[[str, str], str]:
    return lambda first, second: voice.text(_BESIDE, first=first, second=second)


def _extent(data: Mapping[str, Any], voice: Voice) -> list[str]:
    """Context, state, published weights, and what else the checkpoint holds."""
    said = [voice.text(_CONTEXT, native=voice.integer(data["max_context_tokens"]))]
    if state := data["state_per_sequence"]["bytes"]:
        said.append(voice.text(_STATE, state=voice.gib(state, 2 if state >= GIB // 10 else 3)))
    size = voice.gib(data["native_size"]["bytes"])
    said.append(voice.text(_NATIVE, format=data["native_format"].upper(), size=size))
    if data["vision_parameters"]:
        message = _AUDIO if data["audio"] else _VISION
        said.append(voice.text(message, parameters=voice.integer(data["vision_parameters"])))
    if data["multi_token_prediction_layers"]:
        said.append(voice.plural(*_PREDICTION, data["multi_token_prediction_layers"]))
    return said


def _gaps(data: Mapping[str, Any], voice: Voice) -> list[str]:
    asked = [ENGINES[row["engine"]] for row in data["support"] if row["status"] == "unknown"]
    values = {"support": {"engines": voice.list(asked)}}
    return [voice.text(_UNKNOWN[name], **values.get(name, {})) for name in data["unknown"]]
