"""MLX: what mlx-lm's caches hold, what a prompt needs beside them, and what fits into the working set."""

from dataclasses import replace
from typing import Any

import pytest

from service.catalog import load_catalog
from service.core.architecture.caches import KeyValueCache, LatentCache, Reach
from service.core.architecture.kinds import kinds
from service.core.architecture.model import Architecture, FeedForward, Layer, LayerKind
from service.core.architecture.parse import parse
from service.core.engines.base import Engine
from service.core.engines.mlx import ENGINE
from service.core.engines.mlx.cache import bytes_per_token, cache_bytes, state_bytes, window_bytes
from service.core.engines.mlx.kv_types import row_bytes
from service.core.evidence import Evidence
from service.core.hardware import EngineOnGpu, GpuKind, Platform
from service.core.request import Request
from service.core.resolve import resolve
from service.core.scenario import Layout, Scenario
from service.core.size import size
from service.core.sizing import Verdict
from service.core.weights.weigh import weigh_architecture
from service.errors import InvalidParameters
from tests.published import ROOT, expectations, models
from tests.unit.factories import make_architecture, make_gpu, make_model, make_scenario

MIB, GIB = 2**20, 2**30
SUPPORTED = sorted(id_ for id_, row in expectations().items() if row["supported"]["mlx"] == "yes")
MAC = make_gpu(
    vendor="Apple", kind=GpuKind.UNIFIED, memory_bytes=128 * GIB, engines=(EngineOnGpu("mlx", "metal"),)
)


def kept(model: str) -> Any:
    return kinds(parse(models()[model]["config"]).layers)


def layer(cache: Any, **changes: Any) -> Layer:
    return Layer(LayerKind.FULL, FeedForward.DENSE, (), cache, **changes)


def asked(architecture: Architecture, **changes: Any) -> Scenario:
    base = make_scenario(
        model=make_model(architecture=architecture),
        gpu=MAC,
        platform=Platform.MACOS,
        engine="mlx",
        backend="metal",
        quantization="mlx-4bit",
        kv_cache_dtype="bf16",
        kv_cache_dtype_v="bf16",
        max_batched_tokens=2048,
    )
    return replace(base, **changes)


@pytest.mark.parametrize("model", SUPPORTED)
def test_each_token_adds_what_was_derived_apart(model: str) -> None:
    """Keys, values and latents at 16 bit; index keys as mlx-lm lays them out (512 bytes in DeepSeek V3.2)."""
    expected = expectations()[model]
    index = expected.get("indexer_bytes_per_token_by_engine", {}).get("mlx")
    if index is None:
        index = expected["indexer_bytes_per_token_16bit"]
    assert bytes_per_token(kept(model), "bf16") == expected["kv_bytes_per_token_16bit"] + index


@pytest.mark.parametrize("model", SUPPORTED)
def test_the_state_is_f32_beside_a_16_bit_convolution(model: str) -> None:
    """One copy of every state."""
    assert state_bytes(kept(model)) == expectations()[model]["state_bytes_per_sequence"]


@pytest.mark.parametrize("model", SUPPORTED)
def test_windows_hold_exactly_their_tokens(model: str) -> None:
    """Rotating caches hold the window; a chunked cache grows by 256 tokens above its chunk."""
    layers = parse(models()[model]["config"]).layers
    chunked = sum(
        256 * 2 * held.cache.heads * (held.cache.key_dim + held.cache.value_dim)
        for held in layers
        if isinstance(held.cache, KeyValueCache) and held.cache.reach is Reach.CHUNKED
    )
    assert window_bytes(kept(model)) == expectations()[model]["window_bytes_per_sequence_16bit"] + chunked


def test_the_chunked_layers_of_llama_4() -> None:
    """36 layers * (8,192 + 256) tokens * 4,096 bytes."""
    assert window_bytes(kept("llama-4-scout")) == 36 * 8448 * 4096


def test_a_cache_grows_in_steps_of_256_tokens() -> None:
    """Llama 3.1 8B: 131,072 bytes a token (32 * 2 * 8 * 128 * 2), so 32 MiB a step."""
    llama = kept("llama-3.1-8b-instruct")
    assert cache_bytes(llama, 1, "bf16", False) == 256 * 131_072
    assert cache_bytes(llama, 256, "bf16", False) == 256 * 131_072
    assert cache_bytes(llama, 257, "bf16", False) == 512 * 131_072
    assert cache_bytes(llama, 8192, "bf16", False) == GIB


def test_a_short_context_does_not_fill_a_window() -> None:
    """Gemma 3 27B at 512 tokens: 62 layers * 512 * 8,192 bytes; at 8,192 the 52 windows stop at 1,024."""
    gemma = kept("gemma-3-27b-it")
    assert cache_bytes(gemma, 512, "bf16", False) == 62 * 512 * 8192
    assert cache_bytes(gemma, 8192, "bf16", False) == 10 * 8192 * 8192 + 52 * 1024 * 8192


def test_quantized_rows() -> None:
    """Groups of 64 with two 16-bit numbers beside each: 8.5 and 4.5 bits an element."""
    assert row_bytes("bf16", 128) == 256
    assert row_bytes("int8-g64", 128) == 128 * 17 // 16
    assert row_bytes("int4-g64", 128) == 128 * 9 // 16


def test_eight_bits_take_17_32_of_a_full_cache() -> None:
    """The same ratio as q8_0; four bits 9/32."""
    llama = kept("llama-3.1-8b-instruct")
    assert bytes_per_token(llama, "int8-g64") == 131_072 * 17 // 32
    assert bytes_per_token(llama, "int4-g64") == 131_072 * 9 // 32


@pytest.mark.parametrize(
    "cache", [KeyValueCache(8, 128, 128, Reach.SLIDING, 1024), LatentCache(512, 64)], ids=["window", "latent"]
)
def test_kv_bits_are_refused_where_mlx_lm_fails(cache: Any) -> None:
    """RotatingKVCache raises NotImplementedError, latent attention cannot read a quantized cache."""
    architecture = make_architecture(layers=(layer(cache),))
    codes = [note.code for note in ENGINE.plan(asked(architecture, kv_cache_dtype="int8-g64")).refusals]
    assert codes == ["kv_type_not_for_architecture"]
    assert ENGINE.plan(asked(architecture)).refusals == ()


def test_kv_bits_need_whole_groups_and_one_sequence() -> None:
    """A head of 80 holds no whole groups of 64; mlx_lm.server does not batch quantized caches."""
    architecture = make_architecture(layers=(layer(KeyValueCache(8, 80, 80)),))
    plan = ENGINE.plan(asked(architecture, kv_cache_dtype="int4-g64", concurrent_sequences=2))
    assert [note.code for note in plan.refusals] == [
        "kv_type_needs_wider_heads",
        "engine_serves_one_sequence",
    ]
    assert plan.max_concurrent_sequences == 1


def test_everything_is_in_the_one_memory() -> None:
    """Weights with the embedding, once although it is tied; nothing on the host."""
    plan = ENGINE.plan(asked(make_architecture()))
    assert plan.total.weights == weigh_architecture(make_architecture(), "mlx-4bit").total_bytes
    assert plan.host_bytes == 0


def test_a_prompt_needs_its_widest_layer_and_its_logits() -> None:
    """2,048 tokens * (4 * 512 + 3 * 2,048 + 1,024) values * 2 bytes, and Ollama's 512 MiB for Metal."""
    memory = ENGINE.plan(asked(make_architecture())).fullest
    assert memory.compute_buffers == 2048 * (4 * 512 + 3 * 2048 + 1024) * 2
    assert memory.runtime_overhead == 512 * MIB


def test_a_window_holds_a_prompts_chunk_until_the_next_token() -> None:
    """RotatingKVCache keeps window - 1 + 2,048 tokens: 2,047 rows of 4,096 bytes above the window."""
    cache = KeyValueCache(8, 128, 128, Reach.SLIDING, 1024)
    plain = ENGINE.plan(asked(make_architecture(layers=()))).fullest.compute_buffers
    memory = ENGINE.plan(asked(make_architecture(layers=(layer(cache),)))).fullest
    assert memory.compute_buffers - plain == 2047 * 4096
    assert memory.kv_cache == 1024 * 4096


def test_at_most_eight_prompts_are_processed_at_once() -> None:
    """--prompt-concurrency 8 bounds the transient, not the caches."""
    one, many = (
        ENGINE.plan(asked(make_architecture(), concurrent_sequences=count)).fullest for count in (1, 16)
    )
    assert many.compute_buffers == 8 * one.compute_buffers
    assert many.kv_cache == 16 * one.kv_cache


def test_limits_agree_with_the_plan() -> None:
    """The largest context fits and the next step does not; 32 sequences at most (--decode-concurrency)."""
    architecture = make_architecture(
        layers=(layer(KeyValueCache(64, 128, 128)),) * 32, max_context_tokens=131_072
    )
    question = asked(architecture)
    plan = ENGINE.plan(question)
    longest = plan.max_context_tokens
    assert longest is not None
    assert 0 < longest < 131_072

    def total(context: int) -> int:
        return ENGINE.plan(replace(question, context_tokens=context), limits=False).fullest.total

    assert plan.usable_bytes == 96 * GIB
    assert total(longest) <= 96 * GIB < total(longest + 1)
    assert ENGINE.plan(asked(make_architecture())).max_concurrent_sequences == 32


def test_several_machines_share_whole_layers() -> None:
    """Pipeline stages: half the layers' cache each, the logits on the last; an estimate."""
    cache = KeyValueCache(8, 128, 128)
    architecture = make_architecture(layers=(layer(cache),) * 4)
    plan = ENGINE.plan(asked(architecture, gpu_count=2, layout=Layout(pipeline=2, split="layer")))
    first, last = (rank.memory for rank in plan.ranks)
    assert first.kv_cache == last.kv_cache == 2 * 8192 * 4096
    assert last.compute_buffers - first.compute_buffers == 2048 * 1024 * 2
    assert plan.evidence["weights"].evidence is Evidence.ESTIMATE


def test_weights_near_the_working_set_are_said() -> None:
    """mlx-lm warns above 90 % of what Metal recommends."""
    weights = weigh_architecture(make_architecture(), "mlx-4bit").total_bytes
    gpu = replace(MAC, memory_bytes=weights * 100 // 95 + 1, unified_usable_fraction=1.0)
    codes = [note.code for note in ENGINE.plan(asked(make_architecture(), gpu=gpu)).warnings]
    assert "weights_near_working_set" in codes


def test_a_layout_that_was_not_read_says_so() -> None:
    """DeepSeek V4 runs in mlx-vlm only; DeepSeek V3.2 follows mlx-lm's own cache."""
    catalog = load_catalog(ROOT / "config")
    mac = catalog.gpus["mac-studio-m3-ultra-512gb"]
    for model, known in (("deepseek-v4-flash", False), ("deepseek-v3.2-685b", True)):
        scenario = resolve(Request(model=catalog.models[model], gpu=mac, engine="mlx"))
        plan = ENGINE.plan(scenario, limits=False)
        codes = [note.code for note in plan.warnings]
        assert ("engine_rule_generic" in codes) is not known
        assert (plan.evidence["kv_cache"].evidence is Evidence.CONFIG) is known


def test_a_70b_at_four_bits_fits_a_64_gb_mac_and_a_405b_does_not_fit_a_512_gb_one_at_16() -> None:
    """70.6e9 * 4.5 / 8 = 39.7 GB of 48 GiB; 405.9e9 * 2 = 811.7 GB of 384 GiB."""
    catalog = load_catalog(ROOT / "config")
    small = Request(
        model=catalog.models["llama-3.3-70b-instruct"],
        gpu=catalog.gpus["mac-mini-m4-pro-64gb"],
        engine="mlx",
    )
    assert size(resolve(small)).verdict in (Verdict.FITS, Verdict.TIGHT)
    large = Request(
        model=catalog.models["llama-3.1-405b-instruct"],
        gpu=catalog.gpus["mac-studio-m3-ultra-512gb"],
        engine="mlx",
        quantization="bf16",
    )
    assert size(resolve(large)).verdict is Verdict.DOES_NOT_FIT


def test_a_parameter_that_mlx_lacks_is_an_error() -> None:
    """No tensor parallelism, no offload, no llama.cpp cache types."""
    catalog = load_catalog(ROOT / "config")
    base = Request(
        model=catalog.models["llama-3.1-8b-instruct"],
        gpu=catalog.gpus["macbook-pro-m4-max-128gb"],
        engine="mlx",
    )
    for change in ({"tensor_parallel": 2}, {"cpu_offload_percent": 10}, {"kv_cache_dtype": "q8_0"}):
        with pytest.raises(InvalidParameters):
            resolve(replace(base, **change))


def test_the_engine_has_the_shape_of_every_engine() -> None:
    """Its defaults are its own types and formats."""
    engine: Engine = ENGINE
    defaults = engine.defaults(make_architecture(), MAC, 1, 8192)
    assert defaults.kv_cache_dtype in engine.kv_dtypes
    assert engine.default_format in engine.formats
    assert not engine.loads_native(make_architecture())
