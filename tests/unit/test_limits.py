"""Limits of an answer, for random questions to every engine: what they promise fits, one more does not."""

import random
from dataclasses import replace
from typing import Any

import pytest

from service.catalog import Catalog
from service.core.engines import ENGINES
from service.core.engines.base import Engine
from service.core.engines.llama_cpp.pool import CELL_MULTIPLE
from service.core.engines.mlx.cache import STEP
from service.core.planning.formats import ladder
from service.core.request import Request
from service.core.resolve import resolve
from service.core.scenario import Scenario
from service.core.size import fits, judge, size, with_gpu_count
from service.core.sizing import Verdict
from service.errors import InvalidParameters

QUESTIONS = 60  # of each engine
# Contexts in whole cells or steps, and the sequences that an engine serves at most with its own flags.
STEPS = {"llama.cpp": CELL_MULTIPLE, "lm-studio": CELL_MULTIPLE, "ollama": CELL_MULTIPLE, "mlx": STEP}
SERVED = {"llama.cpp": 256, "lm-studio": 256, "ollama": 256, "mlx": 32, "tensorrt-llm": 2048}
PAGED = ("vllm", "sglang", "tensorrt-llm")


def asked(chosen: random.Random, catalog: Catalog, engine: Engine) -> Scenario:
    """A random scenario on an accelerator whose memory is known."""
    while True:
        model = chosen.choice(list(catalog.models.values()))
        gpu = chosen.choice([gpu for gpu in catalog.gpus.values() if gpu.exists and gpu.memory_bytes])
        formats = ladder(engine, model.architecture)
        given = values(chosen, engine)
        try:
            return resolve(Request(model=model, gpu=gpu, quantization=chosen.choice(formats), **given))
        except InvalidParameters:
            continue


def values(chosen: random.Random, engine: Engine) -> dict[str, Any]:
    """Some settings, each given now and then."""
    possible: dict[str, tuple[Any, ...]] = {
        "context_tokens": (1, 500, 4096, 131_072, chosen.randint(1, 300_000)),
        "concurrent_sequences": (2, 5, 64, 255),
        "kv_cache_dtype": engine.kv_dtypes,
        "gpu_count": (2, 3, 4, 7, 8, 12, 16),
        "vision": (True,),
        "speculative_tokens": (2,),
        "reserved_memory_bytes": (2**30, 2**33),
    }
    if engine.offloads:
        possible["cpu_offload_percent"] = (10.0, 50.0, 90.0)
    if engine.id in PAGED:
        possible |= {
            "kv_cache_memory_bytes": (2**30, 2**33, 2**37),
            "memory_utilization": (0.5, 0.9),
            "pipeline_parallel": (2, 3),
            "data_parallel": (2, 4),
        }
    given = {name: chosen.choice(found) for name, found in possible.items() if chosen.random() < 0.3}
    return {"engine": engine.id, **given}


def runs(scenario: Scenario, **changes: Any) -> bool:
    changed = replace(scenario, **changes)
    return fits(changed, ENGINES[changed.engine].plan(changed, limits=False))


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
def test_limits_fit_and_one_more_does_not(catalog: Catalog, engine: Engine):
    """The longest context and the most sequences, against sizing at them, below them and beyond them."""
    chosen = random.Random(engine.id)
    for _ in range(QUESTIONS):
        scenario = asked(chosen, catalog, engine)
        limits, native = size(scenario).limits, scenario.model.architecture.max_context_tokens
        longest, most = limits.max_context_tokens, limits.max_concurrent_sequences
        assert longest is not None
        assert most is not None
        assert longest <= native
        step, data = STEPS.get(engine.id, 1), scenario.layout.data
        # Ollama's batch may grow where less is asked for.
        tried = 1 if engine.id == "ollama" else 2
        for context in (longest, chosen.randint(1, max(1, longest)))[:tried] if longest else ():
            assert runs(scenario, context_tokens=context), (scenario, context)
        if longest < native:
            assert not runs(scenario, context_tokens=min(native, longest + step)), (scenario, longest)
        for sequences in (most, chosen.randint(1, max(1, most)))[:tried] if most else ():
            assert runs(scenario, concurrent_sequences=sequences), (scenario, sequences)
        if most != 1 and most < SERVED.get(engine.id, 2**63) * data:
            assert not runs(scenario, concurrent_sequences=most + data), (scenario, most)


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
def test_the_smallest_number_is_that_of_trying_each(catalog: Catalog, engine: Engine):
    """Default layouts one by one up to 48, and never more GPUs than a scenario that runs has itself."""
    chosen = random.Random(engine.id)
    for _ in range(QUESTIONS // 2):
        scenario = asked(chosen, catalog, engine)
        tried = (count for count in range(1, 49) if runs_on(scenario, count))
        wanted = min(next(tried, 49), scenario.gpu_count if runs(scenario) else 49)
        found = size(scenario).limits.min_gpu_count
        assert min(found or 49, 49) == wanted, scenario


def runs_on(scenario: Scenario, count: int) -> bool:
    try:
        return runs(with_gpu_count(scenario, count))
    except InvalidParameters:
        return False


def test_few_numbers_of_gpus_may_do_and_none_of_them_a_power_of_two(catalog: Catalog):
    """Every GPU more costs SGLang 128 MiB of reserve on all: of 16 GB cards 48 hold the model, 64 do not."""
    model, gpu = catalog.models["mixtral-8x22b-instruct"], catalog.gpus["rtx-5070-ti"]
    scenario = resolve(Request(model=model, gpu=gpu, engine="sglang", context_tokens=4096, gpu_count=2))
    found = size(scenario).limits.min_gpu_count
    assert found is not None
    assert 32 < found < 64
    assert [runs_on(scenario, count) for count in (32, found - 1, found, 64)] == [False, False, True, False]


@pytest.mark.parametrize("engine", PAGED)
def test_a_fixed_pool_needs_room_itself(catalog: Catalog, engine: str):
    """What is left beside weights and buffers may be the pool to the byte; one byte more has no room."""
    model, gpu = catalog.models["llama-3.1-8b-instruct"], catalog.gpus["h200-141gb-sxm"]
    scenario = resolve(Request(model, gpu, engine=engine, kv_cache_memory_bytes=2**33))
    plan = ENGINES[engine].plan(scenario)
    assert plan.usable_bytes is not None
    # Two caches of 32 layers with 8 heads of 128 values of 2 bytes, 8,192 tokens.
    assert plan.fullest.kv_cache == 2 * 32 * 8 * 128 * 2 * 8192 == 2**30
    null_block = 2**21 if engine == "vllm" else 0  # a part of the pool: 16 tokens
    room = plan.usable_bytes - (plan.fullest.total - 2**30 - null_block)
    assert runs(scenario, kv_cache_memory_bytes=room)
    crowded = replace(scenario, kv_cache_memory_bytes=room + 1)
    [reason] = judge(crowded, ENGINES[engine].plan(crowded))[1]
    assert (reason.code, reason.parameters) == ("pool_exceeds_memory", {"pool_bytes": room + 1, "missing": 1})
    assert size(crowded).limits.max_concurrent_sequences == 0


@pytest.mark.parametrize("engine", ["llama.cpp", "ollama", "lm-studio"])
def test_llama_cpp_has_256_slots(catalog: Catalog, engine: str):
    """`-np 257` does not start (LLAMA_MAX_SEQ), so it is no fit."""
    scenario = resolve(Request(catalog.models["qwen3-0.6b"], catalog.gpus["b200-180gb"], engine=engine))
    scenario = replace(scenario, concurrent_sequences=256, context_tokens=512)
    assert size(scenario).verdict is Verdict.FITS
    answer = size(replace(scenario, concurrent_sequences=257))
    assert answer.verdict is Verdict.UNSUPPORTED
    assert [note.code for note in answer.reasons] == ["sequences_exceed_running_requests"]
    assert answer.limits.max_concurrent_sequences == 256


def test_stages_of_unequal_size_share_the_smallest_pool(catalog: Catalog):
    """SGLang gives every stage the tokens of the one with least room: what it cannot have is not usable."""
    model, gpu = catalog.models["qwen3-30b-a3b-instruct-2507"], catalog.gpus["rtx-6000-ada"]
    question = Request(model, gpu, engine="sglang", quantization="native", gpu_count=7, data_parallel=1)
    answer = size(resolve(question))
    held, most = answer.plan.kv_cache_capacity_tokens, answer.limits.max_concurrent_sequences
    assert held is not None
    assert most == held // 8192
    assert runs(answer.scenario, concurrent_sequences=most)
    assert not runs(answer.scenario, concurrent_sequences=most + 1)
