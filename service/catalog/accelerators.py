"""A validated row of gpus.yaml -> the core's Gpu."""

from collections.abc import Iterable, Mapping
from typing import Any

from service.catalog.facts import EngineFacts
from service.core.evidence import Evidence
from service.core.hardware import EngineOnGpu, Gpu, GpuKind, Tflops
from service.core.provenance import ProvidedBy
from service.core.units import MIB

_MIB_PER_LABEL_GB = 1024


def gpu(row: Mapping[str, Any], engines: Iterable[EngineFacts]) -> Gpu:
    """The accelerator of one row."""
    memory, tflops, interconnect = row["memory"], row["tflops"], row["interconnect"]
    memory_bytes, memory_evidence = driver_memory(memory, row.get("exists", True))
    return Gpu(
        id=row["id"],
        name=row["name"],
        vendor=row["vendor"],
        family=row["family"],
        kind=GpuKind(row["kind"]),
        memory_bytes=memory_bytes,
        memory_evidence=memory_evidence,
        label_gb=memory["gb"],
        memory_bandwidth_gbs=memory["bandwidth_gbs"],
        tflops=Tflops(tflops["fp16"], tflops["fp8"], tflops["int8"], tflops["fp4"]),
        tdp_watts=row["tdp_watts"],
        interconnect=interconnect["type"],
        interconnect_gbs=interconnect["gbs"],
        max_per_node=row["max_per_node"],
        engines=runtimes(row["engines"], engines),
        evidence=row["evidence"],
        sources=tuple(row["sources"]),
        released=row["released"],
        memory_type=memory["type"],
        unified_usable_fraction=memory.get("unified_usable_fraction"),
        compute_capability=row.get("compute_capability"),
        price_usd=price(row["price_usd"]),
        aliases=tuple(row["aliases"]),
        notes=row.get("notes"),
        exists=row.get("exists", True),
        provided_by=row.get("provided_by", ProvidedBy.CATALOG),
    )


def driver_memory(memory: Mapping[str, Any], exists: bool) -> tuple[int | None, Evidence]:
    """Bytes that the driver reports; without a reading the label taken as GiB, which is an estimate."""
    if not exists:
        return None, Evidence.UNKNOWN
    if "driver_mib" in memory:
        return memory["driver_mib"] * MIB, Evidence(memory["driver_evidence"])
    return memory["gb"] * _MIB_PER_LABEL_GB * MIB, Evidence.ESTIMATE


def price(stated: Mapping[str, Any]) -> float | None:
    """The list price; where there is none, the middle of the street price."""
    street = stated.get("street")
    if stated["msrp"] is not None or street is None:
        listed: float | None = stated["msrp"]
        return listed
    middle: float = (street["low"] + street["high"]) / 2
    return middle


def runtimes(rows: Iterable[Mapping[str, Any]], engines: Iterable[EngineFacts]) -> tuple[EngineOnGpu, ...]:
    """Engines that run here: those stated, and those that run on the backends of stated ones."""
    found = [
        EngineOnGpu(row["engine"], row["backend"], row.get("note"), row.get("port", False)) for row in rows
    ]
    derived: list[EngineOnGpu] = []
    for engine in engines:
        taken = {row.backend for row in found if row.engine == engine.id}
        for row in found:
            if row.engine in engine.backends_from and row.backend not in taken:
                taken.add(row.backend)
                derived.append(EngineOnGpu(engine.id, row.backend, f"as {row.engine}", row.port))
    return (*found, *derived)
