"""The derivation: every number follows from its steps, and no step contradicts the sizing."""

import ast
import math
import operator
import random
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from service.catalog import Catalog, load_catalog
from service.core.cost.money import rounded
from service.core.derivation.derive import derive
from service.core.derivation.steps import Step, Unit
from service.core.engines import ENGINES
from service.core.evidence import Evidence, weakest
from service.core.request import Request
from service.core.resolve import resolve
from service.core.size import size
from service.core.sizing import Sizing
from service.errors import InvalidParameters

ROOT = Path(__file__).parents[2]
TERMS = ("weights", "kv_cache", "recurrent_state", "compute_buffers", "runtime_overhead")
# Scenarios drawn for each engine; the same ones on every run.
DRAWN = 25
_OPERATORS: dict[type, Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}
_FUNCTIONS: dict[str, Any] = {
    "ceil_div": lambda a, b: -(-a // b),
    "pad": lambda value, multiple: -(-value // multiple) * multiple,
    "max": max,
    "min": min,
    "round": round,
    "power": lambda base, exponent: float(base) ** exponent,
    "hypot": math.hypot,
    "log2": math.log2,
    "money": lambda value: float(rounded(Decimal(f"{value:.12g}"))),
    "digits": lambda value, digits: float(f"{value:.{digits}g}"),
}


def evaluate(formula: str) -> float:
    """The value of a formula with numbers: arithmetic and ten functions, nothing else."""
    return _value(ast.parse(formula, mode="eval").body)


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATORS[type(op)](_value(left), _value(right))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return _FUNCTIONS[name](*map(_value, arguments))
    raise AssertionError(f"not arithmetic: {ast.dump(node)}")


@cache
def facts() -> Catalog:
    return load_catalog(ROOT / "config")


def ask(model: str, gpu: str, **parameters: Any) -> Sizing:
    catalog = facts()
    return size(resolve(Request(model=catalog.find_model(model), gpu=catalog.find_gpu(gpu), **parameters)))


def drawn(engine_id: str) -> Iterator[Sizing]:
    """Scenarios of an engine over models, accelerators, layouts and settings; what it refuses is skipped."""
    chance, engine, found = random.Random(engine_id), ENGINES[engine_id], 0
    models, gpus = list(facts().models.values()), list(facts().gpus.values())
    while found < DRAWN:
        parameters: dict[str, Any] = {
            "engine": engine_id,
            "quantization": chance.choice(sorted(engine.formats)),
            "gpu_count": chance.choice([None, 1, 1, 2, 4, 8]),
            "context_tokens": chance.choice([100, 4096, 8192, 50_000, 131_072]),
            "concurrent_sequences": chance.choice([None, 1, 3, 16]),
            "kv_cache_dtype": chance.choice([None, None, *engine.kv_dtypes]),
            "vision": chance.choice([None, True]),
            "speculative_tokens": chance.choice([None, None, 3]),
            "reserved_memory_bytes": chance.choice([None, 10**9]),
            "max_batched_tokens": chance.choice([None, None, 1000]),
        }
        if engine.offloads:
            parameters["cpu_offload_percent"] = chance.choice([None, None, 30, 100])
        if not engine.splits_layers:
            parameters["tensor_parallel"] = chance.choice([None, None, 2])
            parameters["pipeline_parallel"] = chance.choice([None, None, 2])
            parameters["data_parallel"] = chance.choice([None, None, 2])
            parameters["memory_utilization"] = chance.choice([None, 0.85])
        try:
            asked = resolve(Request(model=chance.choice(models), gpu=chance.choice(gpus), **parameters))
        except InvalidParameters:
            continue
        found += 1
        yield size(asked)


def printed(sizing: Sizing) -> dict[str, float | None]:
    """Every number of an answer by its path; an amount stands for its bytes."""
    plan, limits = sizing.plan, sizing.limits
    found: dict[str, float | None] = {
        "memory.total": plan.total.total,
        "memory.host": plan.host_bytes,
        "memory.model_weights": plan.model_weights_bytes,
        "memory.kv_bytes_per_token": plan.kv_bytes_per_token,
        "memory.kv_window_bytes_per_sequence": plan.kv_window_bytes_per_sequence,
        "memory.state_bytes_per_sequence": plan.state_bytes_per_sequence,
        "per_gpu.total": plan.fullest.total,
        "fit.usable": plan.usable_bytes,
        "fit.headroom": sizing.headroom_bytes,
        "fit.utilization": sizing.utilization,
        "fit.utilization_percent": None if sizing.utilization is None else round(100 * sizing.utilization, 1),
        "gpu.memory": sizing.scenario.gpu.memory_bytes,
    }
    for name in TERMS:
        found[f"memory.{name}"] = getattr(plan.total, name)
        found[f"per_gpu.{name}"] = getattr(plan.fullest, name)
    for name in limits.__slots__:
        found[f"limits.{name}"] = getattr(limits, name)
    return found


def check(sizing: Sizing) -> tuple[Step, ...]:
    """The laws of every derivation."""
    steps = derive(sizing)
    seen: dict[str, Step] = {}
    paths: dict[str, float] = {}
    for step in steps:
        assert step.symbol not in seen, step
        assert {*step.inputs} <= {*seen}, step
        assert step.source, step
        assert (step.formula is None) == (step.substituted is None) == (not step.inputs), step
        if step.substituted is not None:
            assert evaluate(step.substituted) == step.value, step
            used = [seen[name] for name in step.inputs]
            known = [s.evidence for s in used if s.evidence is not None and s.value]
            assert step.evidence is weakest(step.evidence or Evidence.UNKNOWN, *known), step
        seen[step.symbol] = step
        paths |= dict.fromkeys(step.prints, step.value)
    assert paths == {path: value for path, value in printed(sizing).items() if value is not None}
    return steps


@pytest.mark.parametrize("engine", ENGINES)
def test_every_printed_number_is_a_step_and_every_formula_gives_its_value(engine: str):
    """Numbers with their formulas, evaluated here again; inputs come first; no sum is known too well."""
    for sizing in drawn(engine):
        check(sizing)


@pytest.mark.parametrize("engine", ["llama.cpp", "vllm"])
def test_engines_in_full_have_a_formula_for_every_term(engine: str):
    """Leaves are facts and calibrated figures, not the answer; llama.cpp's overhead is one constant."""
    plain = {"per_gpu.runtime_overhead"} if engine == "llama.cpp" else set()
    own = {f"per_gpu.{term}" for term in TERMS} - plain
    own |= {f"memory.{term}" for term in (*TERMS, "total", "host", "kv_bytes_per_token", "model_weights")}
    own |= {"fit.usable", "fit.headroom", "fit.utilization", "per_gpu.total"}
    for sizing in drawn(engine):
        for step in derive(sizing):
            if own & {*step.prints} and step.value:
                assert step.formula, (step.symbol, step.value, sizing.scenario)


def test_kimi_k31_pro_is_derived_from_its_config():
    """24 layers x (576 + 128) x 2 B a token, over 8,192 cells; 69 x (36,864 x 3 + 96 x 128 x 128) x 4 B."""
    sizing = ask("kimi-k3.1-pro", "h20-141gb", quantization="q4_k_m", context_tokens=8192)
    steps = {step.symbol: step for step in check(sizing)}
    assert steps["kv_row"].formula == "(latent_dim + rope_dim) * b_k"
    assert steps["kv_row"].substituted == "(512 + 64) * 2"
    assert steps["index_row"].substituted == "128 * 2"
    token = steps["kv_bytes_per_token"]
    assert token.substituted == "24 * (1152 + 256)"
    assert token.value == 24 * (576 + 128) * 2
    assert steps["kv_cache_gpu"].value == 24 * (576 + 128) * 2 * 8192
    assert steps["state_row"].substituted == "(36864 * 3 + 96 * 128 * 128) * 4"
    assert steps["recurrent_state_gpu"].value == 69 * (36_864 * 3 + 96 * 128 * 128) * 4
    # A Q4_K block holds 256 values in 144 bytes, a Q6_K block in 210 (ggml-common.h).
    embedding = steps["weights_embedding_q4_k"]
    assert embedding.substituted == "1174405120 // 256 * 144"
    assert embedding.value == 163_840 * 7168 // 256 * 144
    assert steps["headroom"].value == steps["usable"].value - steps["total_per_gpu"].value


def test_llama_31_8b_is_derived_from_its_heads():
    """8 KV heads of 128 over two GPUs: 4 heads x (128 + 128) x 2 B x 16 tokens x 32 layers a block."""
    sizing = ask(
        "llama-3.1-8b-instruct",
        "h100-80gb-sxm",
        engine="vllm",
        quantization="bf16",
        context_tokens=8192,
        concurrent_sequences=4,
        gpu_count=2,
    )
    steps = {step.symbol: step for step in check(sizing)}
    assert steps["kv_bytes_per_token"].value == 32 * 8 * (128 + 128) * 2
    cache = next(step for step in steps.values() if "per_gpu.kv_cache" in step.prints)
    assert cache.value == 4 * (128 + 128) * 2 * 16 * 32 * (8192 // 16) * 4
    assert steps["model_weights"].value == 8_030_261_248 * 2


def test_limits_are_inequalities():
    """At a limit nothing is missing; one step further something is."""
    sizing = ask("qwen3-32b", "rtx-4090", quantization="q4_k_m")
    limit = sizing.limits.max_context_tokens
    assert limit
    assert limit < sizing.scenario.model.architecture.max_context_tokens
    steps = {step.symbol: step for step in check(sizing)}
    assert steps[f"left_at_context_tokens_{limit}"].value >= 0
    assert steps[f"left_at_context_tokens_{limit + 1}"].value < 0
    count = sizing.limits.min_gpu_count
    assert steps[f"left_at_gpu_count_{count}"].value >= 0


def test_an_unknown_memory_derives_the_need_alone():
    unknown = next(gpu for gpu in facts().gpus.values() if gpu.memory_bytes is None)
    steps = check(ask("llama-3.1-8b-instruct", unknown.id))
    paths = {path for step in steps for path in step.prints}
    assert "per_gpu.total" in paths
    assert not any(path.startswith("fit.") for path in paths)


def test_pipeline_stages_are_derived_each():
    """61 layers over 4 GPUs by layer: unequal devices, their sum is the memory over all GPUs."""
    sizing = ask("deepseek-r1", "h200-141gb", engine="llama.cpp", quantization="q4_k_m", gpu_count=4)
    steps = {step.symbol: step for step in check(sizing)}
    alike = [step.value for name, step in steps.items() if step.title == "gpus_alike"]
    assert sum(alike) == 4 or len(alike) > 1
    assert steps["weights_all"].value == sizing.plan.total.weights


def test_units_tell_what_is_bytes():
    """Whatever an answer prints as an amount is counted in bytes."""
    for step in derive(ask("llama-3.1-8b-instruct", "rtx-4090")):
        for path in step.prints:
            if path.startswith(("memory.", "per_gpu.", "fit.usable", "fit.headroom", "gpu.memory")):
                assert step.unit is Unit.BYTES, step
