"""The question as it was understood: every parameter, its value, and whether it was given."""

from collections.abc import Mapping
from typing import Any

from service.core.scenario import Scenario
from service.core.sizing import Sizing
from service.i18n.marking import mark
from service.i18n.messages.terms import PARAMETERS
from service.i18n.voice import Voice

_ALL_GIVEN = mark("Every parameter was given.")
_DEFAULTS = mark("Parameters marked as default were not given; the value is the one that was used.")
_UNITS = {
    "gpu_count": "gpus",
    "context_tokens": "tokens",
    "concurrent_sequences": "sequences",
    "prompt_tokens": "tokens",
    "output_tokens": "tokens",
    "tensor_parallel": "ways",
    "pipeline_parallel": "ways",
    "expert_parallel": "ways",
    "data_parallel": "ways",
    "decode_context_parallel": "ways",
    "cpu_offload_percent": "percent",
    "system_memory_gib": "gib",
    "reserved_memory_bytes": "bytes",
    "memory_utilization": "ratio",
    "kv_cache_memory_bytes": "bytes",
    "max_batched_tokens": "tokens",
    "speculative_tokens": "tokens",
    "hours_per_day": "hours",
    "electricity_usd_per_kwh": "usd_per_kwh",
    "hardware_budget_usd": "usd",
}


def data(sizing: Sizing, _catalog: object) -> dict[str, Any]:
    """Each parameter's name, value, unit (None for names) and whether its value is a default."""
    scenario = sizing.scenario
    names = {"model": scenario.model.name, "gpu": scenario.gpu.name}
    return {
        "parameters": [
            {
                "name": name,
                "value": _value(scenario, name),
                "label": names.get(name),
                "unit": _UNITS.get(name),
                "defaulted": name in scenario.defaulted,
            }
            for name in PARAMETERS
        ]
    }


def sentences(data: Mapping[str, Any], voice: Voice) -> list[str]:
    """What the mark of a default means."""
    some = any(parameter["defaulted"] for parameter in data["parameters"])
    return [voice.text(_DEFAULTS if some else _ALL_GIVEN)]


def _value(scenario: Scenario, name: str) -> object:
    if name in ("model", "gpu"):
        return str(getattr(scenario, name).id)
    if name.endswith("_parallel"):
        return getattr(scenario.layout, name.removesuffix("_parallel"))
    value = getattr(scenario, name)
    return str(value) if isinstance(value, str) else value
