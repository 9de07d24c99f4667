"""Schemas of catalog entries, fragments and probes in the OpenAPI document."""

from service.api.openapi_schemas import (
    ANY_OBJECT,
    NUMBER,
    PROVIDED_BY,
    TEXT,
    TEXTS,
    TRUTH,
    WHOLE,
    Json,
    array,
    described,
    list_of,
    mapping,
    maybe,
    record,
    ref,
)

_MODEL_ITEM: Json = {
    "id": TEXT,
    "name": TEXT,
    "family": TEXT,
    "publisher": TEXT,
    "hf_repo": TEXT,
    "parameters_total": WHOLE,
    "parameters_active": described(WHOLE, "Of one token, both embedding matrices included."),
    "architecture": described(TEXT, "The class that config.json names."),
    "max_context_tokens": WHOLE,
    "evidence": TEXT,
    "provided_by": PROVIDED_BY,
}
_WEIGHED: Json = {
    "bytes": described(WHOLE, "Bytes of the tensors by the quantizer's own recipe."),
    "published_file_bytes": maybe(WHOLE, "Bytes of a published file of this format."),
    "evidence": TEXT,
    "source": TEXT,
}
_CACHE: Json = {
    "kv_cache_dtype": TEXT,
    "kv_bytes_per_token": WHOLE,
    "kv_window_bytes_per_sequence": WHOLE,
    "state_bytes_per_sequence": WHOLE,
    "evidence": ANY_OBJECT,
    "gpu": described(TEXT, "The accelerator whose defaults apply."),
}
_SUPPORT: Json = {
    "status": {"type": "string", "enum": ["yes", "no", "unknown"]},
    "since": maybe(TEXT),
    "note": maybe(TEXT),
}
_MODEL: Json = {
    "aliases": TEXTS,
    "license": maybe(TEXT),
    "released": maybe(TEXT),
    "notes": maybe(TEXT),
    "parameters_exact": TRUTH,
    "parameters_read_per_token": described(WHOLE, "As active, without an untied input embedding."),
    "parameters_by_class": mapping(WHOLE, "Parameters of the published checkpoint by kind of tensor."),
    "facts": ANY_OBJECT,
    "layer_groups": array(ANY_OBJECT, "Layers that are alike, with their cache and state in elements."),
    "cache_by_engine": mapping(record("", _CACHE), "Cache and state as each engine keeps them by default."),
    "support": mapping(record("", _SUPPORT), "Whether each engine runs the model, and since when."),
    "valid_tensor_parallel": array(WHOLE, "Tensor-parallel degrees that divide the model at 16 bit."),
    "weight_bytes_by_format": mapping(record("", _WEIGHED), "Weights in every format."),
    "sources": TEXTS,
}
_GPU_ITEM: Json = {
    "id": TEXT,
    "name": TEXT,
    "vendor": TEXT,
    "family": TEXT,
    "kind": TEXT,
    "memory": maybe(ref("Amount"), "Total that the driver reports."),
    "memory_bandwidth_gbs": maybe(NUMBER),
    "evidence": TEXT,
    "provided_by": PROVIDED_BY,
}
_GPU: Json = {
    "aliases": TEXTS,
    "exists": TRUTH,
    "released": maybe(TEXT),
    "label_gb": WHOLE,
    "memory_type": maybe(TEXT),
    "memory_evidence": TEXT,
    "unified_usable_fraction": maybe(NUMBER),
    "tflops": described(ANY_OBJECT, "Dense matrix rates in TFLOPS, int8 in TOPS."),
    "compute_capability": maybe(WHOLE),
    "tdp_watts": maybe(WHOLE),
    "interconnect": maybe(TEXT),
    "interconnect_gbs": maybe(NUMBER),
    "max_per_node": WHOLE,
    "price_usd": maybe(NUMBER),
    "engines": array(ANY_OBJECT, "Engines that run here, with the backend; preferred first."),
    "platforms": described(TEXTS, "Operating environments, the default first."),
    "offers": array(ref("Offer")),
    "notes": maybe(TEXT),
    "sources": TEXTS,
}
_ENGINE: Json = {
    "id": TEXT,
    "name": TEXT,
    "version": maybe(TEXT),
    "modelled": described(TRUTH, "False while another engine's rules stand in for its own."),
    "formats": TEXTS,
    "default_format": TEXT,
    "kv_cache_dtypes": TEXTS,
    "separate_value_dtype": TRUTH,
    "splits_layers": TRUTH,
    "offloads": TRUTH,
}
_QUANTIZATION: Json = {
    "id": TEXT,
    "label": TEXT,
    "family": TEXT,
    "nominal_bits_per_weight": maybe(NUMBER),
    "engines": TEXTS,
    "source": TEXT,
    "note": maybe(TEXT),
}
_OFFER: Json = {
    "id": TEXT,
    "provider": TEXT,
    "gpu": maybe(TEXT),
    "count": WHOLE,
    "usd_per_hour": described(NUMBER, "The whole instance."),
    "usd_per_gpu_hour": NUMBER,
    "commitment": TEXT,
    "billing": TEXT,
    "confidence": TEXT,
    "as_of": maybe(TEXT),
    "age_days": maybe(WHOLE, "Days from as_of to the day of the catalog, not to today."),
    "source": TEXT,
    "provided_by": PROVIDED_BY,
}
_FRAGMENT: Json = {
    "section": TEXT,
    "language": TEXT,
    "title": TEXT,
    "available": described(TRUTH, "False when one sentence says why there is nothing to show."),
    "sentences": TEXTS,
}
_READY: Json = {
    "status": {"type": "string", "enum": ["ok", "degraded"]},
    "cache": described(ANY_OBJECT, "The shared cache, and whether it answers."),
    "storage": described(
        ANY_OBJECT, "The database of uploads: ok, absent, unmigrated, newer or unavailable; reading goes on."
    ),
    "facts": {
        "type": "string",
        "enum": ["current", "outdated"],
        "description": "Outdated when a reload failed: the facts from before it are served.",
    },
}
_INFO: Json = {"version": TEXT, "data_digest": TEXT, "models": WHOLE, "gpus": WHOLE}
_LANGUAGE: Json = {"id": TEXT, "name": TEXT, "content_language": TEXT, "default": TRUTH}
_SECTION: Json = {"id": TEXT, "title": TEXT, "needs_gpu": TRUTH, "available": TRUTH, "path": TEXT}


def model_properties() -> Json:
    """Fields of one model."""
    return _MODEL_ITEM | _MODEL


def catalog_schemas() -> dict[str, Json]:
    """Entries of the catalogs and the lists of them, fragments and probes."""
    items = {
        "ModelItem": record("A model in a list.", _MODEL_ITEM),
        "GpuItem": record("An accelerator in a list.", _GPU_ITEM),
        "Engine": record("An inference engine.", _ENGINE),
        "Quantization": record("A weight format.", _QUANTIZATION),
        "Offer": record("A price for renting accelerators.", _OFFER),
        "Language": record("A language of the service.", _LANGUAGE),
        "Section": record("A section of a report.", _SECTION),
    }
    lists = {f"{name.removesuffix('Item')}List": list_of(name) for name in items}
    return {
        **items,
        **lists,
        "Model": record("Everything known about a model.", model_properties()),
        "Gpu": record("Everything known about an accelerator.", _GPU_ITEM | _GPU),
        "Fragment": record("A section's data beside what it says; the data's fields follow.", _FRAGMENT),
        "Live": record("The process answers.", {"status": TEXT}),
        "Ready": record("The service can answer.", _READY),
        "Info": record("What is running.", _INFO),
    }
