"""vLLM's budget: what it may use, what the pool holds, and where the limits are."""

from dataclasses import replace
from math import ceil
from typing import Any

import pytest

from service.core.engines.vllm import ENGINE
from service.core.scenario import Layout
from tests.unit.vllm_questions import ask, catalog, plan

GIB = 2**30


def test_usable_memory_is_the_share_less_what_others_use():
    gpu = catalog().gpus["h200-141gb-sxm"]
    assert gpu.memory_bytes is not None
    share = ceil(gpu.memory_bytes * 0.92)
    assert plan("qwen3-8b").usable_bytes == share
    assert plan("qwen3-8b", reserved_memory_bytes=GIB).usable_bytes == share - GIB
    assert plan("qwen3-8b", memory_utilization=0.5).usable_bytes == ceil(gpu.memory_bytes * 0.5)


def test_a_fixed_pool_is_exactly_that():
    """10 GiB of Llama's 2 MiB blocks are 5,120 blocks of 16 tokens, whatever the weights take."""
    ours = plan("llama-3.1-8b-instruct", kv_cache_memory_bytes=10 * GIB)
    assert ours.kv_cache_capacity_tokens == 5120 * 16
    assert ours.max_context_tokens == 5119 * 16  # one block is the null block
    assert ours.max_concurrent_sequences == 5119 // 512
    assert ours.shortages == ()
    short = plan("llama-3.1-8b-instruct", kv_cache_memory_bytes=GIB, context_tokens=32_768)
    assert [note.code for note in short.shortages] == ["request_exceeds_pool"]
    assert short.kv_cache_capacity_tokens == 8192


@pytest.mark.parametrize(
    "model", ["qwen3-8b", "gemma-3-27b-it", "kimi-k2-instruct", "qwen3-coder-next-80b-a3b"]
)
@pytest.mark.parametrize("sequences", [1, 5])
def test_limits_are_where_the_total_reaches_the_usable_memory(model: str, sequences: int):
    """At the limit everything fits; one sequence more, or one token more, does not."""
    layout = Layout(tensor=8)
    ours = plan(model, layout=layout, concurrent_sequences=sequences)
    most, longest = ours.max_concurrent_sequences, ours.max_context_tokens
    assert most
    assert longest

    def total(**changes: Any) -> int:
        return plan(model, layout=layout, **changes).fullest.total

    usable = ours.usable_bytes
    assert usable is not None
    assert total(concurrent_sequences=most) <= usable < total(concurrent_sequences=most + 1)
    assert total(concurrent_sequences=sequences, context_tokens=longest) <= usable
    if longest < catalog().models[model].architecture.max_context_tokens:
        assert total(concurrent_sequences=sequences, context_tokens=longest + 1) > usable


def test_limits_ignore_the_verdict_and_need_a_known_memory():
    """Weights that exceed the GPU leave no pool: zeros. A GPU without a known memory leaves no answer."""
    short = plan("kimi-k3.1-pro", "h20-141gb")
    assert (short.max_context_tokens, short.max_concurrent_sequences, short.kv_cache_capacity_tokens) == (
        0,
        0,
        0,
    )
    scenario = ask("qwen3-8b")
    unknown = ENGINE.plan(replace(scenario, gpu=replace(scenario.gpu, memory_bytes=None)))
    assert unknown.usable_bytes is None
    assert (unknown.max_context_tokens, unknown.max_concurrent_sequences) == (None, None)
    assert unknown.kv_cache_capacity_tokens is None


def test_replicas_share_the_sequences():
    """Four replicas admit one of eight sequences each and decode the other."""
    layout = Layout(data=4)
    alone, shared = (
        plan("qwen3-8b", concurrent_sequences=2),
        plan("qwen3-8b", layout=layout, concurrent_sequences=8),
    )
    assert shared.fullest.kv_cache == alone.fullest.kv_cache
    assert shared.total.kv_cache == 4 * alone.fullest.kv_cache
