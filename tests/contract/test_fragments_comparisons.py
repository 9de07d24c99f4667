"""Tables that compare: each row is what the service would answer to that question itself."""

import json
from typing import Any

import pytest

from service.catalog import Catalog
from service.core.engines import ENGINES
from service.core.request import Request
from service.core.resolve import resolve
from service.core.size import size
from service.core.sizing import Sizing
from service.core.speed.run import family
from service.core.weights.weigh import weigh
from service.render.changes import RUNS, from_smallest, largest_format, smallest_gpu
from service.render.fragments import render
from service.render.what_if import Outcome, in_format, on_gpu, request_of

QUESTIONS: list[dict[str, Any]] = [
    {"model": "kimi-k3.1-pro", "gpu": "h20-141gb"},
    {"model": "gpt-oss-120b", "gpu": "h100-80gb-sxm", "engine": "vllm", "gpu_count": 4, "tensor_parallel": 2},
    {
        "model": "qwen3-30b-a3b-instruct-2507",
        "gpu": "rtx-4090",
        "quantization": "q4_k_m",
        "kv_cache_dtype": "q8_0",
        "concurrent_sequences": 3,
        "cpu_offload_percent": 25.0,
        "system_memory_gib": 64.0,
        "prompt_tokens": 5000,
        "output_tokens": 100,
    },
]


def ask(catalog: Catalog, question: dict[str, Any], **changes: Any) -> Sizing:
    parameters = {**question, **changes}
    model, gpu = catalog.models[parameters.pop("model")], catalog.gpus[parameters.pop("gpu")]
    return size(resolve(Request(model=model, gpu=gpu, **parameters)))


def rows(catalog: Catalog, sizing: Sizing, section: str) -> list[dict[str, Any]]:
    return list(json.loads(render(section, sizing, catalog, "en", "application/json"))["rows"])


def shown(sizing: Sizing) -> dict[str, Any]:
    """What every comparing row says of an answer."""
    return {
        "verdict": sizing.verdict,
        "total": sizing.plan.total.total,
        "per_gpu_total": sizing.plan.fullest.total,
    }


def of_row(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "verdict": row["verdict"],
        "total": row["total"]["bytes"],
        "per_gpu_total": row["per_gpu_total"]["bytes"],
    }


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q["model"])
def test_a_scenario_gives_back_its_question(catalog: Catalog, question: dict[str, Any]):
    """Only what was given, so that defaults may follow a change."""
    scenario = ask(catalog, question).scenario
    request = request_of(scenario)
    assert resolve(request) == scenario
    given = {name for name in question if name not in ("model", "gpu")}
    assert {name for name in given if getattr(request, name) == question[name]} == given
    assert request.quantization == question.get("quantization")


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q["model"])
def test_a_context_row_is_the_answer_at_that_context(catalog: Catalog, question: dict[str, Any]):
    found = rows(catalog, ask(catalog, question), "context")
    assert [row["selected"] for row in found].count(True) == 1
    speed_only = {"prompt_tokens": None, "output_tokens": None}
    for row in found:
        asked = ask(catalog, question, **speed_only, context_tokens=row["context_tokens"])
        assert of_row(row) == shown(asked)
        assert row["kv_cache"]["bytes"] == asked.plan.total.kv_cache


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q["model"])
def test_a_format_row_is_the_answer_in_that_format(catalog: Catalog, question: dict[str, Any]):
    """With the engine of the question, so far as it loads the format."""
    sizing = ask(catalog, question)
    own = [row for row in rows(catalog, sizing, "quantizations") if row["engine"] == sizing.scenario.engine]
    assert len(own) > 3
    for row in own[::5]:
        asked = ask(catalog, question, engine=row["engine"], quantization=row["quantization"])
        assert of_row(row) == shown(asked)


def test_a_format_of_another_engine_is_sized_with_it(catalog: Catalog):
    sizing = ask(catalog, QUESTIONS[0])
    native = next(row for row in rows(catalog, sizing, "quantizations") if row["quantization"] == "native")
    assert native["engine"] == "vllm"
    assert of_row(native) == shown(ask(catalog, QUESTIONS[0], engine="vllm", quantization="native"))


def test_an_offload_says_what_the_host_needs(catalog: Catalog):
    sizing = ask(catalog, QUESTIONS[2])
    answer = json.loads(render("summary", sizing, catalog, "en", "application/json"))
    host = answer["memory"]["host"]
    assert host["bytes"] == sizing.plan.host_bytes > 0
    assert f"{host['gib']:.2f} GiB is kept in system RAM, not on the GPU." in answer["sentences"]


SHORTCUTS: list[dict[str, Any]] = [
    {"model": "llama-3.3-70b-instruct", "gpu": "rtx-4090"},
    {"model": "qwen3-32b", "gpu": "h100-80gb-sxm", "engine": "vllm", "context_tokens": 32_768},
    {"model": "gpt-oss-120b", "gpu": "rtx-3090", "gpu_count": 4, "context_tokens": 65_536},
    {"model": "glm-4.5-air", "gpu": "h20-141gb", "engine": "vllm", "gpu_count": 2, "tensor_parallel": 1},
    {"model": "gemma-3-27b-it", "gpu": "rtx-3060-12gb", "cpu_offload_percent": 60.0},
]


@pytest.mark.parametrize("question", SHORTCUTS, ids=lambda q: f"{q['model']} {q['gpu']}")
def test_what_is_passed_over_would_not_have_fitted(catalog: Catalog, question: dict[str, Any]):
    """The largest format and the smallest accelerator are those that sizing every one of them finds."""
    sizing = ask(catalog, question)
    scenario, engine = sizing.scenario, ENGINES[sizing.scenario.engine]
    formats = [found for name in engine.formats if (found := in_format(scenario, name)) is not None]
    running = [found for found in formats if found.verdict in RUNS]
    best = largest_format(sizing)
    sizes = {format_bytes_of(found) for found in running}
    assert (best and format_bytes_of(best)) == max(sizes, default=None)
    every = [gpu for gpu in catalog.gpus.values() if gpu.memory_bytes and gpu.exists]
    ordered = from_smallest(every, engine.id, scenario.gpu_count)
    assert {gpu.id for gpu in ordered} <= {gpu.id for gpu in every if gpu.backends(engine.id)}
    outcomes = ((gpu, on_gpu(scenario, gpu, scenario.gpu_count)) for gpu in ordered)
    first = next((gpu.id for gpu, found in outcomes if found is not None and found.verdict in RUNS), None)
    found = smallest_gpu(scenario, sizing.plan, ordered)
    assert (found and found.scenario.gpu.id) == first


def format_bytes_of(outcome: Outcome) -> int:
    asked = outcome.scenario
    return weigh(asked.model, asked.quantization, family=family(asked.engine, asked.quantization)).total_bytes


def test_the_smallest_number_is_what_sizing_each_number_finds(catalog: Catalog):
    """A pool that is cut for eight GPUs says little of one: 131 GiB of weights run on a single H200."""
    asked = {"model": "deepseek-r1-distill-llama-70b", "engine": "tensorrt-llm", "quantization": "native"}
    sizing = ask(catalog, {**asked, "gpu": "h100-80gb-sxm", "gpu_count": 8})
    found = {row["gpu"]: row["min_gpu_count"] for row in rows(catalog, sizing, "gpus")}
    for gpu in ("h200-141gb-sxm", "b200-180gb", "a100-80gb-sxm"):
        numbers = range(1, catalog.gpus[gpu].max_per_node + 1)
        outcomes = ((number, on_gpu(sizing.scenario, catalog.gpus[gpu], number)) for number in numbers)
        runs = next(number for number, outcome in outcomes if outcome and outcome.verdict in RUNS)
        assert found[gpu] == runs, gpu
    assert found["h200-141gb-sxm"] == 1
