"""The matrix: every cell is what the scalar path says of the same scenario."""

import random
from itertools import product
from typing import Any

import numpy as np
import pytest

from service.catalog import Catalog
from service.core.cost.elsewhere import sized_without_limits
from service.core.cost.money import rounded
from service.core.cost.rent import rentals
from service.core.engines import ENGINES
from service.core.hardware import GpuKind
from service.core.matrix.cells import Facts
from service.core.matrix.compute import MEASURES, compute
from service.core.matrix.question import AXES, MOST_CELLS, Question
from service.core.matrix.result import Measure, measure, significant
from service.core.request import Request
from service.core.resolve import resolve
from service.core.speed.estimate import estimate
from service.core.speed.result import Speed
from service.errors import InvalidParameters

NOTHING = dict.fromkeys(MEASURES) | {"verdict": "unsupported"}
# Values that change what follows from an accelerator: its memory, its layout, its rates, its host.
VALUES: list[dict[str, Any]] = [
    {},
    {"gpu_count": 2},
    {"gpu_count": 8, "concurrent_sequences": 16},
    {"gpu_count": 3},
    {"concurrent_sequences": 5, "speculative_tokens": 2},
    {"reserved_memory_bytes": 7 * 2**30},
    {"prompt_tokens": 6000},
    {"vision": True},
    {"system_memory_gib": 0.5},
]
OF_ENGINES: dict[str, list[dict[str, Any]]] = {
    "llama.cpp": [
        {"cpu_offload_percent": 30, "system_memory_gib": 8},
        {"kv_cache_dtype": "q8_0"},
        {"platform": "linux-desktop"},
        {"backend": "vulkan"},
    ],
    "lm-studio": [{"kv_cache_dtype": "q4_0"}, {"backend": "vulkan"}],
    "ollama": [{"max_batched_tokens": 512}, {"kv_cache_dtype": "q8_0"}],
    "mlx": [{"platform": "macos"}, {"gpu_count": 2}],
    "vllm": [
        {"kv_cache_memory_bytes": 4 * 2**30},
        {"memory_utilization": 0.7},
        {"data_parallel": 2, "gpu_count": 4, "concurrent_sequences": 7},
        {"kv_cache_dtype": "fp8"},
    ],
    "sglang": [{"kv_cache_memory_bytes": 4 * 2**30}, {"memory_utilization": 0.7}],
    "tensorrt-llm": [
        {"kv_cache_memory_bytes": 4 * 2**30},
        {"memory_utilization": 0.7},
        {"gpu_count": 16},
    ],
}


@pytest.fixture(scope="module")
def facts(catalog: Catalog) -> Facts:
    return Facts(catalog.speed, catalog.costs.offers)


def scalar(catalog: Catalog, request: Request) -> dict[str, Any]:
    """The figures of one cell by the path that `/v1/sizing` takes."""
    try:
        scenario = resolve(request)
    except InvalidParameters:
        return NOTHING
    sizing = sized_without_limits(scenario)
    plan = ENGINES[scenario.engine].plan(scenario)
    speed = estimate(sizing, catalog.speed)
    decode = speed.decode_aggregate if isinstance(speed, Speed) else None
    offers = rentals(scenario.gpu, scenario.gpu_count, catalog.costs.offers)
    runs = sizing.verdict in ("fits", "tight")
    total = plan.total
    return {
        "verdict": str(sizing.verdict),
        "total_bytes": total.total,
        "weights_bytes": total.weights,
        "kv_cache_bytes": total.kv_cache,
        "recurrent_state_bytes": total.recurrent_state,
        "compute_buffers_bytes": total.compute_buffers,
        "runtime_overhead_bytes": total.runtime_overhead,
        "per_gpu_bytes": plan.fullest.total,
        "host_bytes": plan.host_bytes,
        "usable_bytes": None if plan.usable_bytes is None else max(0, plan.usable_bytes),
        "max_context_tokens": plan.max_context_tokens,
        "decode_tokens_per_second": decode and short(decode.estimate),
        "decode_tokens_per_second_low": decode and short(decode.low),
        "decode_tokens_per_second_high": decode and short(decode.high),
        "usd_per_hour": float(rounded(offers[0].usd_per_hour)) if runs and offers else None,
    }


def short(value: float) -> float:
    return float(f"{value:.4g}")


def cell_of(found: Measure, shape: dict[str, int], cell: dict[str, int]) -> Any:
    """One value of a measure that lists only the axes along which it varies."""
    place = 0
    for axis in found.axes:
        place = place * shape[axis] + cell[axis]
    return found.listed()[place]


def check(catalog: Catalog, facts: Facts, question: Question) -> int:
    """Compare all cells; the number of them that are a scenario at all."""
    try:
        matrix = compute(question, facts)
    except InvalidParameters:
        cells = product(question.models, question.gpus, question.quantizations, question.contexts)
        for model, gpu, quantization, context in cells:
            asked = Request(
                model=model, gpu=gpu, quantization=quantization, context_tokens=context, **question.values
            )
            assert scalar(catalog, asked) == NOTHING
        return 0
    shape = dict(zip(AXES, question.shape, strict=True))
    scenarios = 0
    for places in product(*(range(size) for size in question.shape)):
        cell = dict(zip(AXES, places, strict=True))
        model, gpu = question.models[cell["models"]], question.gpus[cell["gpus"]]
        quantization = question.quantizations[cell["quantizations"]]
        context = question.contexts[cell["contexts"]]
        asked = Request(
            model=model, gpu=gpu, quantization=quantization, context_tokens=context, **question.values
        )
        expected = scalar(catalog, asked)
        found = {name: cell_of(found, shape, cell) for name, found in matrix.measures.items()}
        where = (model.id, gpu.id, quantization, context, question.values)
        for name in MEASURES:
            assert found[name] == (
                pytest.approx(expected[name], rel=1e-9)
                if isinstance(expected[name], float)
                else expected[name]
            ), (name, *where)
        scenarios += expected["total_bytes"] is not None
    return scenarios


@pytest.mark.parametrize("engine", ENGINES)
def test_matrix_is_scalar_on_random_cells(catalog: Catalog, facts: Facts, engine: str):
    """For every engine: random models, accelerators, formats, contexts and settings; every measure."""
    chance = random.Random(f"matrix {engine}")
    scenarios = 0
    for values in (*VALUES, *OF_ENGINES[engine]):
        formats = sorted(ENGINES[engine].formats)
        question = Question(
            models=tuple(chance.sample(sorted(catalog.models.values(), key=lambda m: m.id), 2)),
            gpus=tuple(chance.sample(sorted(catalog.gpus.values(), key=lambda g: g.id), 5)),
            quantizations=(None, *chance.sample(formats, 1)),
            contexts=(chance.choice([512, 4096, 10_000]), chance.choice([32_768, 131_072, 1_048_576])),
            values={"engine": engine, **values},
        )
        scenarios += check(catalog, facts, question)
    assert scenarios > 100


def test_matrix_is_scalar_where_the_format_chooses_the_engine(catalog: Catalog, facts: Facts):
    """Without an engine it follows from the format, the model and the accelerator, cell by cell."""
    chance = random.Random("matrix without engine")
    gpus = sorted(catalog.gpus.values(), key=lambda gpu: gpu.id)
    kinds = [chance.choice([gpu for gpu in gpus if gpu.kind is kind]) for kind in GpuKind]
    question = Question(
        models=tuple(chance.sample(sorted(catalog.models.values(), key=lambda m: m.id), 6)),
        gpus=(*kinds, *chance.sample([gpu for gpu in gpus if gpu not in kinds], 6)),
        quantizations=(None, "native", "q4_k_m", "mxfp4", "mlx-4bit", "bf16"),
        contexts=(8192,),
    )
    assert check(catalog, facts, question) > 200


def test_every_accelerator_of_a_group_has_its_own_memory(catalog: Catalog, facts: Facts):
    """All accelerators at once, where the groups are largest, for the engines that share their plans."""
    for engine in ("llama.cpp", "vllm", "tensorrt-llm", "mlx"):
        question = Question(
            models=(catalog.models["llama-3.1-8b-instruct"],),
            gpus=tuple(catalog.gpus.values()),
            values={"engine": engine},
        )
        assert check(catalog, facts, question) == len(catalog.gpus)


def test_cells_that_do_not_exist_have_no_figures(catalog: Catalog, facts: Facts):
    """A format that the engine does not load is `unsupported` with nothing beside it."""
    matrix = compute(
        Question(
            models=(catalog.models["qwen3-8b"],),
            gpus=(catalog.gpus["rtx-4090"],),
            quantizations=("awq-int4", "q4_k_m"),
            values={"engine": "llama.cpp"},
        ),
        facts,
    )
    assert matrix.measures["verdict"].listed() == ["unsupported", "fits"]
    assert matrix.measures["total_bytes"].listed()[0] is None
    assert matrix.measures["total_bytes"].listed()[1] > 0


def test_a_fault_of_the_whole_question_is_an_error(catalog: Catalog, facts: Facts):
    """An engine that does not exist, and a KV type that the engine does not have."""
    one = {"models": (catalog.models["qwen3-8b"],), "gpus": (catalog.gpus["rtx-4090"],)}
    for values in ({"engine": "vlm"}, {"engine": "vllm", "kv_cache_dtype": "q8_0"}, {"backend": "glide"}):
        with pytest.raises(InvalidParameters):
            compute(Question(**one, values=values), facts)


def test_too_many_cells_say_how_to_page(catalog: Catalog, facts: Facts):
    """2,000,000 cells at most: 80 models x 57 GPUs x 500 contexts are 2.28 million, 70 models of them fit."""
    models, gpus = tuple(catalog.models.values()), tuple(catalog.gpus.values())
    contexts = tuple(range(1, 1 + MOST_CELLS // (len(models) * len(gpus)) + 1))
    with pytest.raises(InvalidParameters) as caught:
        compute(Question(models, gpus, contexts=contexts), facts)
    (error,) = caught.value.errors
    assert error.code == "matrix_too_large"
    assert error.values["cells"] == len(models) * len(gpus) * len(contexts)
    assert error.values["at_once"] == MOST_CELLS // (len(gpus) * len(contexts)) < len(models)
    with pytest.raises(InvalidParameters) as caught:
        compute(Question(models, gpus, contexts=tuple(range(1, 40_001))), facts)
    assert (caught.value.errors[0].parameter, caught.value.errors[0].values["at_once"]) == ("gpus", 50)


def test_a_measure_names_the_axes_along_which_it_varies():
    """Constant axes are left out, the others keep their order; headline figures keep all."""
    values = np.arange(6, dtype=np.int64).reshape(2, 1, 3, 1) * np.ones((2, 4, 3, 5), np.int64)
    found = measure("weights_bytes", values)
    assert found.axes == ("models", "quantizations")
    assert found.listed() == [0, 1, 2, 3, 4, 5]
    assert measure("total_bytes", values).axes == AXES
    rates = np.where(values == 0, np.nan, 1.5)
    assert measure("usd_per_hour", rates).listed() == [None, 1.5, 1.5, 1.5, 1.5, 1.5]


def test_rates_have_four_significant_digits():
    """As printed with %.4g, for numbers of every size; zero stays."""
    chance = random.Random(4)
    values = [chance.uniform(1, 10) * 10 ** chance.randint(-9, 12) for _ in range(2000)]
    assert significant(np.array([0.0, *values])).tolist() == [0.0, *(short(value) for value in values)]
