"""SGLang by parts: cells, states, the request table, rank weights, refusals and warnings."""

from dataclasses import replace
from typing import Any

import pytest

from service.core.architecture.parse import parse
from service.core.engines.sglang.dtypes import auto_dtype
from service.core.engines.sglang.flags import resolve_flags
from service.core.engines.sglang.requests import request_table_bytes
from service.core.engines.sglang.sizer import Sizer
from service.core.engines.sglang.stages import sizer_of
from service.core.engines.sglang.states import StatePool
from service.core.engines.vllm.generation import Generation
from service.core.size import size
from service.core.sizing import Verdict
from tests.published import expectations, models
from tests.unit.sglang_questions import ask, catalog, plan

GIB = 2**30
HYBRIDS = ("qwen3.8-27b", "qwen3-coder-next-80b-a3b", "kimi-k3", "nemotron-3-nano-30b-a3b", "glm-5.3-flash")


def whole(model: str, gpu: str = "h200-141gb-sxm", **parameters: Any) -> Sizer:
    """The sizer of all layers on one rank of the default layout."""
    asked = ask(model, gpu, **parameters)
    layers = range(len(asked.model.architecture.layers))
    return sizer_of(asked.model.architecture, layers, resolve_flags(asked))


# Cells written out: layers * heads * (key + value) * bytes, and 0.8 of that for layers in the windows' pool.
@pytest.mark.parametrize(
    ("model", "gpu", "parameters", "cell"),
    [
        ("qwen3-235b-a22b-instruct-2507", "h200-141gb-sxm", {"gpu_count": 4}, 94 * 1 * 256 * 2),
        ("gpt-oss-120b", "h200-141gb-sxm", {}, 18 * 2048 + 0.8 * 18 * 2048),
        ("gemma-3-27b-it", "h200-141gb-sxm", {}, 62 * 16 * 256 * 2),
        ("gemma-4-e4b-it", "h200-141gb-sxm", {}, 7 * 4096 + 0.8 * 35 * 2048),
        ("deepseek-v3.2-685b", "h200-141gb-sxm", {"gpu_count": 8}, 61 * (1152 + 132)),
        (
            "deepseek-v3.2-685b",
            "h200-141gb-sxm",
            {"gpu_count": 8, "kv_cache_dtype": "fp8"},
            61 * (656 + 132),
        ),
        ("deepseek-v3.2-685b", "b200-180gb", {"gpu_count": 8}, 61 * (576 + 132)),
        (
            "deepseek-v3.2-685b",
            "h200-141gb-sxm",
            {"gpu_count": 8, "decode_context_parallel": 2},
            61 * (1152 + 2 * 132),
        ),
        ("glm-5", "rtx-5090", {}, 78 * (656 + 132)),
        ("minimax-m3.1-flash", "b200-180gb", {}, 60 * (4 * 144 + 72)),
        ("minimax-m3.1-flash", "b200-180gb", {"gpu_count": 4}, 60 * (144 + 72)),
        ("minimax-m3.1-flash", "h200-141gb-sxm", {}, 60 * (2 * 4 * 128 * 2) + 60 * 128 * 2),
        (
            "minimax-m3.1-flash",
            "h200-141gb-sxm",
            {"kv_cache_dtype": "fp8"},
            60 * (2 * 4 * 128) + 60 * 128,
        ),
        ("step-3.5-flash", "h200-141gb-sxm", {"gpu_count": 8}, 12 * 512 + 0.8 * 33 * 512),
        (
            "step-3.5-flash",
            "h200-141gb-sxm",
            {"gpu_count": 8, "speculative_tokens": 4},
            12 * 512 + 0.8 * 36 * 512,
        ),
        ("deepseek-v4-flash", "h200-141gb-sxm", {}, 3899.25 + 0.1 * 31_875),
        (
            "deepseek-v4-flash",
            "h200-141gb-sxm",
            {"speculative_tokens": 2},
            (3899.25 + 0.1 * 38_595) * 44 / 43,
        ),
        ("deepseek-v4.1-flash-552b-a16b", "b200-180gb", {"gpu_count": 2}, 2.5 * (585 + 68)),
        ("deepseek-v4.1-flash-552b-a16b", "b200-180gb", {}, 2.5 * (288 + 68)),
    ],
)
def test_cells_follow_from_the_layers(model: str, gpu: str, parameters: dict[str, Any], cell: float):
    assert whole(model, gpu, **parameters).token_bytes == pytest.approx(cell, rel=1e-12)


def test_a_reported_server_holds_the_tokens_that_its_pools_say():
    """Qwen3-235B on four ranks: two pools of 8.23 GiB were printed beside 367,404 tokens."""
    pools = [
        whole("qwen3-235b-a22b-instruct-2507", gpu_count=4).pool(int(2 * size * GIB))
        for size in (8.225, 8.235)
    ]
    assert pools[0].tokens <= 367_404 <= pools[1].tokens


def test_the_request_table_grows_with_the_longest_request():
    """Llama 4 Scout at its 10,485,760 tokens: the allocation of 80.04 GiB that issue 5755 reports to fail."""
    asked = ask("llama-4-scout", gpu_count=8, context_tokens=10_485_760)
    assert request_table_bytes(2048, resolve_flags(asked)) / GIB == pytest.approx(80.04, abs=0.005)
    ours = size(asked)
    assert ours.verdict is Verdict.DOES_NOT_FIT
    assert "reserve_too_small" in {note.code for note in ours.reasons}
    assert ours.plan.fullest.compute_buffers > 80 * GIB


def test_states_take_their_share_before_tokens():
    """0.9 of 1.9 of the budget, less the padding slot; five slots for each running request."""
    slot = 153_944_064
    budget = 80 * GIB
    slots = int((budget * 0.9 / 1.9 - slot) // slot)
    assert StatePool(slot, 5).slots(budget) == slots == 263
    assert StatePool(slot, 1, requests=32).slots(budget) == 32
    assert StatePool(slot, 5).bytes(slots) == 264 * slot


@pytest.mark.parametrize("model", HYBRIDS)
def test_state_of_a_sequence_is_the_published_one(model: str):
    assert (
        plan(model, gpu_count=8).state_bytes_per_sequence == expectations()[model]["state_bytes_per_sequence"]
    )


@pytest.mark.parametrize("gpu", ["h200-141gb-sxm", "b200-180gb"])
@pytest.mark.parametrize(
    "model", ["deepseek-v3.2-685b", "glm-5", "glm-5.3", "glm-5.3-flash", "minimax-m3.1-flash"]
)
def test_index_keys_are_those_that_sglang_keeps(model: str, gpu: str):
    """What a token costs beyond keys and values; the published list counts MiniMax's packed pool."""
    entry = expectations()[model]
    index = entry["indexer_bytes_per_token_by_engine"]["sglang"]
    asked = ask(model, gpu, gpu_count=8)
    layers = asked.model.architecture.layers
    bare = replace(
        asked.model.architecture, layers=tuple(replace(layer, index=None) for layer in layers), mtp=()
    )
    flags = replace(resolve_flags(asked), attention_parallel=1, packed=False)
    flags = replace(flags, kv_dtype="bf16")
    with_index = sizer_of(asked.model.architecture, range(len(layers)), flags).full_token
    without = sizer_of(bare, range(len(layers)), flags).full_token
    if model == "minimax-m3.1-flash":
        packed = sizer_of(
            asked.model.architecture, range(len(layers)), replace(flags, packed=True)
        ).full_token
        assert packed - 60 * 4 * 144 == index
    else:
        assert with_index - without == index


def test_attention_data_parallelism_divides_experts_and_copies_attention():
    """Eight ranks: attention and the embedding are whole on each, routed experts and MLPs an eighth."""
    model = "deepseek-v3-0324-671b"
    split = plan(model, gpu_count=8, expert_parallel=8)
    copied = plan(model, gpu_count=8, data_parallel=8, expert_parallel=8)
    architecture = catalog().models[model].architecture
    attention = sum(
        tensor.parameters
        for layer in architecture.layers
        for tensor in layer.tensors
        if tensor.tensor_class.value == "attention"
    )
    added = copied.fullest.weights - split.fullest.weights
    assert 0.5 * attention < added < 1.2 * attention


def test_minimax_needs_a_smaller_chunk_on_large_blackwell_cards():
    """16,384 tokens exceed what its expert kernels take; 8,192 do not, and Hopper has other kernels."""
    refused = size(ask("minimax-m3.1-flash", "b200-180gb", gpu_count=4))
    assert refused.verdict is Verdict.UNSUPPORTED
    assert [note.code for note in refused.reasons] == ["chunk_exceeds_expert_budget"]
    assert plan("minimax-m3.1-flash", "b200-180gb", gpu_count=4, max_batched_tokens=8192).refusals == ()
    assert plan("minimax-m3.1-flash", gpu_count=8, max_batched_tokens=16_384).refusals == ()
    wide = plan("minimax-m3.1-flash", "b200-180gb", max_batched_tokens=8192, kv_cache_dtype="bf16")
    assert [note.code for note in wide.refusals] == ["kv_type_not_for_architecture"]


def test_mxfp8_needs_blackwell():
    assert [n.code for n in plan("qwen3-8b", kv_cache_dtype="mxfp8").refusals] == ["kv_type_not_on_gpu"]
    assert plan("qwen3-8b", "b200-180gb", kv_cache_dtype="mxfp8").refusals == ()


def test_a_class_that_the_release_lacks_is_said():
    """Mistral Large 4 runs from an image of its own; the plan rests on the rules for its layers."""
    ours = plan("mistral-large-4", "b200-180gb", gpu_count=16)
    assert "engine_release_without_class" in {note.code for note in ours.warnings}
    assert ours.evidence["kv_cache"].evidence.value == "estimate"
    assert plan("qwen3-8b").evidence["kv_cache"].evidence.value == "config"


def test_no_more_sequences_than_running_requests():
    """DeepSeek V4 admits 256 requests, a drafting server 48."""
    assert plan("deepseek-v4-flash", gpu_count=8, context_tokens=512).max_concurrent_sequences == 256
    drafting = plan("qwen3-8b", context_tokens=512, speculative_tokens=4, concurrent_sequences=49)
    assert drafting.max_concurrent_sequences == 48
    assert [note.code for note in drafting.shortages] == ["sequences_exceed_running_requests"]


def test_a_ratio_that_keeps_the_pool_from_fitting_is_said():
    """States take 0.9 of 1.9 whatever the load: three long contexts would fit into what lies unused."""
    ours = plan("qwen3.8-27b", context_tokens=262_144, concurrent_sequences=3)
    assert "pool_split_strands" in {note.code for note in ours.warnings}
    assert plan("qwen3.8-27b").warnings == ()


@pytest.mark.parametrize(
    ("declared", "dtype"),
    [
        ({"kv_cache_quant_algo": "FP8"}, "fp8"),
        ({"kv_cache_scheme": {"type": "float", "num_bits": 8}}, "fp8"),
        ({"kv_cache_scheme": {"type": "int", "num_bits": 8}}, "bf16"),
        ({"quant_method": "fp8"}, "bf16"),
    ],
)
def test_a_checkpoint_may_declare_its_cache_type(declared: dict[str, Any], dtype: str):
    """`auto` follows the quantization of the cache, never that of the weights."""
    config = {**models()["qwen3-8b"]["config"], "quantization_config": declared}
    assert auto_dtype(parse(config), Generation.HOPPER) == dtype


def test_tp_size_with_attention_dp_counts_the_same_gpus_once():
    """`--tp-size 8 --attn-dp-size 8` is one node of 8, whose attention is not split (A = 8 / 8)."""
    spelt = ask("qwen3-235b-a22b-instruct-2507", gpu_count=8, tensor_parallel=8, data_parallel=8)
    plain = ask("qwen3-235b-a22b-instruct-2507", gpu_count=8, data_parallel=8)
    assert spelt.gpu_count == 8
    assert spelt.layout == plain.layout
    assert (spelt.layout.tensor, spelt.layout.data) == (1, 8)
    alone = ask("qwen3-235b-a22b-instruct-2507", tensor_parallel=8, data_parallel=8)
    assert alone.layout == plain.layout
    assert "gpu_count" in alone.defaulted  # it follows from the degrees, the caller did not give it
    # 94 layers x 4 KV heads x 2 x 128 x 2 B, no longer divided by 8 ranks of 1 head each
    assert plan("qwen3-235b-a22b-instruct-2507", gpu_count=8, data_parallel=8).kv_bytes_per_token == 192_512
