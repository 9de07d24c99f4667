"""What the configurator's forms show: choices from the catalog, values from the address."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from marshmallow import RAISE, Schema

from service.api.schemas import SCENARIO
from service.catalog import Catalog
from service.core.cost.currency import CURRENCIES
from service.core.request import RANGES
from service.i18n import Voice
from service.i18n.marking import mark
from service.i18n.messages.terms import PARAMETERS

SECOND = "b_"  # before the parameters of the scenario that the first one is compared with
_SCENARIO = {name: field for name, field in SCENARIO.items() if name not in ("lang", "explain")}
CONFIGURATOR = {
    **_SCENARIO,
    **{f"{SECOND}{name}": field for name, field in _SCENARIO.items()},
    "lang": SCENARIO["lang"],
}
CONFIGURATOR_QUERY: Schema = Schema.from_dict(dict(CONFIGURATOR))(unknown=RAISE)
"""The parameters of a scenario, and those of a second one to compare it with."""

_CONTEXTS = [2**power for power in range(12, 21)]
_NUMBERS = (
    "context_tokens",
    "gpu_count",
    "tensor_parallel",
    "pipeline_parallel",
    "concurrent_sequences",
    "cpu_offload_percent",
)
_CHOICES = ("model", "gpu", "engine", "quantization", "kv_cache_dtype", "currency")
# One field for keys and values.
_LABELS = {**PARAMETERS, "kv_cache_dtype": mark("KV cache type"), "currency": mark("Currency")}
_GROUPS = {
    "native": mark("As published"),
    "safetensors": "Safetensors",
    "gguf": "GGUF",
    "mlx": "MLX",
}


def default_subject(catalog: Catalog) -> dict[str, str]:
    """What is shown before anything is chosen: the model and accelerator that are measured most."""
    model = max(catalog.models, key=lambda name: len(catalog.measurements.get(name, ())))
    measured = Counter(found.gpu for found in catalog.measurements.get(model, ()))
    gpu = next((name for name, _ in measured.most_common(1)), next(iter(catalog.gpus)))
    return {"model": model, "gpu": gpu}


def side(
    catalog: Catalog,
    speaker: Voice,
    given: Mapping[str, str],
    prefix: str = "",
    fallback: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """One form: the values of the address below `prefix`, or, while it has none, those of the other form.

    Raises UnknownModel, UnknownGpu.
    """
    values = {name: given[prefix + name] for name in _SCENARIO if prefix + name in given}
    if not values and fallback:
        values = {name: fallback[name] for name in _SCENARIO if name in fallback}
    if "model" in values:
        values["model"] = catalog.find_model(values["model"]).id
    if "gpu" in values:
        values["gpu"] = catalog.find_gpu(values["gpu"]).id
    if "currency" in values:
        values["currency"] = values["currency"].upper()
    shown = (*_CHOICES, *_NUMBERS)
    return {
        "id": "b" if prefix else "a",
        "given": values,
        "labels": {name: speaker.text(_LABELS[name]) for name in shown},
        "choices": _choices(catalog),
        "currencies": [(code, speaker.currency(code)) for code in CURRENCIES],
        "groups": {name: speaker.text(text) for name, text in _GROUPS.items()},
        "numbers": {name: RANGES[name] for name in _NUMBERS},
        "contexts": _CONTEXTS,
        "hidden": {name: value for name, value in values.items() if name not in shown},
    }


def _choices(catalog: Catalog) -> dict[str, Any]:
    """Models by publisher, accelerators by vendor, engines, formats by family, types of the cache."""
    dtypes: dict[str, list[str]] = {}
    for engine in catalog.engines.values():
        for dtype in engine.kv_cache_dtypes:
            dtypes.setdefault(dtype, []).append(engine.id)
    return {
        "models": _grouped((m.publisher, (m.id, m.name)) for m in catalog.models.values()),
        "gpus": _grouped((found.vendor, (found.id, found.name)) for found in catalog.gpus.values()),
        "engines": [(engine.id, engine.name) for engine in catalog.engines.values()],
        "formats": _grouped((f.family, (f.id, " ".join(f.engines))) for f in catalog.quantizations.values()),
        "dtypes": [(dtype, " ".join(engines)) for dtype, engines in dtypes.items()],
    }


def _grouped(entries: Iterable[tuple[str, tuple[str, str]]]) -> dict[str, list[tuple[str, str]]]:
    groups: dict[str, list[tuple[str, str]]] = {}
    for group, entry in entries:
        groups.setdefault(group, []).append(entry)
    return dict(sorted(groups.items(), key=lambda item: item[0].lower()))
