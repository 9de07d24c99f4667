"""SGLang's budget: what leaves the reserve, what the pools hold, and where the limits are."""

from dataclasses import replace
from typing import Any

import pytest

from service.core.engines.sglang import ENGINE
from service.core.scenario import Scenario
from service.core.size import judge, size
from service.core.sizing import Verdict
from tests.unit.sglang_questions import ask, catalog, plan

GIB = 2**30


def test_a_fixed_pool_is_exactly_that():
    """10 GiB of 131,072 bytes are 81,920 tokens, ten sequences of 8,192, whatever the weights take."""
    ours = plan("llama-3.1-8b-instruct", kv_cache_memory_bytes=10 * GIB)
    assert ours.kv_cache_capacity_tokens == 81_920
    assert ours.max_concurrent_sequences == 10
    assert ours.shortages == ()
    short = plan("llama-3.1-8b-instruct", kv_cache_memory_bytes=GIB, context_tokens=32_768)
    assert [note.code for note in short.shortages] == ["request_exceeds_pool"]
    assert short.kv_cache_capacity_tokens == 8192


def test_a_fixed_pool_of_a_hybrid_is_that_of_its_tokens():
    """Ten full-attention layers of 2 heads of 256: 20,480 bytes a token; states come beside the pool."""
    ours = plan("qwen3.5-35b-a3b", kv_cache_memory_bytes=20_480 * 100_000)
    assert ours.kv_cache_capacity_tokens == 100_000


LIMITED = [
    ("qwen3-8b", {}),
    ("gemma-3-27b-it", {}),
    ("gpt-oss-120b", {}),
    ("kimi-k2-instruct", {"gpu_count": 16}),
    ("qwen3-coder-next-80b-a3b", {"gpu_count": 2}),
    ("qwen3.8-27b", {"prefix_caching": False}),
    ("deepseek-v3-0324-671b", {"gpu_count": 8, "data_parallel": 8}),
]


@pytest.mark.parametrize(("model", "parameters"), LIMITED)
@pytest.mark.parametrize("sequences", [1, 5])
def test_limits_are_where_the_scenario_stops_fitting(model: str, parameters: dict[str, Any], sequences: int):
    """At the limit everything fits; one sequence more, or one token more, does not."""
    asked = ask(model, **parameters, concurrent_sequences=sequences)
    ours = ENGINE.plan(asked)
    most, longest = ours.max_concurrent_sequences, ours.max_context_tokens
    assert most
    assert longest

    def fits(changed: Scenario) -> bool:
        return judge(changed, ENGINE.plan(changed))[0] in (Verdict.FITS, Verdict.TIGHT)

    assert fits(replace(asked, concurrent_sequences=most))
    assert not fits(replace(asked, concurrent_sequences=most + asked.layout.data))
    assert fits(replace(asked, context_tokens=longest))
    if longest < asked.model.architecture.max_context_tokens:
        assert not fits(replace(asked, context_tokens=longest + 1))


@pytest.mark.parametrize("model", ["qwen3-8b", "gpt-oss-120b", "gemma-3-27b-it"])
def test_a_pool_that_is_just_enough_is_what_sglang_makes(model: str):
    """The largest context of one sequence is the pool's tokens, where the model's own limit is beyond."""
    ours = plan(model, "h100-80gb-sxm")
    assert ours.kv_cache_capacity_tokens is not None
    own = catalog().models[model].architecture.max_context_tokens
    assert ours.max_context_tokens == min(own, ours.kv_cache_capacity_tokens)


def test_weights_and_pools_get_the_fraction_of_what_is_free():
    """(total - runtime) * 0.830 less 14.96 GiB of weights, at 131,072 bytes a token, on an H100."""
    ours = plan("llama-3.1-8b-instruct", "h100-80gb-sxm")
    memory = ours.fullest
    gpu = catalog().gpus["h100-80gb-sxm"]
    assert gpu.memory_bytes is not None
    budget = int((gpu.memory_bytes - memory.runtime_overhead) * 0.830) - memory.weights
    assert ours.kv_cache_capacity_tokens == budget // 131_072


def test_memory_that_others_hold_shrinks_the_pool_by_the_fraction():
    free, taken = plan("qwen3-8b"), plan("qwen3-8b", reserved_memory_bytes=10 * GIB)
    assert free.kv_cache_capacity_tokens is not None
    assert taken.kv_cache_capacity_tokens is not None
    lost = (free.kv_cache_capacity_tokens - taken.kv_cache_capacity_tokens) * 147_456
    assert lost == pytest.approx(10 * GIB * 0.903, rel=1e-4)


def test_the_shown_fraction_is_that_of_the_whole_scenario():
    """Attention data parallelism and smaller chunks change it; a given one stays."""
    assert ask("qwen3-8b").memory_utilization == 0.903
    assert ask("qwen3-8b", max_batched_tokens=2048).memory_utilization == 0.929
    layout = {"gpu_count": 8, "data_parallel": 8}
    assert ask("qwen3-235b-a22b-instruct-2507", **layout).memory_utilization == 0.765
    assert ask("qwen3-8b", memory_utilization=0.7).memory_utilization == 0.7


def test_more_gpus_are_tried_although_each_costs_a_reserve():
    """A model that fits one GPU needs one, though no reserve is left on the most GPUs that divide it."""
    assert size(ask("qwen3.8-27b")).limits.min_gpu_count == 1
    assert size(ask("gemma-4-e4b-it", "rtx-4090")).limits.min_gpu_count == 1


def test_unknown_memory_leaves_the_limits_open():
    asked = ask("qwen3-8b")
    ours = ENGINE.plan(replace(asked, gpu=replace(asked.gpu, memory_bytes=None)))
    assert ours.usable_bytes is None
    assert ours.kv_cache_capacity_tokens is None
    assert ours.max_context_tokens is None
    assert ours.max_concurrent_sequences is None
    assert ours.fullest.total > 0


@pytest.mark.parametrize("model", sorted(catalog().models))
@pytest.mark.parametrize(
    "gpu", ["rtx-3060-12gb", "rtx-5090", "h20-96gb", "instinct-mi300x-192gb", "b200-180gb"]
)
def test_every_model_is_planned_on_every_kind_of_gpu(model: str, gpu: str):
    """Terms are whole and not negative, and a verdict of fitting is a total within the usable memory."""
    asked = ask(model, gpu)
    ours = ENGINE.plan(asked)
    memory = ours.fullest
    terms = (memory.weights, memory.kv_cache, memory.recurrent_state, memory.compute_buffers)
    assert all(isinstance(term, int) and term >= 0 for term in (*terms, memory.runtime_overhead))
    assert ours.usable_bytes is not None
    assert ours.max_concurrent_sequences is not None
    assert (ours.max_concurrent_sequences >= 1) == (memory.total <= ours.usable_bytes and not ours.shortages)
