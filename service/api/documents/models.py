"""A catalog model as JSON: the list's item, and everything that follows from its architecture."""

from dataclasses import asdict
from typing import Any

from service.catalog import Catalog
from service.core.architecture.summary import (
    layer_groups,
    parameter_table,
    read_parameters_per_token,
)
from service.core.catalogued import Model, Support
from service.core.engines import ENGINES
from service.core.engines.base import Engine
from service.core.hardware import Gpu, GpuKind
from service.core.layout import valid_degrees
from service.core.request import Request
from service.core.resolve import resolve
from service.core.weights.weigh import weigh
from service.errors import InvalidParameters
from service.render.amounts import evidence as sourced

# Larger degrees divide some models too, but no one splits a layer over more than a dozen nodes of eight.
MAX_TENSOR_PARALLEL = 96
_UNKNOWN = Support("unknown")


def model_item(model: Model) -> dict[str, Any]:
    """The model in a list."""
    return {
        "id": model.id,
        "name": model.name,
        "family": model.family,
        "publisher": model.publisher,
        "hf_repo": model.hf_repo,
        "parameters_total": model.parameters_total,
        "parameters_active": model.parameters_active,
        "architecture": model.architecture.engine_class,
        "max_context_tokens": model.architecture.max_context_tokens,
        "evidence": model.evidence,
        "provided_by": model.provided_by,
    }


def model_document(model: Model, catalog: Catalog) -> dict[str, Any]:
    """Everything the service knows about a model."""
    architecture = model.architecture
    return {
        **model_item(model),
        "aliases": list(model.aliases),
        "license": model.license,
        "released": model.released,
        "notes": model.notes,
        "parameters_exact": model.parameters_exact,
        "parameters_read_per_token": read_parameters_per_token(architecture),
        "parameters_by_class": parameter_table(architecture),
        "facts": _facts(model),
        "layer_groups": [asdict(group) for group in layer_groups(architecture)],
        "cache_by_engine": cache_by_engine(model, catalog),
        "support": {engine: asdict(model.support.get(engine, _UNKNOWN)) for engine in ENGINES},
        "valid_tensor_parallel": valid_degrees(architecture, MAX_TENSOR_PARALLEL),
        "weight_bytes_by_format": weight_bytes_by_format(model),
        "sources": list(model.sources),
    }


def _facts(model: Model) -> dict[str, Any]:
    architecture = model.architecture
    return {
        "model_type": architecture.model_type,
        "gguf_architecture": architecture.gguf_architecture,
        "layers": len(architecture.layers),
        "hidden_size": architecture.hidden_size,
        "vocabulary": architecture.vocabulary,
        "attention_heads": architecture.attention_heads,
        "kv_heads": architecture.kv_heads,
        "head_dim": architecture.head_dim,
        "dense_width": architecture.dense_width,
        "tied_embeddings": architecture.tied,
        "experts": None if architecture.experts is None else asdict(architecture.experts),
        "vision": bool(architecture.vision),
        "multi_token_prediction_layers": len(architecture.mtp),
        "native_format": architecture.native.name,
        "native_bytes": model.native_bytes,
        "native_evidence": model.native_evidence,
    }


def weight_bytes_by_format(model: Model) -> dict[str, dict[str, Any]]:
    """Format id -> tensor bytes by recipe, a published file beside them, the evidence."""
    formats = dict.fromkeys(name for engine in ENGINES.values() for name in sorted(engine.formats))
    tables = {name: weigh(model, name) for name in formats}
    return {
        name: {
            "bytes": table.total_bytes,
            "published_file_bytes": table.published_file_bytes,
            "evidence": table.evidence,
            "source": table.source,
        }
        for name, table in tables.items()
    }


def cache_by_engine(model: Model, catalog: Catalog) -> dict[str, dict[str, Any]]:
    """Engine id -> cache and state of one sequence by default, on the GPU named."""
    found: dict[str, dict[str, Any]] = {}
    for engine in ENGINES.values():
        gpu = _usual_gpu(engine, catalog)
        cache = None if gpu is None else _cache(model, gpu, engine)
        if cache is not None:
            found[engine.id] = cache
    return found


def _usual_gpu(engine: Engine, catalog: Catalog) -> Gpu | None:
    """The first datacenter accelerator that runs the engine, else the first that does."""
    able = [gpu for gpu in catalog.gpus.values() if gpu.exists and gpu.backends(engine.id)]
    return next((gpu for gpu in able if gpu.kind is GpuKind.DATACENTER), able[0] if able else None)


def _cache(model: Model, gpu: Gpu, engine: Engine) -> dict[str, Any] | None:
    try:
        scenario = resolve(Request(model=model, gpu=gpu, engine=engine.id))
    except InvalidParameters:  # the engine's default format does not exist for this model
        return None
    plan = engine.plan(scenario)
    return {
        "kv_cache_dtype": scenario.kv_cache_dtype,
        "kv_bytes_per_token": plan.kv_bytes_per_token,
        "kv_window_bytes_per_sequence": plan.kv_window_bytes_per_sequence,
        "state_bytes_per_sequence": plan.state_bytes_per_sequence,
        "evidence": {
            term: value for term, value in sourced(plan).items() if term in ("kv_cache", "recurrent_state")
        },
        "gpu": gpu.id,
    }
