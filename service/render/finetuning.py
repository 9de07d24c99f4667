"""A fine-tuning as data: the shape that the API and the section share."""

from typing import Any

from service.core.finetuning.result import TERMS, FineTuning, FineTunings, Placement, TrainingMemory
from service.render import amounts


def results(found: FineTunings) -> list[dict[str, Any]]:
    """One entry for each method."""
    return [_result(result, found.training.gpu_count) for result in found.results]


def parameters(found: FineTunings) -> dict[str, Any]:
    """Every parameter of the training with the value used."""
    training = found.training
    methods = [str(method) for method in training.methods]
    return {
        "model": training.model.id,
        "gpu": None if training.gpu is None else training.gpu.id,
        "gpu_count": training.gpu_count,
        "method": methods[0] if len(methods) == 1 else "all",
        "rank": training.rank,
        "targets": list(training.targets),
        "sequence_tokens": training.sequence_tokens,
        "micro_batch": training.micro_batch,
        "optimizer": str(training.optimizer),
        "gradient_checkpointing": training.gradient_checkpointing,
        "zero_stage": training.zero_stage,
    }


def _result(result: FineTuning, gpu_count: int) -> dict[str, Any]:
    return {
        "method": str(result.method),
        "parameters": result.parameters,
        "trainable_parameters": result.trainable_parameters,
        "memory": _terms(result.per_gpu.times(gpu_count)),
        "per_gpu": _terms(result.per_gpu),
        "fit": _fit(result),
        "min_gpu_count": result.min_gpu_count,
        "smallest_hardware": _placement(result.smallest),
        "notes": amounts.notes(result.notes),
        "evidence": {
            term: {"evidence": str(found.evidence), "source": found.source}
            for term, found in result.evidence.items()
        },
    }


def _terms(memory: TrainingMemory) -> dict[str, Any]:
    return {name: amounts.amount(getattr(memory, name)) for name in (*TERMS, "total")}


def _fit(result: FineTuning) -> dict[str, Any] | None:
    """None when no accelerator was named."""
    if result.verdict is None:
        return None
    utilization = result.utilization
    return {
        "verdict": str(result.verdict),
        "usable": amounts.maybe_amount(result.usable_bytes),
        "headroom": amounts.maybe_amount(result.headroom_bytes),
        "utilization": utilization,
        "reasons": amounts.notes(result.reasons),
    }


def _placement(placement: Placement | None) -> dict[str, Any] | None:
    if placement is None:
        return None
    return {
        "gpu": placement.gpu.id,
        "name": placement.gpu.name,
        "gpu_count": placement.gpu_count,
        "per_gpu": amounts.amount(placement.per_gpu_bytes),
        "usable": amounts.amount(placement.usable_bytes),
    }
