"""The answer in one paragraph, and the figures of the fit."""

from collections.abc import Mapping
from typing import Any

from service.core.sizing import Note, Sizing, Verdict
from service.i18n.marking import mark, mark_plural
from service.i18n.messages import note_text
from service.i18n.messages.terms import ENGINES
from service.i18n.voice import Voice
from service.render import amounts
from service.render.sections.memory import HOST

_FITTING = (Verdict.FITS, Verdict.TIGHT)
_PARAMETERS = mark("%(model)s has %(total)s parameters.")
_EXPERT_PARAMETERS = mark(
    "%(model)s has %(total)s parameters in total, of which %(active)s are active per token."
)
_NEED = mark_plural(
    "In the format %(quantization)s its weights take %(weights)s of GPU memory; with %(engine)s, "
    "a context of %(context)s tokens and one sequence, %(total)s is needed in total.",
    "In the format %(quantization)s its weights take %(weights)s of GPU memory; with %(engine)s, "
    "a context of %(context)s tokens and %(n)s concurrent sequences, "
    "%(total)s is needed in total.",
)
_FITS = mark_plural(
    "This fits on one %(gpu)s: %(needed)s of %(usable)s usable GPU memory is needed, "
    "a utilization of %(utilization)s; the headroom is %(headroom)s.",
    "This fits on %(n)s × %(gpu)s: the fullest GPU needs %(needed)s of %(usable)s usable memory, "
    "a utilization of %(utilization)s; the headroom is %(headroom)s.",
)
_TIGHT = mark_plural(
    "This fits tightly on one %(gpu)s: %(needed)s of %(usable)s usable GPU memory is needed, "
    "a utilization of %(utilization)s; the headroom is %(headroom)s.",
    "This fits tightly on %(n)s × %(gpu)s: the fullest GPU needs %(needed)s of %(usable)s usable memory, "
    "a utilization of %(utilization)s; the headroom is %(headroom)s.",
)
_DOES_NOT_FIT = mark_plural("This does not fit on one %(gpu)s.", "This does not fit on %(n)s × %(gpu)s.")
_UNSUPPORTED = mark("This configuration is not supported.")
_UNKNOWN = mark("Whether this fits is unknown.")
_VERDICTS = {Verdict.FITS: _FITS, Verdict.TIGHT: _TIGHT, Verdict.DOES_NOT_FIT: _DOES_NOT_FIT}
_SMALLEST = mark_plural("One GPU of this kind would be enough.", "It takes at least %(n)s GPUs of this kind.")
_NO_COUNT = mark("No number of these GPUs up to %(maximum)s holds it.")
_MOST = mark_plural(
    "The memory would hold a context of up to %(context)s tokens, or one sequence of the present length.",
    "The memory would hold a context of up to %(context)s tokens, or %(n)s sequences of the present length.",
)
_MOST_GPUS = 1024  # gpu_count ends there


def data(sizing: Sizing, _catalog: object) -> dict[str, Any]:
    """Model, scenario, memory over all GPUs and on the fullest one, fit, limits, warnings."""
    scenario = sizing.scenario
    return {
        "model": amounts.model(sizing),
        "gpu": amounts.gpu(sizing),
        "gpu_count": scenario.gpu_count,
        "engine": scenario.engine,
        "quantization": scenario.quantization,
        "context_tokens": scenario.context_tokens,
        "concurrent_sequences": scenario.concurrent_sequences,
        "cpu_offload_percent": scenario.cpu_offload_percent,
        "memory": {**amounts.terms(sizing.plan.total), "host": amounts.amount(sizing.plan.host_bytes)},
        "per_gpu": amounts.terms(sizing.plan.fullest),
        "fit": amounts.fit(sizing),
        "limits": {**amounts.limits(sizing), "largest_gpu_count": _MOST_GPUS},
        "warnings": amounts.notes(sizing.warnings),
    }


def sentences(data: Mapping[str, Any], voice: Voice) -> list[str]:
    """The question's answer: what is needed, whether it fits, and what would."""
    said = [_parameters(data, voice), _need(data, voice)]
    if data["cpu_offload_percent"]:
        said.append(voice.text(HOST, host=voice.gib(data["memory"]["host"]["bytes"])))
    return [*said, *_verdict(data, voice), *_limits(data, voice)]


def _parameters(data: Mapping[str, Any], voice: Voice) -> str:
    model = data["model"]
    values = {"model": model["name"], "total": voice.compact(model["parameters_total"])}
    if not model["mixture_of_experts"]:
        return voice.text(_PARAMETERS, **values)
    return voice.text(_EXPERT_PARAMETERS, active=voice.compact(model["parameters_active"]), **values)


def _need(data: Mapping[str, Any], voice: Voice) -> str:
    return voice.plural(
        *_NEED,
        data["concurrent_sequences"],
        quantization=data["quantization"],
        weights=voice.gib(data["memory"]["weights"]["bytes"]),
        engine=ENGINES.get(data["engine"], data["engine"]),
        context=voice.integer(data["context_tokens"]),
        total=voice.gib(data["memory"]["total"]["bytes"]),
    )


def _verdict(data: Mapping[str, Any], voice: Voice) -> list[str]:
    fit = data["fit"]
    verdict = Verdict(fit["verdict"])
    reasons = [note_text(voice, Note(**reason)) for reason in fit["reasons"]]
    if verdict is Verdict.UNSUPPORTED:
        return [voice.text(_UNSUPPORTED), *reasons]
    if verdict is Verdict.UNKNOWN:
        return [voice.text(_UNKNOWN), *reasons]
    if fit["utilization"] is None:  # nothing is usable, so there is nothing to take a part of
        return reasons
    values = {
        "gpu": data["gpu"]["name"],
        "needed": voice.gib(data["per_gpu"]["total"]["bytes"]),
        "usable": voice.gib(fit["usable"]["bytes"]),
        "utilization": voice.percent(fit["utilization_percent"] / 100, 1),
        "headroom": voice.gib(fit["headroom"]["bytes"]),
    }
    sentence = voice.plural(*_VERDICTS[verdict], data["gpu_count"], **values)
    # A tight fit has said its utilization; its only reason would say it again.
    return [sentence, *(reasons if verdict is Verdict.DOES_NOT_FIT else [])]


def _limits(data: Mapping[str, Any], voice: Voice) -> list[str]:
    verdict, limits = Verdict(data["fit"]["verdict"]), data["limits"]
    smallest = limits["min_gpu_count"]
    said = []
    if verdict is Verdict.DOES_NOT_FIT and smallest is None:
        said.append(voice.text(_NO_COUNT, maximum=voice.integer(_MOST_GPUS)))
    elif verdict in (*_FITTING, Verdict.DOES_NOT_FIT) and smallest not in (None, data["gpu_count"]):
        said.append(voice.plural(*_SMALLEST, smallest))
    context, sequences = limits["max_context_tokens"], limits["max_concurrent_sequences"]
    if verdict in _FITTING and context and sequences:
        said.append(voice.plural(*_MOST, sequences, context=voice.integer(context)))
    return said
