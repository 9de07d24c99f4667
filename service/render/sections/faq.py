"""Questions that people ask, each answered from the numbers of this scenario."""

from collections.abc import Iterator, Mapping
from typing import Any

from service.catalog import Catalog
from service.core.size import MAX_GPU_COUNT
from service.core.sizing import Note, Sizing, Verdict
from service.i18n.marking import mark
from service.i18n.voice import Voice
from service.render import amounts
from service.render.changes import RUNS, largest_format, smaller_kv_types
from service.render.speed_of import speed_by
from service.render.what_if import at_context

_INTRODUCTION = mark("Every answer follows from the figures of this scenario.")
_JUDGED = (*RUNS, Verdict.DOES_NOT_FIT)
Item = tuple[Note, tuple[Note, ...]]


def data(sizing: Sizing, catalog: object) -> dict[str, Any]:
    """Questions and answers as codes with their values."""
    assert isinstance(catalog, Catalog)
    return {
        "model": amounts.model(sizing),
        "gpu": amounts.gpu(sizing),
        "gpu_count": sizing.scenario.gpu_count,
        "items": [
            {"question": amounts.notes([question])[0], "answer": amounts.notes(answer)}
            for question, answer in _items(sizing, catalog)
        ],
    }


def sentences(data: Mapping[str, Any], voice: Voice) -> list[str]:  # noqa: ARG001 - the items say it
    """What the answers rest on."""
    return [voice.text(_INTRODUCTION)]


def _items(sizing: Sizing, catalog: Catalog) -> Iterator[Item]:
    yield _memory(sizing)
    yield _fit(sizing)
    if sizing.verdict in _JUDGED:
        yield _gpu_count(sizing)
        yield _format(sizing)
    yield from _context(sizing)
    yield from _kv_type(sizing)
    yield from _experts(sizing)
    yield from _speed(sizing, catalog)


def _memory(sizing: Sizing) -> Item:
    scenario, total = sizing.scenario, sizing.plan.total
    values = {
        "format": scenario.quantization,
        "engine": scenario.engine,
        "context": scenario.context_tokens,
        "concurrent_sequences": scenario.concurrent_sequences,
        "total_bytes": total.total,
        "weights_bytes": total.weights,
        "kv_bytes": total.kv_cache,
        "state_bytes": total.recurrent_state,
        "rest_bytes": total.compute_buffers + total.runtime_overhead,
    }
    code = "tell_memory" if total.recurrent_state else "tell_memory_without_state"
    return Note("ask_memory", {"model": scenario.model.name}), (Note(code, values),)


def _fit(sizing: Sizing) -> Item:
    scenario = sizing.scenario
    names = {"model": scenario.model.name, "gpu": scenario.gpu.name, "gpu_count": scenario.gpu_count}
    values = {
        "needed_bytes": sizing.plan.fullest.total,
        "usable_bytes": sizing.plan.usable_bytes,
        "utilization": sizing.utilization,
    }
    told = Note(f"tell_{sizing.verdict}", values if sizing.verdict in _JUDGED else {})
    reasons = () if sizing.verdict in RUNS else sizing.reasons
    return Note("ask_fit", names), (told, *reasons)


def _gpu_count(sizing: Sizing) -> Item:
    count = sizing.limits.min_gpu_count
    told = (
        Note("tell_no_gpu_count", {"most": MAX_GPU_COUNT})
        if count is None
        else Note("tell_gpu_count", {"count": count})
    )
    return Note("ask_gpu_count", {"gpu": sizing.scenario.gpu.name}), (told,)


def _format(sizing: Sizing) -> Item:
    scenario, best = sizing.scenario, largest_format(sizing)
    values: dict[str, object] = {"engine": scenario.engine}
    if best is None:
        values |= {"gpu_count": scenario.gpu_count, "gpu": scenario.gpu.name}
        return Note("ask_format"), (Note("tell_no_format", values),)
    values |= {
        "format": best.scenario.quantization,
        "needed_bytes": best.plan.fullest.total,
        "usable_bytes": best.plan.usable_bytes,
    }
    return Note("ask_format"), (Note("tell_format", values),)


def _context(sizing: Sizing) -> Iterator[Item]:
    scenario, plan = sizing.scenario, sizing.plan
    longer = 2 * scenario.context_tokens
    found = at_context(scenario, longer)
    if not plan.kv_bytes_per_token:
        yield Note("ask_context"), (Note("tell_context_is_free"),)
    elif found is not None:
        total = found.plan.total.total
        values = {
            "per_token": plan.kv_bytes_per_token,
            "now": scenario.context_tokens,
            "longer": longer,
            "more_bytes": total - plan.total.total,
            "total_bytes": total,
        }
        yield Note("ask_context"), (Note("tell_context", values),)


def _kv_type(sizing: Sizing) -> Iterator[Item]:
    """The first smaller type: the one that costs least quality."""
    plan = sizing.plan
    found = next(iter(smaller_kv_types(sizing.scenario)), None)
    if found is None:
        return
    before, after = plan.total.kv_cache, found.plan.total.kv_cache
    values = {
        "dtype": found.scenario.kv_cache_dtype,
        "before_bytes": before,
        "after_bytes": after,
        "saved_bytes": plan.total.total - found.plan.total.total,
        "total_bytes": plan.total.total,
    }
    answer = [Note("tell_kv_type", values)]
    if plan.state_bytes_per_sequence:
        answer.append(Note("tell_state_stays", {"state_bytes": plan.state_bytes_per_sequence}))
    yield Note("ask_kv_type"), tuple(answer)


def _experts(sizing: Sizing) -> Iterator[Item]:
    model = sizing.scenario.model
    if model.architecture.experts is not None:
        values = {"parameters_active": model.parameters_active, "parameters_total": model.parameters_total}
        yield Note("ask_experts"), (Note("tell_experts", values),)


def _speed(sizing: Sizing, catalog: Catalog) -> Iterator[Item]:
    if sizing.verdict in RUNS and (speed := speed_by(catalog)(sizing)):
        rates = {name: float(f"{getattr(speed.decode, name):.4g}") for name in ("low", "estimate", "high")}
        yield Note("ask_speed"), (Note("tell_speed", rates),)
