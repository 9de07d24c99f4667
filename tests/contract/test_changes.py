"""A change that is offered can be made: its parameters, sent with the question, give just its outcome."""

import random
from dataclasses import replace
from typing import Any

import pytest

from service.catalog import Catalog
from service.core.engines import ENGINES
from service.core.planning.formats import ladder
from service.core.request import Request
from service.core.resolve import resolve
from service.core.size import size
from service.errors import InvalidParameters
from service.render.changes import RUNS, Change, nearest, upgrades
from service.render.what_if import on_gpu

QUESTIONS = 15  # of each engine


def asked(chosen: random.Random, catalog: Catalog, engine: str) -> Request:
    """A random question that has an answer; layouts and backends are given now and then."""
    while True:
        model = chosen.choice(list(catalog.models.values()))
        gpu = chosen.choice([gpu for gpu in catalog.gpus.values() if gpu.backends(engine)])
        possible: dict[str, tuple[Any, ...]] = {
            "context_tokens": (4096, 131_072, 300_000),
            "concurrent_sequences": (3, 64),
            "gpu_count": (2, 4, 8),
            "backend": gpu.backends(engine),
            "platform": ("linux-server", "windows"),
            "system_memory_gib": (64.0,),
        }
        if not ENGINES[engine].splits_layers:
            possible |= {"tensor_parallel": (1, 2, 4), "data_parallel": (2,), "pipeline_parallel": (2,)}
        given = {name: chosen.choice(found) for name, found in possible.items() if chosen.random() < 0.4}
        quantization = chosen.choice(ladder(ENGINES[engine], model.architecture))
        request = Request(model, gpu, engine=engine, quantization=quantization, **given)
        try:
            resolve(request)
        except InvalidParameters:
            continue
        return request


@pytest.mark.parametrize("engine", ENGINES)
def test_a_change_can_be_made(catalog: Catalog, engine: str):
    """What is no longer given is said, so that no degree and no backend of the old machine is in its way."""
    chosen = random.Random(engine)
    for _ in range(QUESTIONS):
        request = asked(chosen, catalog, engine)
        answer = size(resolve(request))
        for change in (*nearest(answer, catalog), *upgrades(answer, catalog)):
            made = size(resolve(made_with(request, change, catalog)))
            assert made.verdict in RUNS, (request, change.sets())
            assert made.plan.fullest == change.outcome.plan.fullest, (request, change.sets())
            assert made.scenario.gpu_count == change.outcome.scenario.gpu_count


def made_with(request: Request, change: Change, catalog: Catalog) -> Request:
    """The question with the parameters of the change; the GPU is one of the catalog."""
    sets = change.sets()
    if "gpu" in sets:
        sets["gpu"] = catalog.gpus[sets["gpu"]]
    return replace(request, **sets)


def test_more_may_be_reserved_than_there_is(catalog: Catalog):
    """In a comparison too the usable memory is then nothing, not less."""
    model, gpu = catalog.models["qwen3-8b"], catalog.gpus["rtx-5080"]
    for engine in ENGINES:
        reserved = Request(model, catalog.gpus["rtx-4090"], engine=engine, reserved_memory_bytes=2**34)
        outcome = on_gpu(resolve(reserved), gpu, 1)
        assert outcome is not None
        assert outcome.plan.usable_bytes == 0
        assert outcome.verdict not in RUNS
