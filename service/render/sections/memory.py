"""Where the memory goes: every term over all GPUs and on the fullest one, with its evidence."""

from collections.abc import Mapping
from typing import Any

from service.core.sizing import Sizing
from service.i18n.marking import mark
from service.i18n.voice import Voice
from service.render import amounts

_PER_TOKEN = mark(
    "Each further token of a sequence adds %(per_token)s to the KV cache, before any split over GPUs."
)
_NO_GROWTH = mark("The memory of a sequence does not grow with its length.")
_WINDOW = mark("Layers with a bounded window reserve %(window)s per sequence.")
_STATE = mark("The recurrent state takes %(state)s per sequence, whatever the context.")
HOST = mark("%(host)s is kept in system RAM, not on the GPU.")


def data(sizing: Sizing, _catalog: object) -> dict[str, Any]:
    """Terms in bytes and GiB, groups of like GPUs, bytes per token and sequence, fit, evidence."""
    plan = sizing.plan
    return {
        "gpu": amounts.gpu(sizing),
        "gpu_count": sizing.scenario.gpu_count,
        "memory": {
            **amounts.terms(plan.total),
            "host": amounts.amount(plan.host_bytes),
            "model_weights": amounts.amount(plan.model_weights_bytes),
        },
        "per_gpu": amounts.terms(plan.fullest),
        "ranks": [{"gpus": rank.count, "total": amounts.amount(rank.memory.total)} for rank in plan.ranks],
        "kv_bytes_per_token": plan.kv_bytes_per_token,
        "kv_window_bytes_per_sequence": plan.kv_window_bytes_per_sequence,
        "state_bytes_per_sequence": plan.state_bytes_per_sequence,
        "fit": amounts.fit(sizing),
        "evidence": amounts.evidence(plan),
    }


def sentences(data: Mapping[str, Any], voice: Voice) -> list[str]:
    """What a token and a sequence cost, and what the host keeps."""
    said = []
    if per_token := data["kv_bytes_per_token"]:
        said.append(voice.text(_PER_TOKEN, per_token=voice.byte_count(per_token)))
    else:
        said.append(voice.text(_NO_GROWTH))
    if window := data["kv_window_bytes_per_sequence"]:
        said.append(voice.text(_WINDOW, window=voice.byte_count(window)))
    if state := data["state_bytes_per_sequence"]:
        said.append(voice.text(_STATE, state=voice.byte_count(state)))
    if host := data["memory"]["host"]["bytes"]:
        said.append(voice.text(HOST, host=voice.gib(host)))
    return said
