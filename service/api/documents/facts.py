"""Accelerators, engines, formats and offers as JSON."""

from dataclasses import asdict
from typing import Any

from service.catalog import Catalog
from service.catalog.facts import EngineFacts, Offer, Quantization
from service.core.engines import ENGINES
from service.core.hardware import Gpu
from service.core.resolve import platforms
from service.render.amounts import maybe_amount


def gpu_item(gpu: Gpu) -> dict[str, Any]:
    """The accelerator in a list."""
    return {
        "id": gpu.id,
        "name": gpu.name,
        "vendor": gpu.vendor,
        "family": gpu.family,
        "kind": gpu.kind,
        "memory": maybe_amount(gpu.memory_bytes),
        "memory_bandwidth_gbs": gpu.memory_bandwidth_gbs,
        "evidence": gpu.evidence,
        "provided_by": gpu.provided_by,
    }


def gpu_document(gpu: Gpu, catalog: Catalog) -> dict[str, Any]:
    """Everything the service knows about an accelerator."""
    return {
        **gpu_item(gpu),
        "aliases": list(gpu.aliases),
        "exists": gpu.exists,
        "released": gpu.released,
        "label_gb": gpu.label_gb,
        "memory_type": gpu.memory_type,
        "memory_evidence": gpu.memory_evidence,
        "unified_usable_fraction": gpu.unified_usable_fraction,
        "tflops": asdict(gpu.tflops),
        "compute_capability": gpu.compute_capability,
        "tdp_watts": gpu.tdp_watts,
        "interconnect": gpu.interconnect,
        "interconnect_gbs": gpu.interconnect_gbs,
        "max_per_node": gpu.max_per_node,
        "price_usd": gpu.price_usd,
        "engines": [asdict(engine) for engine in gpu.engines],
        "platforms": list(platforms(gpu)),
        "offers": [offer_document(offer) for offer in catalog.offers_for(gpu.id)],
        "notes": gpu.notes,
        "sources": list(gpu.sources),
    }


def engine_document(facts: EngineFacts) -> dict[str, Any]:
    """An engine: what was published about it, and the formats and cache types that it accepts here."""
    engine = ENGINES[facts.id]
    return {
        **asdict(facts),
        "version": facts.version,
        "modelled": engine.modelled,
        "formats": sorted(engine.formats),
        "default_format": engine.default_format,
        "kv_cache_dtypes": ["auto", *engine.kv_dtypes],
        "separate_value_dtype": engine.separate_value_dtype,
        "splits_layers": engine.splits_layers,
        "offloads": engine.offloads,
    }


def quantization_document(quantization: Quantization) -> dict[str, Any]:
    """A weight format."""
    return asdict(quantization)


def offer_document(offer: Offer) -> dict[str, Any]:
    """A rental price; the id is its place in the list of this data digest."""
    return {**asdict(offer), "usd_per_gpu_hour": offer.usd_per_gpu_hour}
