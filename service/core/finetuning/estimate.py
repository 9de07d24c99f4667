"""Training -> memory, verdict, and the smallest hardware, for each method."""

from collections.abc import Iterable
from operator import itemgetter

from service.core.architecture.tensors import TensorClass
from service.core.finetuning.memory import Needs, evidence, needs
from service.core.finetuning.result import FineTuning, FineTunings, Placement
from service.core.finetuning.targets import targeted
from service.core.finetuning.training import Method, Training
from service.core.hardware import Gpu
from service.core.notes import Note
from service.core.size import MAX_GPU_COUNT, TIGHT_ABOVE
from service.core.sizing import Verdict

# Where torch, bitsandbytes and peft are released for; elsewhere vendors keep ports of their own.
_TRAINING_BACKENDS = frozenset({"cuda", "rocm"})


def fine_tune(training: Training, gpus: Iterable[Gpu]) -> FineTunings:
    """What each asked method takes. gpus: where to look for the smallest hardware.

    Products whose facts are only estimated are not proposed.
    """
    searched = [gpu for gpu in gpus if gpu.exists and gpu.evidence != "estimate" and trains(gpu)]
    return FineTunings(training, tuple(_answer(training, method, searched) for method in training.methods))


def trains(gpu: Gpu) -> bool:
    """Whether the usual training software is released for the accelerator."""
    return any(engine.backend in _TRAINING_BACKENDS for engine in gpu.engines)


def usable_bytes(gpu: Gpu) -> int | None:
    """What a training may use of one accelerator; None when its memory is not known."""
    if gpu.memory_bytes is None:
        return None
    return int(gpu.memory_bytes * (gpu.unified_usable_fraction or 1))


def min_gpu_count(need: Needs, gpu: Gpu) -> int | None:
    """The fewest accelerators of one kind, up to 1024; None when none are enough or the memory is not known.

    One GPU gathers nothing, so it is tried apart; from two on, more GPUs never hold more each.
    """
    usable = usable_bytes(gpu)
    if not usable:
        return None
    if need.on(1).total <= usable:
        return 1
    low, high = 2, MAX_GPU_COUNT
    if need.on(high).total > usable:
        return None
    while low < high:
        middle = (low + high) // 2
        if need.on(middle).total <= usable:
            high = middle
        else:
            low = middle + 1
    return low


def _answer(training: Training, method: Method, searched: list[Gpu]) -> FineTuning:
    need, gpu = needs(training, method), training.gpu
    per_gpu = need.on(training.gpu_count)
    usable = None if gpu is None else usable_bytes(gpu)
    verdict, reasons = (None, ()) if gpu is None else _judge(gpu, per_gpu.total, usable)
    return FineTuning(
        method=method,
        parameters=need.base.parameters,
        trainable_parameters=need.trainable,
        per_gpu=per_gpu,
        usable_bytes=usable,
        verdict=verdict,
        reasons=reasons,
        min_gpu_count=None if gpu is None else min_gpu_count(need, gpu),
        smallest=_smallest(need, searched),
        notes=_notes(training, method),
        evidence=evidence(training, method),
    )


def _judge(gpu: Gpu, total: int, usable: int | None) -> tuple[Verdict, tuple[Note, ...]]:
    if usable is None:
        return Verdict.UNKNOWN, (Note("memory_unknown", {"gpu": gpu.name}),)
    if total > usable:
        values = {"needed": total, "usable": usable, "missing": total - usable}
        return Verdict.DOES_NOT_FIT, (Note("training_exceeds_memory", values),)
    if total > TIGHT_ABOVE * usable:
        return Verdict.TIGHT, (Note("little_headroom", {"percent": round(100 * TIGHT_ABOVE)}),)
    return Verdict.FITS, ()


def _smallest(need: Needs, gpus: Iterable[Gpu]) -> Placement | None:
    """The fewest accelerators, which are the largest; then the smallest of those that do in that number."""
    known = [(usable, gpu) for gpu in gpus if (usable := usable_bytes(gpu))]
    count = min_gpu_count(need, max(known, key=itemgetter(0))[1]) if known else None
    if count is None:
        return None
    held = need.on(count).total
    enough = (pair for pair in known if pair[0] >= held)
    usable, gpu = min(enough, key=lambda pair: (pair[1].memory_bytes or 0, pair[1].id))
    return Placement(gpu, count, held, usable)


def _notes(training: Training, method: Method) -> tuple[Note, ...]:
    notes = []
    architecture, gpu = training.model.architecture, training.gpu
    if gpu is not None and gpu.exists and not trains(gpu):
        notes.append(Note("training_software_unknown", {"gpu": gpu.name}))
    if architecture.experts is None or method is Method.FULL:
        return tuple(notes)
    if method is Method.QLORA:
        notes.append(Note("experts_stay_16_bit"))
    routed = TensorClass.ROUTED_EXPERTS
    if not any(linear.tensor_class is routed for linear in targeted(architecture, training.targets)):
        notes.append(Note("experts_not_adapted"))
    return tuple(notes)
