"""The shapes of JSON that several sections share; every number of a section comes from here or its data."""

from collections.abc import Mapping, Sequence
from typing import Any

from service.core.sizing import EnginePlan, Memory, Note, Sizing
from service.core.units import gib

TERMS = ("weights", "kv_cache", "recurrent_state", "compute_buffers", "runtime_overhead")


def amount(amount_bytes: int) -> dict[str, Any]:
    """An amount of memory: bytes are the truth, GiB are rounded to two places."""
    return {"bytes": amount_bytes, "gib": gib(amount_bytes)}


def maybe_amount(amount_bytes: int | None) -> dict[str, Any] | None:
    """An amount, or None when it is not known."""
    return None if amount_bytes is None else amount(amount_bytes)


def terms(memory: Memory) -> dict[str, Any]:
    """The terms of GPU memory and their sum."""
    return {name: amount(getattr(memory, name)) for name in (*TERMS, "total")}


def notes(given: Sequence[Note]) -> list[dict[str, Any]]:
    """Reasons or warnings, each code and values once."""
    found: list[dict[str, Any]] = []
    for note in given:
        entry = {"code": note.code, "parameters": dict(note.parameters)}
        if entry not in found:
            found.append(entry)
    return found


def fit(sizing: Sizing) -> dict[str, Any]:
    """The verdict and the per-GPU figures that decide it."""
    utilization = sizing.utilization
    return {
        "verdict": str(sizing.verdict),
        "usable": maybe_amount(sizing.plan.usable_bytes),
        "headroom": maybe_amount(sizing.headroom_bytes),
        "utilization": None if utilization is None else round(utilization, 4),
        "utilization_percent": None if utilization is None else round(100 * utilization, 1),
        "reasons": notes(sizing.reasons),
    }


def limits(sizing: Sizing) -> dict[str, Any]:
    """What the configuration could hold at most; None where a limit has no value of its own."""
    found = sizing.limits
    return {
        "max_context_tokens": found.max_context_tokens,
        "max_concurrent_sequences": found.max_concurrent_sequences,
        "kv_cache_capacity_tokens": found.kv_cache_capacity_tokens,
        "min_gpu_count": found.min_gpu_count,
    }


def model(sizing: Sizing) -> dict[str, Any]:
    """Which model it is and how large."""
    found = sizing.scenario.model
    return {
        "id": found.id,
        "name": found.name,
        "parameters_total": found.parameters_total,
        "parameters_active": found.parameters_active,
        "mixture_of_experts": found.architecture.experts is not None,
        "max_context_tokens": found.architecture.max_context_tokens,
    }


def gpu(sizing: Sizing) -> dict[str, Any]:
    """Which accelerator it is and what its driver reports."""
    found = sizing.scenario.gpu
    return {
        "id": found.id,
        "name": found.name,
        "memory": maybe_amount(found.memory_bytes),
        "memory_bandwidth_gbs": found.memory_bandwidth_gbs,
    }


def evidence(plan: EnginePlan) -> Mapping[str, Mapping[str, str]]:
    """How well each term is known and where its rule comes from."""
    return {
        term: {"evidence": str(found.evidence), "source": found.source}
        for term, found in plan.evidence.items()
    }
