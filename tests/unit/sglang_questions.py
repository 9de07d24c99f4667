"""Scenarios for SGLang about models and GPUs of the catalog."""

from functools import cache
from typing import Any

from service.catalog.catalog import Catalog
from service.catalog.loader import load_catalog
from service.core.engines.sglang import ENGINE
from service.core.request import Request
from service.core.resolve import resolve
from service.core.scenario import Scenario
from service.core.sizing import EnginePlan
from tests.published import ROOT


@cache
def catalog() -> Catalog:
    return load_catalog(ROOT / "config")


def ask(model: str, gpu: str = "h200-141gb-sxm", **parameters: Any) -> Scenario:
    """The scenario that the API's parameters mean."""
    entry, card = catalog().models[model], catalog().gpus[gpu]
    return resolve(Request(model=entry, gpu=card, engine="sglang", **parameters))


def plan(model: str, gpu: str = "h200-141gb-sxm", **parameters: Any) -> EnginePlan:
    return ENGINE.plan(ask(model, gpu, **parameters))
