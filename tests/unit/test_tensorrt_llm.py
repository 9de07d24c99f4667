"""TensorRT-LLM: pools in a fraction of what is free, and a "usable" that means exactly that."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.catalog import load_catalog
from service.core.architecture.caches import (
    CompressedCache,
    IndexCache,
    IndexScheme,
    KeyValueCache,
    LatentCache,
    Reach,
    RecurrentState,
    StateKind,
)
from service.core.architecture.kinds import kinds
from service.core.architecture.model import Architecture, Experts, FeedForward, Layer, LayerKind
from service.core.architecture.parse import parse
from service.core.engines.base import Engine
from service.core.engines.tensorrt_llm import ENGINE
from service.core.engines.tensorrt_llm.budget import Budget, Stage
from service.core.engines.tensorrt_llm.buffers import activation_bytes, runtime_overhead
from service.core.engines.tensorrt_llm.cache import (
    CacheConfig,
    bytes_per_token,
    cache_bytes,
    rates,
    state_bytes,
    window_bytes,
)
from service.core.evidence import Evidence
from service.core.request import Request
from service.core.resolve import resolve
from service.core.scenario import Layout, Scenario
from service.core.size import size
from service.core.sizing import Verdict
from tests.published import ROOT, expectations, models
from tests.unit.factories import make_architecture, make_gpu, make_model, make_scenario

MIB, GIB = 2**20, 2**30
BF16 = CacheConfig("bf16")
PLAIN = sorted(
    id_
    for id_, row in expectations().items()
    if not row["indexer_bytes_per_token_16bit"] and not row["window_bytes_per_sequence_16bit"]
)


def kept(model: str) -> Any:
    return kinds(parse(models()[model]["config"]).layers)


def layer(cache: Any, **changes: Any) -> Layer:
    return Layer(LayerKind.FULL, FeedForward.DENSE, (), cache, **changes)


def asked(architecture: Architecture, **changes: Any) -> Scenario:
    base = make_scenario(
        model=make_model(architecture=architecture),
        engine="tensorrt-llm",
        quantization="bf16",
        kv_cache_dtype="bf16",
        kv_cache_dtype_v="bf16",
        layout=Layout(),
        max_batched_tokens=8192,
        memory_utilization=0.9,
    )
    return replace(base, **changes)


@pytest.mark.parametrize("model", PLAIN)
def test_each_token_adds_what_was_derived_apart(model: str) -> None:
    """Keys, values and latents at 16 bit of every model without windows and index."""
    assert bytes_per_token(kept(model), BF16) == expectations()[model]["kv_bytes_per_token_16bit"]


def test_fp8_halves_and_nvfp4_takes_9_32() -> None:
    """NVFP4: half a byte and one scale byte for 16 elements, 9/16 of a byte against two."""
    llama = kept("llama-3.1-8b-instruct")
    assert bytes_per_token(llama, CacheConfig("fp8")) == 65_536
    assert bytes_per_token(llama, CacheConfig("nvfp4")) == 131_072 * 9 // 32


def test_index_keys_take_132_bytes_whatever_the_type() -> None:
    """DeepSeek V3.2: 61 * (1,152 + 132) at 16 bit, 61 * (576 + 132) in fp8."""
    model = kept("deepseek-v3.2-685b")
    assert bytes_per_token(model, BF16) == 78_324
    assert bytes_per_token(model, CacheConfig("fp8")) == 43_188


def test_layers_that_share_an_indexer_keep_no_index() -> None:
    """78 latents of 1,152 bytes and 21 indexers of 132 (GLM-5.3)."""
    latent = LatentCache(512, 64)
    index = IndexCache(IndexScheme.DSA, 128)
    layers = [layer(latent, index=index)] * 21 + [layer(latent)] * 57
    assert bytes_per_token(kinds(layers), BF16) == 92_628


def test_blocks_hold_32_tokens() -> None:
    """Llama 3.1 8B: 131,072 bytes a token, 33 tokens take two blocks."""
    llama = kept("llama-3.1-8b-instruct")
    assert cache_bytes(llama, 32, BF16) == 32 * 131_072
    assert cache_bytes(llama, 33, BF16) == 64 * 131_072


def test_windows_are_respected_and_chunks_are_not() -> None:
    """A window of 1,024 touches 33 blocks; a chunked layer keeps every block."""
    window = kinds([layer(KeyValueCache(8, 128, 128, Reach.SLIDING, 1024))])
    assert cache_bytes(window, 512, BF16) == 512 * 4096
    assert cache_bytes(window, 32_768, BF16) == window_bytes(window, BF16) == 33 * 32 * 4096
    assert bytes_per_token(window, BF16) == 0
    chunked = kinds([layer(KeyValueCache(8, 128, 128, Reach.CHUNKED, 8192))])
    assert cache_bytes(chunked, 32_768, BF16) == 32_768 * 4096


@pytest.mark.parametrize(("degree", "heads"), [(1, 8), (2, 4), (8, 1), (16, 1)])
def test_grouped_heads_divide_until_each_rank_has_one(degree: int, heads: int) -> None:
    """8 KV heads of 128: 512 bytes a token and head; latents are the same on every rank."""
    config = CacheConfig("bf16", tensor_parallel=degree)
    assert bytes_per_token(kinds([layer(KeyValueCache(8, 128, 128))]), config) == heads * 512
    assert bytes_per_token(kinds([layer(LatentCache(512, 64))]), config) == 1152


def test_states_follow_the_config() -> None:
    """Nemotron 3 Nano: 23 * (3 * 6,144 * 2 + 64 * 64 * 128 * 4) = 49,082,368; half of it on two ranks."""
    architecture = parse(models()["nemotron-3-nano-30b-a3b"]["config"])
    alone = CacheConfig("bf16", state_dtype=architecture.state_dtype)
    assert state_bytes(kinds(architecture.layers), alone) == 49_082_368
    assert state_bytes(kinds(architecture.layers), replace(alone, tensor_parallel=2)) == 49_082_368 // 2


def test_a_state_without_a_stated_type_is_16_bit_but_kda_is_f32() -> None:
    """Recurrences of 1,000 elements, 100 of convolution."""
    net = RecurrentState(StateKind.GATED_DELTA_NET, 100, 1, 10, 10, 10)
    delta = RecurrentState(StateKind.KIMI_DELTA, 100, 1, 10, 10, 10)
    assert state_bytes(kinds([layer(None, states=(net,))]), BF16) == 2000 + 200
    assert state_bytes(kinds([layer(None, states=(delta,))]), BF16) == 4000 + 200


@pytest.mark.parametrize(("degree", "coefficient"), [(1, 11), (2, 6.5), (4, 5), (8, 5), (16, 5)])
def test_activations_of_a_dense_model(degree: int, coefficient: float) -> None:
    """2 bytes * 8,192 tokens * 32 heads of 128 * NVIDIA's coefficient."""
    architecture = make_architecture(attention_heads=32, head_dim=128)
    expected = int(2 * 8192 * 4096 * coefficient)
    assert activation_bytes(architecture, Layout(tensor=degree), 8192) == expected


def test_activations_of_experts_are_twice_as_large_and_never_below_70_mib() -> None:
    """Coefficient 22 against 11; the smallest step still takes 70 MiB."""
    experts = make_architecture(
        attention_heads=32, head_dim=128, experts=Experts(count=8, per_token=2, width=64)
    )
    assert activation_bytes(experts, Layout(), 8192) == 2 * 8192 * 4096 * 22
    assert activation_bytes(experts, Layout(), 1) == 70 * MIB


@pytest.mark.parametrize(
    ("layout", "nccl"), [(Layout(), 0), (Layout(tensor=2), 342), (Layout(tensor=4, pipeline=2), 392)]
)
def test_what_is_outside_pytorch(layout: Layout, nccl: int) -> None:
    """0.55 GiB of context and libraries; NCCL 0, 342 or 392 MiB."""
    assert runtime_overhead(layout) == 55 * GIB // 100 + nccl * MIB


def stage(weights: int, layers: int = 1) -> Stage:
    """Peak = weights; a token of the cache takes 4,096 bytes a layer."""
    kept = kinds([layer(KeyValueCache(8, 128, 128))] * layers)
    return Stage(weights, 0, 0, rates(kept, BF16), state_bytes(kept, BF16))


def test_the_pool_is_a_fraction_of_what_is_left() -> None:
    """80 GiB free, 20 taken: the pool gets 0.9 * 60 = 54, so 74 GiB are usable and 6 stay free."""
    budget = Budget([stage(20 * GIB)], 80 * GIB, 0.9)
    assert budget.pool(stage(20 * GIB)) == 54 * GIB
    assert budget.usable(8192, 1) == 74 * GIB


def test_without_anything_left_all_of_it_is_usable() -> None:
    """Weights of 90 GiB on 80: no pool, and the shortage is that of the total."""
    budget = Budget([stage(90 * GIB)], 80 * GIB, 0.9)
    assert budget.pool(stage(90 * GIB)) == 0
    assert budget.usable(8192, 1) == 80 * GIB


@settings(max_examples=200, deadline=None)
@given(
    weights=st.lists(st.integers(0, 100 * GIB), min_size=1, max_size=4),
    layers=st.lists(st.integers(1, 90), min_size=4, max_size=4),
    context=st.integers(1, 262_144),
    sequences=st.integers(1, 64),
    fraction=st.floats(0.1, 1.0),
    free=st.integers(GIB, 192 * GIB),
)
def test_total_is_within_usable_exactly_when_the_pools_hold_the_sequences(
    weights: list[int], layers: list[int], context: int, sequences: int, fraction: float, free: int
) -> None:
    """The promise of `Budget`, for one stage and several, also where weights alone are too much."""
    stages = [stage(size, count) for size, count in zip(weights, layers, strict=False)]
    budget = Budget(stages, free, fraction)
    usable = budget.usable(context, sequences)
    total = max(one.memory(context, sequences).total for one in stages)
    assert usable is not None
    assert usable >= 0
    assert (total <= usable) is budget.holds(context, sequences)


def test_the_printed_tokens_are_whole_blocks() -> None:
    """A pool of 54 GiB over 4,096 bytes a token."""
    budget = Budget([stage(20 * GIB)], 80 * GIB, 0.9)
    assert budget.capacity_tokens(8192) == 54 * GIB // 4096


def test_a_pool_pinned_by_hand_is_exactly_that() -> None:
    """1 GiB holds 262,144 tokens of 4,096 bytes; a longer request is short of it, whatever is free."""
    architecture = make_architecture(
        layers=(layer(KeyValueCache(8, 128, 128)),), max_context_tokens=1_000_000
    )
    question = asked(architecture, kv_cache_memory_bytes=GIB)
    plan = ENGINE.plan(question)
    assert plan.kv_cache_capacity_tokens == plan.max_context_tokens == 262_144
    assert plan.shortages == ()
    [note] = ENGINE.plan(replace(question, context_tokens=262_145)).shortages
    assert note.code == "request_exceeds_pool"


def test_limits_agree_with_the_plan() -> None:
    """The longest context fits and one more block does not; 2,048 sequences at most (max_batch_size)."""
    architecture = make_architecture(
        layers=(layer(KeyValueCache(64, 128, 128)),) * 32, max_context_tokens=131_072
    )
    plan = ENGINE.plan(asked(architecture))
    longest = plan.max_context_tokens
    assert longest is not None
    assert 0 < longest < 131_072

    def fits(**changes: Any) -> bool:
        tried = ENGINE.plan(asked(architecture, **changes), limits=False)
        assert tried.usable_bytes is not None
        return tried.fullest.total <= tried.usable_bytes

    assert fits(context_tokens=longest)
    assert not fits(context_tokens=longest + 1)
    most = plan.max_concurrent_sequences
    assert most is not None
    assert fits(concurrent_sequences=most)
    assert not fits(concurrent_sequences=most + 1)
    small = make_architecture(layers=(layer(KeyValueCache(1, 16, 16)),))
    assert ENGINE.plan(asked(small, context_tokens=32)).max_concurrent_sequences == 2048


def test_a_lower_fraction_leaves_more_unused() -> None:
    """Half of what is free instead of nine tenths; unknown memory stays unknown."""
    high = ENGINE.plan(asked(make_architecture()))
    low = ENGINE.plan(asked(make_architecture(), memory_utilization=0.5))
    peak = high.fullest.total - high.fullest.kv_cache
    assert high.usable_bytes == peak + int((24 * GIB - peak) * 0.9)
    assert low.usable_bytes == peak + int((24 * GIB - peak) * 0.5)
    unknown = ENGINE.plan(asked(make_architecture(), gpu=make_gpu(memory_bytes=None)))
    assert (unknown.usable_bytes, unknown.max_context_tokens) == (None, None)


def test_a_layer_without_a_rule_is_an_estimate() -> None:
    """DeepSeek V4's compressed cache follows the general rule and says so; plain layers are exact."""
    compressed = layer(CompressedCache(448, 64, 4, 128))
    guessed = ENGINE.plan(asked(make_architecture(layers=(compressed,))))
    assert guessed.evidence["kv_cache"].evidence is Evidence.ESTIMATE
    assert "engine_rule_generic" in [note.code for note in guessed.warnings]
    plain = ENGINE.plan(asked(make_architecture()))
    assert plain.evidence["kv_cache"].evidence is Evidence.CONFIG
    assert plain.evidence["compute_buffers"].evidence is Evidence.CALIBRATED


def test_auto_is_what_the_checkpoint_declares() -> None:
    """fp8 where the quantization config says so, else bf16; steps of 8,192 tokens; 0.9 of the free memory."""
    defaults = ENGINE.defaults(make_architecture(), make_gpu(), 1, 8192)
    assert (defaults.kv_cache_dtype, defaults.max_batched_tokens) == ("bf16", 8192)
    assert defaults.memory_utilization == 0.9
    declared = ENGINE.defaults(make_architecture(kv_cache_dtype="fp8"), make_gpu(), 1, 8192)
    assert declared.kv_cache_dtype == "fp8"


def test_a_verdict_is_a_real_one() -> None:
    """8B at bf16 (16.1 GB) on 80 GB fits; 405B (811.7 GB) on one does not, nor on eight of 80 GB."""
    catalog = load_catalog(ROOT / "config")
    card = catalog.gpus["h100-80gb-sxm"]
    small = Request(model=catalog.models["llama-3.1-8b-instruct"], gpu=card, engine="tensorrt-llm")
    large = replace(small, model=catalog.models["llama-3.1-405b-instruct"], gpu_count=8)
    assert size(resolve(small)).verdict is Verdict.FITS
    assert size(resolve(large)).verdict is Verdict.DOES_NOT_FIT
    assert size(resolve(replace(large, gpu_count=16))).verdict is not Verdict.DOES_NOT_FIT


def test_the_engine_has_the_shape_of_every_engine() -> None:
    """Its defaults are its own types and formats."""
    engine: Engine = ENGINE
    assert engine.default_format in engine.formats
    assert engine.defaults(make_architecture(), make_gpu(), 1, 8192).kv_cache_dtype in engine.kv_dtypes
    assert engine.modelled
