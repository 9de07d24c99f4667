"""Laws that hold for every model and every scenario, whatever the figures are."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.catalog import Catalog
from service.core.architecture.caches import KeyValueCache, LatentCache
from service.core.request import Request
from service.core.resolve import resolve
from service.core.scenario import Scenario
from service.core.size import size
from service.core.sizing import Sizing

quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
engines = st.sampled_from(
    [("llama.cpp", "q4_k_m"), ("vllm", "bf16"), ("mlx", "mlx-4bit"), ("tensorrt-llm", "bf16")]
)
contexts = st.integers(1, 262_144)
# The packed pools of these classes round requests to whole blocks of several kinds; the laws still hold.
GPU = "b200-180gb"


def ask(catalog: Catalog, model: str, **parameters: Any) -> Scenario:
    gpu = catalog.gpus[parameters.pop("gpu", GPU)]
    return resolve(Request(model=catalog.models[model], gpu=gpu, **parameters))


def answer(catalog: Catalog, model: str, **parameters: Any) -> Sizing:
    return size(ask(catalog, model, **parameters))


def plan(scenario: Scenario) -> Any:
    from service.core.engines import ENGINES

    return ENGINES[scenario.engine].plan(scenario)


@quick
@given(data=st.data())
def test_the_total_is_the_sum_of_its_terms(catalog: Catalog, data: st.DataObject):
    """Per GPU and over all GPUs; all GPUs together are the ranks added up."""
    model = data.draw(st.sampled_from(sorted(catalog.models)))
    engine, quantization = data.draw(engines)
    scenario = ask(
        catalog,
        model,
        engine=engine,
        quantization=quantization,
        context_tokens=data.draw(contexts),
        gpu_count=data.draw(st.sampled_from([1, 2, 4, 8])),
    )
    result = plan(scenario)
    for memory in (result.fullest, result.total):
        terms = (memory.weights, memory.kv_cache, memory.recurrent_state)
        assert memory.total == sum(terms) + memory.compute_buffers + memory.runtime_overhead
        assert all(isinstance(term, int) and term >= 0 for term in terms)
    assert sum(rank.count for rank in result.ranks) == scenario.gpu_count
    assert result.total.total == sum(rank.count * rank.memory.total for rank in result.ranks)
    assert result.fullest.total == max(rank.memory.total for rank in result.ranks)


@quick
@given(data=st.data())
def test_more_context_or_more_sequences_never_need_less(catalog: Catalog, data: st.DataObject):
    model = data.draw(st.sampled_from(sorted(catalog.models)))
    engine, quantization = data.draw(engines)
    shorter, longer = sorted((data.draw(contexts), data.draw(contexts)))
    fewer, more = sorted((data.draw(st.integers(1, 64)), data.draw(st.integers(1, 64))))
    base = ask(catalog, model, engine=engine, quantization=quantization)
    small = plan(replace(base, context_tokens=shorter, concurrent_sequences=fewer))
    large = plan(replace(base, context_tokens=longer, concurrent_sequences=more))
    assert small.fullest.total <= large.fullest.total
    assert small.total.kv_cache <= large.total.kv_cache
    assert small.total.recurrent_state <= large.total.recurrent_state


def test_state_does_not_depend_on_the_kv_type(catalog: Catalog):
    """A quantized KV cache shrinks keys and values, never the recurrent state."""
    seen = 0
    for model in catalog.models:
        results = [
            answer(catalog, model, engine="llama.cpp", quantization="q4_k_m", kv_cache_dtype=dtype).plan
            for dtype in ("fp16", "q8_0")
        ]
        assert results[0].total.recurrent_state == results[1].total.recurrent_state
        assert results[0].state_bytes_per_sequence == results[1].state_bytes_per_sequence
        seen += results[0].state_bytes_per_sequence > 0
    assert seen >= 15


def test_q8_0_is_17_32_of_f16_and_q4_0_is_9_32(catalog: Catalog):
    """Blocks of 32 elements take 34 and 18 bytes instead of 64."""
    for model in catalog.models:
        tokens = {
            dtype: answer(
                catalog, model, engine="llama.cpp", quantization="q4_k_m", kv_cache_dtype=dtype
            ).plan.kv_bytes_per_token
            for dtype in ("fp16", "q8_0", "q4_0")
        }
        assert tokens["q8_0"] * 32 == tokens["fp16"] * 17, model
        assert tokens["q4_0"] * 32 == tokens["fp16"] * 9, model


def growing(catalog: Catalog, kind: type) -> list[str]:
    """Models whose every cache is of one kind and grows with the context, without indexes or states."""
    names = []
    for model in catalog.models.values():
        layers = [layer for layer in model.architecture.layers if layer.cache or layer.states or layer.index]
        plain = all(
            isinstance(layer.cache, kind) and not layer.states and layer.index is None for layer in layers
        )
        if plain and all(getattr(layer.cache, "window", None) is None for layer in layers):
            names.append(model.id)
    return names


def rank_kv(catalog: Catalog, model: str, degree: int) -> int:
    scenario = ask(
        catalog,
        model,
        engine="vllm",
        quantization="bf16",
        context_tokens=16_384,
        gpu_count=degree,
        tensor_parallel=degree,
    )
    return plan(scenario).fullest.kv_cache


@pytest.mark.parametrize("degree", [2, 4, 8])
def test_a_latent_cache_is_the_same_on_every_tensor_parallel_rank(catalog: Catalog, degree: int):
    models = growing(catalog, LatentCache)
    assert "deepseek-v3-0324-671b" in models
    for model in models:
        assert rank_kv(catalog, model, degree) == rank_kv(catalog, model, 1), model


@pytest.mark.parametrize("degree", [2, 4, 8])
def test_grouped_heads_divide_until_each_rank_has_one(catalog: Catalog, degree: int):
    """Per rank the cache is that of one GPU divided by min(T, K)."""
    models = growing(catalog, KeyValueCache)
    assert len(models) > 20
    for model in models:
        architecture = catalog.models[model].architecture
        if any(architecture.attention_heads % n for n in (degree,)) or architecture.kv_heads % min(
            degree, architecture.kv_heads
        ):
            continue
        divisor = min(degree, architecture.kv_heads)
        assert rank_kv(catalog, model, degree) * divisor == rank_kv(catalog, model, 1), model


def test_fp8_halves_keys_and_values(catalog: Catalog):
    for model in (*growing(catalog, KeyValueCache), *growing(catalog, LatentCache)):
        tokens = [
            answer(
                catalog, model, engine="vllm", quantization="bf16", kv_cache_dtype=dtype
            ).plan.kv_bytes_per_token
            for dtype in ("bf16", "fp8")
        ]
        assert tokens[0] == 2 * tokens[1], model
