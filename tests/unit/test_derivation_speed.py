"""The derivation of a speed: every printed figure is a step, and every formula gives it."""

from typing import Any

import pytest

from service.core.derivation.derive import derive
from service.core.derivation.speed import speed_steps
from service.core.derivation.steps import Step, Topic
from service.core.sizing import Sizing
from service.core.speed.estimate import estimate
from service.core.speed.result import Speed
from service.render.speeds import block
from tests.unit.test_derivation import ask, drawn, evaluate, facts

RATES = ("decode_tokens_per_second", "per_sequence", "prefill_tokens_per_second", "time_to_first_token_ms")
ASKED = [
    ("qwen3-8b", "rtx-4090", {}),
    ("qwen3-8b", "rtx-4090", {"concurrent_sequences": 4, "context_tokens": 4096}),
    ("llama-3.3-70b-instruct", "rtx-3090", {"gpu_count": 3, "quantization": "q5_k_m"}),
    ("qwen3-30b-a3b-instruct-2507", "ryzen-ai-max-395-128gb", {"backend": "vulkan"}),
    ("qwen3-30b-a3b-instruct-2507", "ryzen-ai-max-395-128gb", {"cpu_offload_percent": 40}),
    ("llama-3.1-8b-instruct", "ryzen-ai-max-395-128gb", {"cpu_offload_percent": 40}),
    ("gemma-4-26b-a4b-it", "macbook-pro-m4-max-128gb", {"engine": "mlx"}),
    ("qwen3-8b", "mac-studio-m3-ultra-512gb", {"engine": "mlx", "concurrent_sequences": 200}),
    ("qwen3-8b", "h200-141gb-sxm", {"concurrent_sequences": 200, "context_tokens": 512}),
    (
        "llama-3.3-70b-instruct",
        "h100-80gb-sxm",
        {"engine": "vllm", "gpu_count": 4, "concurrent_sequences": 32},
    ),
    (
        "deepseek-v3-0324-671b",
        "h200-141gb-sxm",
        {"engine": "sglang", "gpu_count": 16, "pipeline_parallel": 2},
    ),
    (
        "qwen3-30b-a3b-instruct-2507",
        "h100-80gb-sxm",
        {
            "engine": "vllm",
            "gpu_count": 4,
            "data_parallel": 2,
            "tensor_parallel": 2,
            "concurrent_sequences": 9,
        },
    ),
    ("gpt-oss-120b", "b200-180gb", {"engine": "tensorrt-llm", "gpu_count": 2, "concurrent_sequences": 64}),
]


def speed_of(sizing: Sizing) -> Speed | None:
    found = estimate(sizing, facts().speed)
    return found if isinstance(found, Speed) else None


def rates(speed: Speed) -> dict[str, float]:
    """Every figure that the answer prints of a speed, by its path."""
    shown = block(speed)
    return {
        f"speed.{name}.{end}": value
        for name in RATES
        if shown[name] is not None
        for end, value in shown[name].items()
    }


def checked(steps: tuple[Step, ...]) -> dict[str, float]:
    """Inputs before their formulas, formulas that give their values; the printed paths with their values."""
    seen: dict[str, Step] = {}
    paths: dict[str, float] = {}
    for step in steps:
        assert step.symbol not in seen
        assert {*step.inputs} <= {*seen}, step
        if step.substituted is not None:
            assert evaluate(step.substituted) == step.value, step
        seen[step.symbol] = step
        paths |= dict.fromkeys(step.prints, step.value)
    return paths


def explained(sizing: Sizing, speed: Speed) -> tuple[Step, ...]:
    return derive(sizing, speed_steps(sizing, facts().speed, speed))


@pytest.mark.parametrize(("model", "gpu", "parameters"), ASKED)
def test_a_speed_follows_from_its_steps(model: str, gpu: str, parameters: dict[str, Any]):
    """Each printed rate has a formula, and all of them are the answer's."""
    sizing = ask(model, gpu, **parameters)
    speed = speed_of(sizing)
    assert speed is not None
    steps = explained(sizing, speed)
    paths = checked(steps)
    assert {path: value for path, value in paths.items() if path.startswith("speed.")} == rates(speed)
    for step in steps:
        if any(path.startswith("speed.") for path in step.prints):
            assert step.formula is not None, step
            assert step.topic is Topic.SPEED


@pytest.mark.parametrize("engine", ["llama.cpp", "vllm", "sglang", "tensorrt-llm"])
def test_every_speed_is_derived_from_formulas(engine: str):
    """Over models, accelerators, layouts and loads: what has a speed prints it from formulas."""
    derived = 0
    for sizing in drawn(engine):
        if (speed := speed_of(sizing)) is None:
            continue
        steps = explained(sizing, speed)
        paths = checked(steps)
        assert rates(speed).items() <= paths.items()
        assert all(step.formula for step in steps if any(p.startswith("speed.") for p in step.prints))
        derived += 1
    assert derived
