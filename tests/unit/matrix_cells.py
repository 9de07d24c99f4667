"""Every cell of a matrix beside what the scalar path says of the same scenario."""

from itertools import product
from typing import Any

import pytest

from service.core.cost.elsewhere import sized_without_limits
from service.core.cost.money import rounded
from service.core.cost.rent import rentals
from service.core.engines import ENGINES
from service.core.matrix.cells import Facts
from service.core.matrix.compute import MEASURES, compute
from service.core.matrix.question import AXES, Question
from service.core.matrix.result import Measure
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
    {"max_batched_tokens": 2**20, "concurrent_sequences": 300},
    {"concurrent_sequences": 65_536, "gpu_count": 1024},
]
OF_ENGINES: dict[str, list[dict[str, Any]]] = {
    "llama.cpp": [
        {"cpu_offload_percent": 30, "system_memory_gib": 8},
        {"cpu_offload_percent": 95, "gpu_count": 3},
        {"cpu_offload_percent": 60, "speculative_tokens": 3, "concurrent_sequences": 3},
        {"kv_cache_dtype": "q8_0"},
        {"kv_cache_dtype": "q4_0", "kv_cache_dtype_v": "f32", "gpu_count": 5},
        {"max_batched_tokens": 48, "concurrent_sequences": 16},
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
        {"tensor_parallel": 2, "pipeline_parallel": 3, "concurrent_sequences": 4},
        {"kv_cache_memory_bytes": 60 * 2**30, "gpu_count": 6},
        {"cpu_offload_percent": 10, "prefix_caching": False, "speculative_tokens": 1},
        {"reserved_memory_bytes": 2**50},
    ],
    "sglang": [{"kv_cache_memory_bytes": 4 * 2**30}, {"memory_utilization": 0.7}],
    "tensorrt-llm": [
        {"kv_cache_memory_bytes": 4 * 2**30},
        {"memory_utilization": 0.7},
        {"gpu_count": 16},
    ],
}


def scalar(facts: Facts, request: Request) -> dict[str, Any]:
    """The figures of one cell by the path that `/v1/sizing` takes."""
    try:
        scenario = resolve(request)
    except InvalidParameters:
        return NOTHING
    sizing = sized_without_limits(scenario)
    plan = ENGINES[scenario.engine].plan(scenario)
    speed = estimate(sizing, facts.speed)
    decode = speed.decode_aggregate if isinstance(speed, Speed) else None
    offers = rentals(scenario.gpu, scenario.gpu_count, facts.offers)
    runs = sizing.verdict in ("fits", "tight")
    total = plan.total
    return {
        "verdict": str(sizing.verdict),
        "total_bytes": cut(total.total),
        "weights_bytes": cut(total.weights),
        "kv_cache_bytes": cut(total.kv_cache),
        "recurrent_state_bytes": cut(total.recurrent_state),
        "compute_buffers_bytes": cut(total.compute_buffers),
        "runtime_overhead_bytes": cut(total.runtime_overhead),
        "per_gpu_bytes": cut(plan.fullest.total),
        "host_bytes": cut(plan.host_bytes),
        "usable_bytes": None if plan.usable_bytes is None else max(0, plan.usable_bytes),
        "max_context_tokens": plan.max_context_tokens,
        "decode_tokens_per_second": decode and short(decode.estimate),
        "decode_tokens_per_second_low": decode and short(decode.low),
        "decode_tokens_per_second_high": decode and short(decode.high),
        "usd_per_hour": float(rounded(offers[0].usd_per_hour)) if runs and offers else None,
    }


def cut(amount: int) -> int:
    """What a matrix shows of it."""
    return min(amount, 2**63 - 1)


def short(value: float) -> float:
    return float(f"{value:.4g}")


def cell_of(found: Measure, shape: dict[str, int], cell: dict[str, int]) -> Any:
    """One value of a measure that lists only the axes along which it varies."""
    place = 0
    for axis in found.axes:
        place = place * shape[axis] + cell[axis]
    return found.listed()[place]


def check(facts: Facts, question: Question) -> int:
    """Compare all cells; the number of them that are a scenario at all."""
    try:
        matrix = compute(question, facts)
    except InvalidParameters:
        cells = product(question.models, question.gpus, question.quantizations, question.contexts)
        for model, gpu, quantization, context in cells:
            asked = Request(
                model=model, gpu=gpu, quantization=quantization, context_tokens=context, **question.values
            )
            assert scalar(facts, asked) == NOTHING
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
        expected = scalar(facts, asked)
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
