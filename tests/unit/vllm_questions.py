"""Scenarios for vLLM about models and GPUs of the catalog."""

from dataclasses import replace
from functools import cache
from typing import Any

from service.catalog.catalog import Catalog
from service.catalog.loader import load_catalog
from service.core.engines.vllm import ENGINE
from service.core.scenario import Layout, Scenario
from service.core.sizing import EnginePlan
from tests.published import ROOT
from tests.unit.factories import make_scenario


@cache
def catalog() -> Catalog:
    return load_catalog(ROOT / "config")


def ask(model: str, gpu: str = "h200-141gb-sxm", **changes: Any) -> Scenario:
    """One sequence of 8,192 tokens on one rank, engine defaults elsewhere."""
    entry, card = catalog().models[model], catalog().gpus[gpu]
    layout = changes.pop("layout", Layout())
    context = changes.pop("context_tokens", 8192)
    defaults = ENGINE.defaults(entry.architecture, card, layout.tensor, context)
    dtype = changes.pop("kv_cache_dtype", defaults.kv_cache_dtype)
    scenario = make_scenario(
        model=entry,
        gpu=card,
        engine="vllm",
        quantization="native",
        kv_cache_dtype=dtype,
        kv_cache_dtype_v=dtype,
        context_tokens=context,
        layout=layout,
        gpu_count=layout.tensor * layout.pipeline * layout.data,
        max_batched_tokens=defaults.max_batched_tokens,
        memory_utilization=defaults.memory_utilization,
        prefix_caching=defaults.prefix_caching,
        vision=bool(entry.architecture.vision),
    )
    return replace(scenario, **changes)


def plan(model: str, gpu: str = "h200-141gb-sxm", **changes: Any) -> EnginePlan:
    return ENGINE.plan(ask(model, gpu, **changes))
