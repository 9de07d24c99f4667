"""What decides whether the scenario fits, and the smallest single change that makes it fit."""

from collections.abc import Mapping
from typing import Any

from service.catalog import Catalog
from service.core.sizing import Note, Sizing, Verdict
from service.i18n.messages import note_text
from service.i18n.voice import Voice
from service.render import amounts
from service.render.changes import RUNS, Change, nearest

# What a change is called where the scenario does not fit as it is.
_CHANGES = {
    "context_tokens": "shorter_context_fits",
    "concurrent_sequences": "fewer_sequences_fit",
    "quantization": "smaller_format_fits",
    "kv_cache_dtype": "smaller_kv_type_fits",
    "gpu_count": "more_gpus_fit",
    "gpu": "larger_gpu_fits",
}


def data(sizing: Sizing, catalog: object) -> dict[str, Any]:
    """The terms of the fullest GPU, what decides, and the nearest values that fit."""
    assert isinstance(catalog, Catalog)
    scenario, judged = sizing.scenario, sizing.verdict in (*RUNS, Verdict.DOES_NOT_FIT)
    changes = [_entry(change, sizing) for change in nearest(sizing, catalog)] if judged else []
    return {
        "model": amounts.model(sizing),
        "gpu": amounts.gpu(sizing),
        "gpu_count": scenario.gpu_count,
        "engine": scenario.engine,
        "quantization": scenario.quantization,
        "per_gpu": amounts.terms(sizing.plan.fullest),
        "fit": amounts.fit(sizing),
        "findings": amounts.notes(_findings(sizing, changes)) if judged else [],
        "changes": changes,
    }


def sentences(data: Mapping[str, Any], voice: Voice) -> list[str]:
    """The findings; without them the reasons of the verdict."""
    given = data["findings"] or data["fit"]["reasons"]
    return [note_text(voice, Note(**note)) for note in given]


def _findings(sizing: Sizing, changes: list[dict[str, Any]]) -> tuple[Note, ...]:
    memory, usable = sizing.plan.fullest, sizing.plan.usable_bytes or 0
    found = [_decides(sizing, usable)]
    if memory.recurrent_state:
        found.append(Note("state_is_constant", {"state_bytes": memory.recurrent_state}))
    if sizing.verdict in RUNS:
        return tuple(found)
    if not changes:
        return (*found, Note("no_single_change"))
    named = (Note(**change["says"]) for change in changes)
    return (*found, Note("one_single_change" if len(changes) == 1 else "single_changes"), *named)


def _entry(change: Change, sizing: Sizing) -> dict[str, Any]:
    """The change, and what it is called where the scenario does not fit as it is."""
    values = {"engine": sizing.scenario.engine, "now": change.now, "to": change.to}
    said = None if sizing.verdict in RUNS else {"code": _CHANGES[change.parameter], "parameters": values}
    return {**change.entry(), "says": said}


def _decides(sizing: Sizing, usable: int) -> Note:
    memory = sizing.plan.fullest
    if sizing.verdict in RUNS:
        rest = memory.total - memory.weights
        return Note(
            "room_left",
            {
                "headroom_bytes": usable - memory.total,
                "weights_percent": round(100 * memory.weights / usable, 1),
                "rest_percent": round(100 * rest / usable, 1),
            },
        )
    if memory.weights > usable:
        return Note("weights_decide", {"weights_bytes": memory.weights, "usable_bytes": usable})
    parts = {
        "kv_cache_decides": memory.kv_cache,
        "recurrent_state_decides": memory.recurrent_state,
        "buffers_decide": memory.compute_buffers + memory.runtime_overhead,
    }
    code, largest = max(parts.items(), key=lambda part: part[1])
    left = usable - memory.weights
    return Note(code, {"left_bytes": left, "usable_bytes": usable, "term_bytes": largest})
