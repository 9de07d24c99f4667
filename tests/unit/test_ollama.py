"""Ollama: llama.cpp's allocation with Ollama's own batches, context and limits."""

from dataclasses import replace
from typing import Any

import pytest

from service.catalog import load_catalog
from service.core.architecture.caches import KeyValueCache
from service.core.architecture.model import Architecture, FeedForward, Layer, LayerKind
from service.core.architecture.tensors import Tensor, TensorClass
from service.core.engines import llama_cpp
from service.core.engines.base import Engine
from service.core.engines.ollama import ENGINE, default_context
from service.core.engines.ollama_batch import automatic_batch, predicted_bytes
from service.core.request import Request
from service.core.resolve import resolve
from service.core.scenario import Scenario
from service.core.size import size
from service.core.sizing import Verdict
from service.errors import InvalidParameters
from tests.published import ROOT
from tests.unit.factories import make_architecture, make_gpu, make_model, make_scenario

MIB, GIB = 2**20, 2**30


def shape(**changes: Any) -> Architecture:
    """32 layers of 8 KV heads of 128, hidden size 4,096 over 32 heads: the cache of Llama 3.1 8B."""
    weights = Tensor("attn_q.weight", (512, 512), TensorClass.ATTENTION, linear=True)
    one = Layer(LayerKind.FULL, FeedForward.DENSE, (weights,), KeyValueCache(8, 128, 128))
    base = make_architecture(
        layers=(one,) * 32, hidden_size=4096, attention_heads=32, kv_heads=8, max_context_tokens=131_072
    )
    return replace(base, **changes)


def asked(architecture: Architecture | None = None, **changes: Any) -> Scenario:
    base = make_scenario(
        model=make_model(architecture=architecture or shape()),
        engine="ollama",
        max_batched_tokens=1024,
        defaulted=("max_batched_tokens",),
    )
    return replace(base, **changes)


@pytest.mark.parametrize(
    ("memory", "tokens"),
    [
        (8 * GIB, 4096),
        (23 * GIB - 1, 4096),
        (23 * GIB, 32_768),
        (47 * GIB - 1, 32_768),
        (47 * GIB, 262_144),
        (8 * 80 * GIB, 262_144),
    ],
)
def test_the_default_context_follows_the_memory(memory: int, tokens: int) -> None:
    """server/routes.go: thresholds of 23 and 47 GiB over all GPUs."""
    assert default_context(memory) == tokens


@pytest.mark.parametrize(
    ("context", "batch"), [(4096, 512), (4097, 1024), (32_768, 1024), (32_769, 2048), (262_144, 2048)]
)
def test_the_batch_follows_the_context(context: int, batch: int) -> None:
    """server/sched.go generationBatchForContext, on an empty GPU."""
    assert automatic_batch(context) == batch
    assert ENGINE.defaults(shape(), make_gpu(), 1, context).max_batched_tokens == batch


@pytest.mark.parametrize(
    ("predicted", "batch"),
    [
        (60 * GIB, 2048),
        (60 * GIB + 1, 1024),
        (75 * GIB, 1024),
        (75 * GIB + 1, 512),
        (90 * GIB, 512),
    ],
)
def test_a_nearly_full_gpu_lowers_the_batch(predicted: int, batch: int) -> None:
    """Of 100 GiB free: 2,048 tokens up to 60 % predicted, 1,024 up to 75 %, then 512."""
    assert automatic_batch(65_536, predicted, 100 * GIB) == batch


def test_the_batchs_own_cost_must_fit_into_80_percent() -> None:
    """10 GiB free: 5.9 predicted + 2 for 2,048 fit into 8; of 4 GiB free, 2.4 + 2 do not, 2.4 + 0.75 do."""
    assert automatic_batch(65_536, int(5.9 * GIB), 10 * GIB) == 2048
    assert automatic_batch(65_536, int(2.4 * GIB), 4 * GIB) == 1024


def test_its_own_estimate_counts_every_layer_as_growing() -> None:
    """The log of a 70B class model (ollama issue 9181): 80 * 2 * 8 * 128 * 2 = 327,680 bytes a token."""
    one = Layer(LayerKind.FULL, FeedForward.DENSE, (), KeyValueCache(8, 128, 128))
    architecture = shape(layers=(one,) * 80, hidden_size=8192, attention_heads=64)
    assert predicted_bytes(architecture, 0, 64_000) == 64_000 * 327_680
    assert round(predicted_bytes(architecture, 0, 64_000) / GIB, 1) == 19.5  # as the log prints it


def test_the_allocation_is_llama_cpps() -> None:
    """`-c num_ctx * num_parallel -np num_parallel`: the same bytes as llama-server with the same batch."""
    question = asked(defaulted=(), concurrent_sequences=4)
    ours = ENGINE.plan(question)
    theirs = llama_cpp.ENGINE.plan(replace(question, engine="llama.cpp"))
    assert ours.ranks == theirs.ranks
    assert ours.usable_bytes == theirs.usable_bytes
    assert ours.total.kv_cache == 4 * GIB
    assert ours.total.runtime_overhead == 457 * MIB


def test_a_batch_that_the_caller_gave_stands() -> None:
    """OLLAMA lowers only its own default."""
    gpu = make_gpu(memory_bytes=4 * GIB)
    plan = ENGINE.plan(asked(gpu=gpu, defaulted=()))
    assert "engine_takes_batch" not in [note.code for note in plan.warnings]


def test_a_lowered_batch_is_said_and_counted() -> None:
    """8 GiB card less 1 GiB of margin: a cache of 1 GiB at 8k fits with 1,024; 6 GiB at 48k leaves 512."""
    gpu = make_gpu(memory_bytes=8 * GIB)
    question = asked(gpu=gpu, context_tokens=49_152, max_batched_tokens=2048)
    plan = ENGINE.plan(question)
    [note] = [note for note in plan.warnings if note.code == "engine_takes_batch"]
    assert note.parameters["tokens"] == 512
    by_hand = llama_cpp.ENGINE.plan(replace(question, max_batched_tokens=512))
    assert plan.ranks == by_hand.ranks
    settled = ENGINE.settle(question)
    assert settled.max_batched_tokens == 512
    assert ENGINE.plan(settled) == plan


def test_the_answer_shows_the_batch_that_is_used() -> None:
    """70B at Q4_K_M (39.6 GiB) leaves a 48 GB card no room for 1,024 tokens; 8B does."""
    catalog = load_catalog(ROOT / "config")
    small = Request(
        model=catalog.models["llama-3.1-8b-instruct"], gpu=catalog.gpus["l40s-48gb"], engine="ollama"
    )
    assert resolve(small).max_batched_tokens == 1024
    large = replace(small, model=catalog.models["llama-3.3-70b-instruct"])
    assert resolve(large).max_batched_tokens == 512
    assert resolve(replace(large, max_batched_tokens=2048)).max_batched_tokens == 2048


def test_a_context_other_than_ollamas_own_is_said() -> None:
    """A 24 GiB card would start with 32,768 tokens, a model of 4,096 with no more than these."""
    [note] = [note for note in ENGINE.plan(asked()).warnings if note.code == "engine_default_context"]
    assert note.parameters == {"engine": "ollama", "tokens": 32_768, "asked": 8192}
    same = ENGINE.plan(asked(context_tokens=32_768))
    assert "engine_default_context" not in [note.code for note in same.warnings]
    short = ENGINE.plan(asked(shape(max_context_tokens=4096), context_tokens=4096))
    assert "engine_default_context" not in [note.code for note in short.warnings]


def test_some_architectures_are_served_one_at_a_time() -> None:
    """server/sched.go sets num_parallel to 1 for qwen35 and others; one sequence is fine."""
    architecture = shape(gguf_architecture="qwen35")
    refused = ENGINE.plan(asked(architecture, concurrent_sequences=2))
    assert [note.code for note in refused.refusals] == ["engine_serves_one_sequence"]
    assert refused.max_concurrent_sequences == 1
    assert ENGINE.plan(asked(architecture)).refusals == ()
    assert ENGINE.plan(asked(concurrent_sequences=2)).refusals == ()


def test_keys_and_values_have_one_type() -> None:
    """OLLAMA_KV_CACHE_TYPE sets both, and only f16, q8_0 and q4_0 exist."""
    catalog = load_catalog(ROOT / "config")
    base = Request(
        model=catalog.models["llama-3.1-8b-instruct"], gpu=catalog.gpus["rtx-4090"], engine="ollama"
    )
    assert resolve(replace(base, kv_cache_dtype="q8_0")).kv_cache_dtype_v == "q8_0"
    for change in ({"kv_cache_dtype_v": "q4_0"}, {"kv_cache_dtype": "q5_1"}):
        with pytest.raises(InvalidParameters):
            resolve(replace(base, **change))


def test_a_verdict_is_a_real_one() -> None:
    """8B at Q4_K_M fits a 24 GB card at 32k (4.3 GiB + 4 GiB); 70B (39.6 GiB) does not."""
    catalog = load_catalog(ROOT / "config")
    card = catalog.gpus["rtx-4090"]
    small = Request(
        model=catalog.models["llama-3.1-8b-instruct"], gpu=card, engine="ollama", context_tokens=32_768
    )
    large = replace(small, model=catalog.models["llama-3.3-70b-instruct"])
    assert size(resolve(small)).verdict is Verdict.FITS
    assert size(resolve(large)).verdict is Verdict.DOES_NOT_FIT


def test_the_engine_has_the_shape_of_every_engine() -> None:
    """Its defaults are its own types and formats."""
    engine: Engine = ENGINE
    assert engine.default_format in engine.formats
    assert engine.defaults(shape(), make_gpu(), 1, 8192).kv_cache_dtype in engine.kv_dtypes
    assert engine.modelled
