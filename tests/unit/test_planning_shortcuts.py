"""Planning passes over what surely does not fit: it must never pass over what does."""

import random
from dataclasses import replace
from typing import Any

import pytest

from service.catalog import Catalog
from service.core.catalogued import Model
from service.core.engines import ENGINES
from service.core.engines.base import Engine
from service.core.hardware import Gpu
from service.core.planning.formats import ladder
from service.core.planning.question import Facts, Question
from service.core.planning.search import search, sized
from service.core.sizing import Sizing, Verdict

RANDOM_QUESTIONS = 300


@pytest.fixture(scope="module")
def facts(catalog: Catalog) -> Facts:
    """Speeds are not looked at here."""
    return Facts(catalog.costs, lambda _: None)


def everything(model: Model, gpu: Gpu, question: Question) -> tuple[int, str] | None:
    """The fewest GPUs and the best format of the ladder on them, every one of them sized."""
    engine = ENGINES[question.engine or ""]
    for count in counts(question, gpu, engine):
        for quantization in ladder(engine, model.architecture):
            sizing = sized(model, gpu, count, engine.id, quantization, question)
            if isinstance(sizing, Sizing) and sizing.verdict in (Verdict.FITS, Verdict.TIGHT):
                return count, quantization
    return None


def counts(question: Question, gpu: Gpu, engine: Engine) -> list[int]:
    """The numbers that a plan tries in one machine: every small one for whole layers, else powers of two."""
    if question.gpu_count is not None:
        return [question.gpu_count]
    steps = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64)
    tried = [n for n in steps if engine.splits_layers or n & (n - 1) == 0]
    return [*(n for n in tried if n < gpu.max_per_node), gpu.max_per_node]


def first_of(model: Model, gpu: Gpu, question: Question, facts: Facts) -> tuple[int, str] | None:
    found, _ = search(model, gpu, question, facts)
    return (found[0].sizing.scenario.gpu_count, found[0].sizing.scenario.quantization) if found else None


@pytest.mark.parametrize("engine", ["llama.cpp", "vllm"])
@pytest.mark.parametrize(
    "model", ["llama-3.3-70b-instruct", "glm-4.5-air", "gemma-3-27b-it", "qwen3.5-35b-a3b"]
)
def test_nothing_that_runs_is_passed_over(catalog: Catalog, facts: Facts, model: str, engine: str):
    """What is ruled out unseen does not fit: the first option is the one that trying everything finds."""
    question = Question(engine=engine, values={"context_tokens": 32768})
    for gpu in (catalog.gpus[name] for name in ("rtx-3060-12gb", "rtx-4090", "rtx-5090", "l40s-48gb")):
        asked = catalog.models[model], gpu, question
        assert first_of(*asked, facts) == everything(*asked), gpu.id


def test_a_format_with_smaller_buffers_is_not_passed_over(catalog: Catalog, facts: Facts):
    """On 8 L40S the published experts, cut eightfold, need over 10 GiB of buffers each; whole ones do not."""
    model, gpu = catalog.models["deepseek-v4.1-flash-552b-a16b"], catalog.gpus["l40s-48gb"]
    asked = Question("vllm", values={"context_tokens": 512})
    (found,), _ = search(model, gpu, asked, facts)
    scenario = found.sizing.scenario
    assert (scenario.gpu_count, scenario.quantization) == everything(model, gpu, asked) == (8, "awq-int4")


def test_weights_in_system_memory_are_no_reason_to_pass_over_a_card(catalog: Catalog, facts: Facts):
    """80 % of 39 GiB in system RAM leave 8 GiB for 24 GiB of a card: what a sizing says, a plan says too."""
    model, gpu = catalog.models["llama-3.3-70b-instruct"], catalog.gpus["rtx-4090"]
    asked = Question("llama.cpp", "q4_k_m", 1, {"cpu_offload_percent": 80.0})
    (found,), left = search(model, gpu, asked, facts)
    assert found.sizing.verdict is Verdict.FITS
    assert left is None
    assert not search(model, gpu, replace(asked, values={}), facts)[0]


def test_a_plan_finds_what_trying_everything_finds(catalog: Catalog, facts: Facts):
    """Random models, accelerators, engines and settings; what is passed over unseen does not fit."""
    chosen = random.Random(20261130)
    models = list(catalog.models.values())
    gpus = [gpu for gpu in catalog.gpus.values() if gpu.exists]
    asked = 0
    while asked < RANDOM_QUESTIONS:
        model, gpu, engine = chosen.choice(models), chosen.choice(gpus), chosen.choice(list(ENGINES.values()))
        if gpu.backends(engine.id):
            question = Question(engine.id, None, chosen.choice((None, None, 1, 2, 4)), values(chosen, engine))
            wanted = everything(model, gpu, question)
            assert first_of(model, gpu, question, facts) == wanted, (model.id, gpu.id, question)
            asked += 1


def values(chosen: random.Random, engine: Engine) -> dict[str, Any]:
    """Some settings of a scenario, each given now and then."""
    possible: dict[str, tuple[Any, ...]] = {
        "context_tokens": (512, 4096, 32768, 131_072, 1_000_000),
        "concurrent_sequences": (1, 4, 32, 256),
        "kv_cache_dtype": engine.kv_dtypes,
        "vision": (True,),
        "speculative_tokens": (1, 3),
        "reserved_memory_bytes": (2**30, 5 * 2**30),
        "system_memory_gib": (8.0, 64.0),
    }
    if engine.offloads:
        possible["cpu_offload_percent"] = (10.0, 50.0, 100.0)
    if engine.id in ("vllm", "sglang", "tensorrt-llm"):
        possible["memory_utilization"] = (0.5, 0.8, 0.95)
    return {name: chosen.choice(found) for name, found in possible.items() if chosen.random() < 0.25}
