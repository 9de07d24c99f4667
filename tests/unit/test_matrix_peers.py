"""Accelerators that an engine plans alike share a plan in a matrix: none may share what differs on it."""

import random
from typing import Any

import pytest

from service.catalog import Catalog
from service.core.engines import ENGINES
from service.core.engines.base import Engine
from service.core.matrix.cells import Facts
from service.core.matrix.compute import compute
from service.core.matrix.question import Question
from service.core.matrix.result import VERDICTS
from service.core.planning.formats import ladder
from service.core.request import Request
from service.core.resolve import resolve
from service.core.size import judge
from service.core.sizing import Verdict
from service.errors import InvalidParameters

QUESTIONS = 12  # of each engine, each on every accelerator of the catalog
MEASURES = ("verdict", "total_bytes", "per_gpu_bytes", "usable_bytes", "max_context_tokens")


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
def test_every_accelerator_has_the_figures_of_its_own_plan(catalog: Catalog, engine: Engine):
    """Random models and settings, all accelerators in one matrix, against a plan for each alone."""
    chosen = random.Random(engine.id)
    for _ in range(QUESTIONS):
        model = chosen.choice(list(catalog.models.values()))
        check(catalog, model.id, chosen.choice(ladder(engine, model.architecture)), values(chosen, engine))


def test_tables_in_system_memory_are_those_of_the_backend(catalog: Catalog):
    """SGLang keeps n-gram tables on the host with CUDA alone: an MLU of as much memory holds 47 GiB more."""
    asked = {"engine": "sglang", "gpu_count": 2, "context_tokens": 32_768}
    check(catalog, "qwen3.8-flash-next-125b-a6b", "native", asked)


def check(catalog: Catalog, model: str, quantization: str, asked: dict[str, Any]) -> None:
    """A matrix of one model in one format equals the plan of each accelerator."""
    given = dict(asked)
    context = given.pop("context_tokens", 8192)
    gpus = tuple(catalog.gpus.values())
    question = Question((catalog.models[model],), gpus, (quantization,), (context,), given)
    found = compute(question, Facts(catalog.speed, catalog.costs.offers)).measures
    columns = [found[name].over(question.shape)[0, :, 0, 0].tolist() for name in MEASURES]
    for gpu, (verdict, *figures) in zip(gpus, zip(*columns, strict=True), strict=True):
        axes = {"model": catalog.models[model], "gpu": gpu, "quantization": quantization}
        try:
            scenario = resolve(Request(**axes, context_tokens=context, **given))
        except InvalidParameters:
            assert VERDICTS[verdict] is Verdict.UNSUPPORTED, (model, gpu.id, asked)
            continue
        plan = ENGINES[scenario.engine].plan(scenario)
        usable = -1 if plan.usable_bytes is None else max(0, plan.usable_bytes)
        longest = -1 if plan.max_context_tokens is None else plan.max_context_tokens
        wanted = [plan.total.total, plan.fullest.total, usable, longest]
        assert (VERDICTS[verdict], figures) == (judge(scenario, plan)[0], wanted), (model, gpu.id, asked)


def values(chosen: random.Random, engine: Engine) -> dict[str, Any]:
    """Some settings of a scenario, each given now and then."""
    possible: dict[str, tuple[Any, ...]] = {
        "context_tokens": (512, 131_072, 1_000_000),
        "concurrent_sequences": (4, 32, 256, 300),
        "kv_cache_dtype": engine.kv_dtypes,
        "gpu_count": (2, 4, 8),
        "vision": (True,),
        "speculative_tokens": (2,),
        "reserved_memory_bytes": (2**31,),
    }
    if engine.offloads:
        possible["cpu_offload_percent"] = (10.0, 50.0, 100.0)
    if not engine.splits_layers:
        possible["kv_cache_memory_bytes"] = (2**30, 2**33, 2**36)
    given = {name: chosen.choice(found) for name, found in possible.items() if chosen.random() < 0.3}
    return {"engine": engine.id, **given}
