"""What full, LoRA and QLoRA fine-tuning need on the scenario's GPUs, and the smallest hardware for each."""

from collections.abc import Mapping, Sequence
from typing import Any

from service.catalog import Catalog
from service.core.finetuning.estimate import fine_tune
from service.core.finetuning.training import Training
from service.core.size import MAX_GPU_COUNT
from service.core.sizing import Sizing
from service.i18n.marking import mark, mark_plural
from service.i18n.messages.finetuning import METHODS
from service.i18n.voice import Voice
from service.render import finetuning

_BASIS = mark(
    "Sized for sequences of %(tokens)s tokens, a micro-batch of %(batch)s, AdamW in mixed precision and "
    "gradient checkpointing; LoRA and QLoRA train adapters of rank %(rank)s on all linear layers."
)
_ONE = mark("On one GPU nothing is divided.")
_DIVIDED = mark(
    "Weights, gradients and optimizer states are divided over %(count)s GPUs "
    "(ZeRO stage %(stage)s, as in FSDP)."
)
_FITS = mark_plural(
    "%(method)s needs %(total)s on one %(gpu)s and fits.",
    "%(method)s needs %(total)s on each %(gpu)s and fits.",
)
_TIGHT = mark_plural(
    "%(method)s needs %(total)s on one %(gpu)s and fits tightly.",
    "%(method)s needs %(total)s on each %(gpu)s and fits tightly.",
)
_DOES_NOT_FIT = mark_plural(
    "%(method)s would need %(total)s on one %(gpu)s and does not fit.",
    "%(method)s would need %(total)s on each %(gpu)s and does not fit.",
)
_SMALLEST = mark("It takes at least %(count)s × %(gpu)s.")
_NONE = mark("No number of these GPUs up to %(maximum)s is enough.")
_UNKNOWN = mark("The memory of %(gpu)s is not known, so only the amounts are given.")
_VERDICTS = {"fits": _FITS, "tight": _TIGHT, "does_not_fit": _DOES_NOT_FIT}


def data(sizing: Sizing, catalog: object) -> dict[str, Any]:
    """The parameters of the training and one entry for each method."""
    assert isinstance(catalog, Catalog)
    scenario = sizing.scenario
    training = Training(model=scenario.model, gpu=scenario.gpu, gpu_count=scenario.gpu_count)
    found = fine_tune(training, catalog.gpus.values())
    return {
        "gpu": {"id": scenario.gpu.id, "name": scenario.gpu.name},
        "training": finetuning.parameters(found),
        "methods": (methods := finetuning.results(found)),
        "notes": _notes(methods),
        "largest_gpu_count": MAX_GPU_COUNT,
    }


def sentences(data: Mapping[str, Any], voice: Voice) -> list[str]:
    """What was assumed, and for each method whether it fits and what would do."""
    training = data["training"]
    said = [
        voice.text(
            _BASIS,
            tokens=voice.integer(training["sequence_tokens"]),
            batch=voice.integer(training["micro_batch"]),
            rank=voice.integer(training["rank"]),
        ),
        _division(training, voice),
    ]
    if data["methods"][0]["fit"]["usable"] is None:
        return [*said, voice.text(_UNKNOWN, gpu=data["gpu"]["name"])]
    for method in data["methods"]:
        said += _method(data, method, voice)
    return said


def _notes(methods: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Each note once, with the methods that it holds for; none where it holds for all."""
    of: dict[str, list[str]] = {}
    found: dict[str, Mapping[str, Any]] = {}
    for method in methods:
        for note in method["notes"]:
            key = repr(note)
            found[key] = note
            of.setdefault(key, []).append(method["method"])
    return [
        {"note": found[key], "methods": [] if len(names) == len(methods) else names}
        for key, names in of.items()
    ]


def _division(training: Mapping[str, Any], voice: Voice) -> str:
    count = training["gpu_count"]
    if count == 1:
        return voice.text(_ONE)
    return voice.text(_DIVIDED, count=voice.integer(count), stage=voice.integer(training["zero_stage"]))


def _method(data: Mapping[str, Any], method: Mapping[str, Any], voice: Voice) -> list[str]:
    gpu, count = data["gpu"]["name"], data["training"]["gpu_count"]
    said = [
        voice.plural(
            *_VERDICTS[method["fit"]["verdict"]],
            count,
            method=voice.text(METHODS[method["method"]]),
            total=voice.gib(method["per_gpu"]["total"]["bytes"]),
            gpu=gpu,
        )
    ]
    fewest = method["min_gpu_count"]
    if fewest is None:
        said.append(voice.text(_NONE, maximum=voice.integer(data["largest_gpu_count"])))
    elif fewest > count:
        said.append(voice.text(_SMALLEST, count=voice.integer(fewest), gpu=gpu))
    return said
