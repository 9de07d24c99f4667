"""Laws of the speed estimate: what must hold for any model, accelerator and load."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.core.engines import ENGINES
from service.core.request import Request
from service.core.resolve import resolve
from service.core.size import judge, size
from service.core.sizing import Limits, Sizing, Verdict
from service.core.speed.decode import step
from service.core.speed.estimate import estimate, run_of
from service.core.speed.result import Bound, Speed, Withheld
from tests.contract.fragment_cases import facts

NO_LIMITS = Limits(None, None, None, None)


def sizing(model: str, gpu: str, bandwidth: float = 1.0, **parameters: object) -> Sizing:
    """A sizing without the search for limits; bandwidth: times that of the accelerator."""
    catalog = facts()
    card = catalog.gpus[gpu]
    card = replace(card, memory_bandwidth_gbs=(card.memory_bandwidth_gbs or 0) * bandwidth)
    scenario = resolve(Request(model=catalog.models[model], gpu=card, **parameters))  # type: ignore[arg-type]
    plan = ENGINES[scenario.engine].plan(scenario, limits=False)
    verdict, reasons = judge(scenario, plan)
    return Sizing(scenario, plan, verdict, None, None, reasons, (), NO_LIMITS)


def speed(model: str, gpu: str, **parameters: object) -> Speed:
    found = estimate(sizing(model, gpu, **parameters), facts().speed)
    assert isinstance(found, Speed), found
    return found


RUNNING = [
    ("qwen3-8b", "rtx-4090", {}),
    ("qwen3-30b-a3b-instruct-2507", "ryzen-ai-max-395-128gb", {}),
    ("gemma-4-e4b-it", "mac-mini-m4-pro-64gb", {"engine": "mlx"}),
    ("llama-3.3-70b-instruct", "h100-80gb-sxm", {"engine": "vllm", "gpu_count": 4}),
    ("gpt-oss-120b", "b200-180gb", {"engine": "tensorrt-llm", "gpu_count": 2}),
    ("qwen3-8b", "arc-pro-b60-24gb", {"backend": "sycl"}),
]


@pytest.mark.parametrize(("model", "gpu", "parameters"), RUNNING)
@settings(max_examples=15, deadline=None)
@given(more=st.floats(1.0, 4.0), sequences=st.sampled_from([1, 2, 7, 32]))
def test_more_bandwidth_is_never_slower(model, gpu, parameters, more, sequences):
    """The same card with a faster memory decodes at least as fast, and the interval stays in order."""
    load = {**parameters, "concurrent_sequences": sequences, "context_tokens": 1024}
    slow, fast = (estimate(sizing(model, gpu, times, **load), facts().speed) for times in (1.0, more))
    if isinstance(slow, Speed) and isinstance(fast, Speed):
        assert fast.decode.estimate >= slow.decode.estimate
        assert fast.decode_aggregate.estimate >= slow.decode_aggregate.estimate


@pytest.mark.parametrize(("model", "gpu", "parameters"), RUNNING)
def test_every_figure_lies_in_its_interval(model, gpu, parameters):
    """low <= estimate <= high, all above zero, and the sum over sequences is their number times one."""
    found = speed(model, gpu, **parameters)
    for figure in (found.decode, found.decode_aggregate, found.prefill, found.time_to_first_token_ms):
        assert figure is not None
        assert 0 < figure.low <= figure.estimate <= figure.high
    assert found.decode_aggregate.estimate == pytest.approx(found.decode.estimate)


@pytest.mark.parametrize("replicas", [2, 4, 8])
def test_more_replicas_never_decode_less_together(replicas):
    """Data parallelism adds GPUs that work on their own streams."""
    load = {"engine": "vllm", "concurrent_sequences": 16, "tensor_parallel": 1}
    one = speed("qwen3-8b", "h100-80gb-sxm", gpu_count=1, data_parallel=1, **load)
    many = speed("qwen3-8b", "h100-80gb-sxm", gpu_count=replicas, data_parallel=replicas, **load)
    assert many.decode_aggregate.estimate >= one.decode_aggregate.estimate


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tensorrt-llm"])
def test_more_ranks_never_decode_less_together(engine):
    """A dense 70B model at 32 streams: each doubling of tensor parallelism gains."""
    rates = [
        speed(
            "llama-3.3-70b-instruct",
            "b300-288gb",
            engine=engine,
            quantization="fp8",
            gpu_count=count,
            concurrent_sequences=32,
        ).decode_aggregate.estimate
        for count in (1, 2, 4, 8)
    ]
    assert rates == sorted(rates)


def test_a_longer_context_is_never_faster():
    """The cache that a step reads grows with the prompt."""
    rates = [
        speed("qwen3-8b", "rtx-4090", context_tokens=32_768, prompt_tokens=prompt).decode.estimate
        for prompt in (512, 4_096, 16_384, 30_000)
    ]
    assert rates == sorted(rates, reverse=True)


@pytest.mark.parametrize("verdict", [Verdict.DOES_NOT_FIT, Verdict.UNSUPPORTED, Verdict.UNKNOWN])
def test_what_does_not_run_has_no_speed(verdict):
    """A speed belongs to a configuration that runs."""
    running = sizing("qwen3-8b", "rtx-4090")
    found = estimate(replace(running, verdict=verdict), facts().speed)
    assert isinstance(found, Withheld)
    assert [note.code for note in found.reasons] == ["speed_needs_fit"]


def test_a_model_too_large_has_no_speed():
    """DeepSeek V3 of 671 billion parameters on one RTX 4090."""
    question = Request(model=facts().models["deepseek-v3-0324-671b"], gpu=facts().gpus["rtx-4090"])
    assert isinstance(estimate(size(resolve(question)), facts().speed), Withheld)


def test_an_unknown_ram_bandwidth_gives_no_number():
    """Unknown is a value: layers in system RAM are read at a rate that nobody stated."""
    found = estimate(sizing("qwen3-8b", "rtx-4090", cpu_offload_percent=20), facts().speed)
    assert isinstance(found, Withheld)
    assert [note.code for note in found.reasons] == ["host_bandwidth_unknown"]


def test_offload_in_a_unified_memory_has_no_prefill():
    """The host reads the same memory, so decode has a figure; a prompt's way to the GPU has none."""
    parameters = {"cpu_offload_percent": 30}
    found = speed("qwen3-30b-a3b-instruct-2507", "ryzen-ai-max-395-128gb", **parameters)
    assert found.prefill is None
    assert found.time_to_first_token_ms is None
    assert "prefill_with_offload" in {note.code for note in found.notes}
    plain = speed("qwen3-30b-a3b-instruct-2507", "ryzen-ai-max-395-128gb")
    assert found.decode.estimate < plain.decode.estimate


@pytest.mark.parametrize(
    ("model", "gpu", "parameters"),
    [
        ("qwen3-8b", "instinct-mi300x-192gb", {"engine": "vllm", "concurrent_sequences": 8}),
        ("qwen3-8b", "arc-pro-b60-24gb", {"backend": "sycl"}),
        ("qwen3-8b", "ascend-910b-64gb", {}),
        ("qwen3-8b", "rtx-4090", {"engine": "vllm", "quantization": "awq-int4", "concurrent_sequences": 8}),
    ],
)
def test_a_class_without_benchmarks_is_indicative_and_wide(model, gpu, parameters):
    """Its interval is at least as wide as that of a measured class and of users' reports."""
    found = speed(model, gpu, **parameters)
    users = facts().speed.intervals["user_reported"]
    assert found.decode_basis.indicative
    assert "speed_indicative" in {note.code for note in found.notes}
    assert found.decode.low <= found.decode.estimate * users.low * 1.0001
    assert found.decode.high >= found.decode.estimate * users.high * 0.9999


@pytest.mark.parametrize(
    ("changes", "indicative"),
    [
        ({}, False),
        ({"concurrent_sequences": 1}, True),
        ({"concurrent_sequences": 256}, False),
        ({"concurrent_sequences": 257}, True),
        ({"gpu_count": 16, "pipeline_parallel": 2}, True),
        ({"gpu_count": 16, "tensor_parallel": 8, "data_parallel": 2}, True),
    ],
)
def test_a_load_or_layout_beyond_the_benchmarks_is_indicative(changes, indicative):
    """Benchmarks of serving engines have 2 to 256 streams, up to 8 ranks, no pipeline, no spread experts."""
    asked = {"engine": "vllm", "gpu_count": 8, "concurrent_sequences": 8, "context_tokens": 512, **changes}
    found = speed("qwen3-235b-a22b-instruct-2507", "b300-288gb", quantization="fp8", **asked)
    assert found.decode_basis.indicative is indicative


def test_speculation_is_said_not_modelled():
    """How many drafts are accepted is not known: the plain rate, and a note."""
    parameters = {"engine": "vllm", "gpu_count": 8, "concurrent_sequences": 8}
    plain = speed("deepseek-v3-0324-671b", "h200-141gb-sxm", **parameters)
    drafted = speed("deepseek-v3-0324-671b", "h200-141gb-sxm", speculative_tokens=2, **parameters)
    assert drafted.decode.estimate == plain.decode.estimate
    assert "speculation_not_in_speed" in {note.code for note in drafted.notes}


def test_a_small_stream_on_a_large_card_is_bound_by_memory():
    """One stream of a dense 70B model reads 40 GB a token; nothing else comes near."""
    assert speed("llama-3.3-70b-instruct", "rtx-a6000").bound is Bound.MEMORY


@pytest.mark.parametrize(("model", "gpu", "parameters"), RUNNING)
def test_an_output_that_fills_the_context_decodes_without_a_prompt(model, gpu, parameters):
    """No prompt token is left: decode has a figure, the prompt has none, and nothing is divided by zero."""
    found = speed(model, gpu, context_tokens=512, output_tokens=512, **parameters)
    assert found.decode.estimate > 0
    assert (found.prefill, found.time_to_first_token_ms) == (None, None)


def test_no_step_is_faster_than_its_products():
    """255 sequences on an M3 Ultra are products, not reads: two operations a parameter, at half its peak.

    Without them 24 billion parameters would decode at more than the 28.4 TFLOPS of 80 GPU cores. Alone, a
    sequence is bound by the reads, and a faster peak does not change it.
    """
    load = {"engine": "mlx", "quantization": "mlx-4bit", "context_tokens": 1024}
    many = speed("mistral-small-3.2-24b", "mac-studio-m3-ultra-512gb", concurrent_sequences=255, **load)
    made = sizing("mistral-small-3.2-24b", "mac-studio-m3-ultra-512gb", **load).scenario
    peak, active = made.gpu.tflops.fp16, run_of(made).work.active_parameters
    assert peak is not None
    assert 22.5e9 < active < 24e9
    reached = many.decode_aggregate.estimate * 2 * active / (peak * 1e12)
    mfu = facts().speed.runtime(run_of(made).runtime).mfu
    assert max(mfu.values()) >= reached > 0.9 * min(mfu.values())
    assert many.bound is Bound.COMPUTE
    card = replace(made.gpu, tflops=replace(made.gpu.tflops, fp16=10 * peak))
    alone = speed("mistral-small-3.2-24b", "mac-studio-m3-ultra-512gb", **load)
    assert step(run_of(replace(made, gpu=card)), facts().speed).seconds == pytest.approx(
        1 / alone.decode.estimate
    )
    assert alone.bound is Bound.MEMORY


@pytest.mark.parametrize("engine", ["llama.cpp", "ollama", "mlx"])
def test_products_bound_every_load(engine):
    """Random models, accelerators and numbers of sequences: never more operations than the peak has."""
    chosen, judged = random.Random(engine), 0
    models, gpus = sorted(facts().models), [g for g in facts().gpus.values() if g.backends(engine)]
    while judged < 40:
        model, gpu = chosen.choice(models), chosen.choice(gpus)
        load = {"concurrent_sequences": chosen.choice([1, 16, 64, 200, 255]), "context_tokens": 512}
        found = sizing(model, gpu.id, engine=engine, **load)
        made = estimate(found, facts().speed)
        if isinstance(made, Speed) and (peak := run_of(found.scenario).weight_peak):
            operations = 2 * run_of(found.scenario).work.active_parameters * made.decode_aggregate.estimate
            assert operations <= peak, (model, gpu.id, load)
            judged += 1
