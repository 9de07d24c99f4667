"""What accelerator this is: memory, rates and power, the engines that run on it, and the evidence."""

from collections.abc import Mapping
from typing import Any

from service.core.evidence import Evidence
from service.core.hardware import Gpu
from service.core.notes import Note
from service.core.provenance import ProvidedBy
from service.core.sizing import Sizing
from service.i18n.marking import mark
from service.i18n.messages import note_text
from service.i18n.messages.gpu_facts import GPU_KINDS
from service.i18n.messages.terms import ENGINES
from service.i18n.voice import Voice
from service.render import amounts

_MEMORY = mark(
    "%(gpu)s by %(vendor)s (%(kind)s) has %(memory)s of memory, as its driver reports it, and reads it at "
    "%(bandwidth)s GB/s."
)
_MEMORY_ESTIMATED = mark(
    "%(gpu)s by %(vendor)s (%(kind)s) has about %(memory)s of memory, which no published reading of its "
    "driver confirms, and reads it at %(bandwidth)s GB/s."
)
_MEMORY_UNKNOWN = mark("How much memory %(gpu)s has, or how fast it is, is not known.")
_GIVEN = mark("%(gpu)s is an accelerator that the caller described.")
_PART = mark("Of its unified memory, the GPU may use %(percent)s by default.")
_PER_SECOND = mark(
    "Each token that is generated reads the active weights once, so the bandwidth limits the speed of one "
    "sequence, and the rates of the matrix units limit how fast a prompt is read."
)
_ENGINES = mark("These engines run on it: %(engines)s.")
_NO_ENGINE = mark("None of the engines that this service knows runs on it.")
_NEVER_SOLD = mark("It was announced but never sold.")


def data(sizing: Sizing, catalog: object) -> dict[str, Any]:
    """The facts of the scenario's accelerator, whatever its model."""
    return data_of_gpu(sizing.scenario.gpu, catalog)


def data_of_gpu(gpu: Gpu, _catalog: object) -> dict[str, Any]:
    """Facts by name (null: not known), engines with their backends, and where the facts come from."""
    return {
        "gpu": {"id": gpu.id, "name": gpu.name},
        "kind": str(gpu.kind),
        "exists": gpu.exists,
        "memory": amounts.maybe_amount(gpu.memory_bytes),
        "label_gb": gpu.label_gb,
        "memory_evidence": str(gpu.memory_evidence),
        "unified_usable_fraction": gpu.unified_usable_fraction,
        "facts": _facts(gpu),
        "engines": _engines(gpu),
        "provided_by": str(gpu.provided_by),
        "evidence": gpu.evidence,
        "sources": list(gpu.sources),
        "remark": gpu.notes,
    }


def sentences(data: Mapping[str, Any], voice: Voice) -> list[str]:
    """How much memory it has and how fast it is, what may be used of it, and what runs on it."""
    name, facts = data["gpu"]["name"], data["facts"]
    said = []
    if data["provided_by"] == ProvidedBy.CALLER:
        said.append(voice.text(_GIVEN, gpu=name))
    elif data["memory"] is None or facts["memory_bandwidth_gbs"] is None:
        said.append(voice.text(_MEMORY_UNKNOWN, gpu=name))
    else:
        values = {
            "vendor": facts["vendor"],
            "kind": voice.text(GPU_KINDS[data["kind"]]),
            "memory": voice.gib(data["memory"]["bytes"]),
            "bandwidth": voice.plain(facts["memory_bandwidth_gbs"]),
        }
        estimated = data["memory_evidence"] == Evidence.ESTIMATE
        said.append(voice.text(_MEMORY_ESTIMATED if estimated else _MEMORY, gpu=name, **values))
    if data["provided_by"] == ProvidedBy.OPERATOR:
        said.append(note_text(voice, Note("gpu_by_operator", {"gpu": name})))
    if not data["exists"]:
        said.append(voice.text(_NEVER_SOLD))
    if data["unified_usable_fraction"] is not None:
        said.append(voice.text(_PART, percent=voice.percent(data["unified_usable_fraction"])))
    said.append(voice.text(_PER_SECOND))
    names = [ENGINES.get(row["engine"], row["engine"]) for row in data["engines"]]
    return [*said, voice.text(_ENGINES, engines=voice.list(names)) if names else voice.text(_NO_ENGINE)]


def _facts(gpu: Gpu) -> dict[str, Any]:
    rates = {f"{name}_tflops": getattr(gpu.tflops, name) for name in ("fp16", "fp8", "int8", "fp4")}
    return {
        "vendor": None if gpu.provided_by is ProvidedBy.CALLER else gpu.vendor,
        "family": None if gpu.provided_by is ProvidedBy.CALLER else gpu.family,
        "released": gpu.released,
        "memory_type": gpu.memory_type,
        "memory_bandwidth_gbs": gpu.memory_bandwidth_gbs,
        **rates,
        "tdp_watts": gpu.tdp_watts,
        "interconnect": gpu.interconnect,
        "interconnect_gbs": gpu.interconnect_gbs,
        "max_per_node": gpu.max_per_node,
        "compute_capability": None if gpu.compute_capability is None else gpu.compute_capability / 10,
    }


def _engines(gpu: Gpu) -> list[dict[str, Any]]:
    """Each engine once, with its backends, preferred first."""
    names = dict.fromkeys(entry.engine for entry in gpu.engines)
    return [{"engine": name, "backends": list(gpu.backends(name))} for name in names]
