"""Layouts: given degrees stand, the rest follows, and what cannot be is named with what can."""

from types import SimpleNamespace
from typing import Any

import pytest

from service.core.architecture.model import Architecture, Experts, NativeFormat, ParallelDimension
from service.core.architecture.tensors import TensorClass
from service.core.layout import choose_layout, experts_need_whole, valid_degrees
from service.core.request import Request
from service.errors import InvalidParameters


def architecture(
    heads: int = 32, kv_heads: int = 8, experts: Experts | None = None, **extra: Any
) -> Architecture:
    dimensions = [ParallelDimension("attention_heads", heads), ParallelDimension("kv_heads", kv_heads, True)]
    return Architecture(
        engine_class="X",
        model_type="x",
        gguf_architecture=None,
        hidden_size=4096,
        vocabulary=32_000,
        max_context_tokens=8192,
        attention_heads=heads,
        kv_heads=kv_heads,
        head_dim=128,
        dense_width=14_336,
        tied=False,
        outer=(),
        layers=(None,) * 32,  # type: ignore[arg-type]
        experts=experts,
        parallel_dimensions=tuple(dimensions),
        **extra,
    )


def ask(arch: Architecture, max_per_node: int = 8, **parameters: Any) -> Request:
    model: Any = SimpleNamespace(architecture=arch)
    gpu: Any = SimpleNamespace(max_per_node=max_per_node)
    return Request(model=model, gpu=gpu, **parameters)


def layout(
    arch: Architecture, quantization: str = "bf16", **parameters: Any
) -> tuple[int, int, int, int, int]:
    count, chosen = choose_layout(ask(arch, **parameters), quantization, "vllm", splits_layers=False)
    return count, chosen.tensor, chosen.pipeline, chosen.expert, chosen.data


def refusal(arch: Architecture, **parameters: Any) -> Any:
    with pytest.raises(InvalidParameters) as caught:
        layout(arch, **parameters)
    return caught.value.errors[0]


def test_kv_heads_may_be_copied_but_not_broken():
    """8 KV heads serve 16 ranks twice each; 3 ranks cannot share them, nor 32 heads."""
    assert valid_degrees(architecture(), 64) == (1, 2, 4, 8, 16, 32)
    assert valid_degrees(architecture(heads=96, kv_heads=96), 16) == (1, 2, 3, 4, 6, 8, 12, 16)


def test_tensor_parallel_first_then_pipeline():
    """16 GPUs of an 8-GPU node: TP 8 x PP 2; 6 GPUs with 32 heads: TP 2 x PP 3."""
    assert layout(architecture(), gpu_count=16) == (16, 8, 2, 1, 1)
    assert layout(architecture(), gpu_count=6) == (6, 2, 3, 1, 1)
    assert layout(architecture(), gpu_count=1) == (1, 1, 1, 1, 1)


def test_a_node_of_four_caps_the_degree():
    assert layout(architecture(), gpu_count=8, max_per_node=4) == (8, 4, 2, 1, 1)


def test_a_given_degree_stands_and_the_rest_follows():
    assert layout(architecture(), gpu_count=8, tensor_parallel=2) == (8, 2, 4, 1, 1)
    assert layout(architecture(), gpu_count=8, pipeline_parallel=2) == (8, 4, 2, 1, 1)
    assert layout(architecture(), gpu_count=8, data_parallel=2) == (8, 4, 1, 1, 2)


def test_the_count_follows_from_the_degrees_when_it_is_not_given():
    assert layout(architecture(), tensor_parallel=8, pipeline_parallel=2) == (16, 8, 2, 1, 1)


def test_three_ranks_of_32_heads_are_refused_with_the_valid_degrees():
    error = refusal(architecture(), gpu_count=3, tensor_parallel=3)
    assert (error.parameter, error.code) == ("tensor_parallel", "does_not_divide")
    assert error.allowed == (1, 2, 4, 8, 16, 32)


def test_degrees_that_do_not_make_up_the_count_are_refused():
    assert refusal(architecture(), gpu_count=6, tensor_parallel=4).parameter == "tensor_parallel"
    assert (
        refusal(architecture(), gpu_count=8, tensor_parallel=2, pipeline_parallel=2).code == "layout_product"
    )


def test_more_stages_than_layers_are_refused():
    error = refusal(architecture(), gpu_count=33, tensor_parallel=1)
    assert (error.code, error.values) == ("more_stages_than_layers", {"stages": 33, "layers": 32})


def test_experts_stay_whole_where_a_slice_would_break_a_block():
    """FP8 blocks hold 128 rows: an expert of 1,536 gives 8 ranks 192 rows each, 4 ranks 384 = 3 blocks."""
    native = NativeFormat("fp8", {TensorClass.ROUTED_EXPERTS: "fp8_block_128"})
    arch = architecture(experts=Experts(256, 8, 1536), native=native)
    assert experts_need_whole(arch, "native", 8)
    assert not experts_need_whole(arch, "native", 4)
    assert not experts_need_whole(arch, "bf16", 8)
    assert layout(arch, "native", gpu_count=8)[3] == 8
    assert layout(arch, "bf16", gpu_count=8)[3] == 1


def test_narrow_mxfp4_experts_stay_whole():
    """vLLM pads MXFP4 experts narrower than 256 on a rank: 3,072 over 16 ranks is 192."""
    native = NativeFormat("mxfp4", {TensorClass.ROUTED_EXPERTS: "mxfp4"})
    arch = architecture(96, 96, experts=Experts(896, 16, 3072), native=native)
    assert experts_need_whole(arch, "native", 16)
    assert not experts_need_whole(arch, "native", 8)


def test_expert_parallelism_needs_experts_and_all_ranks():
    assert refusal(architecture(), gpu_count=2, expert_parallel=2).allowed == (1,)
    moe = architecture(experts=Experts(64, 8, 1024))
    assert refusal(moe, gpu_count=8, expert_parallel=4).allowed == (1, 8)
    assert layout(moe, gpu_count=8, expert_parallel=8) == (8, 8, 1, 8, 1)


def test_layer_splitting_engines_have_no_tensor_degree():
    with pytest.raises(InvalidParameters) as caught:
        choose_layout(
            ask(architecture(), gpu_count=2, tensor_parallel=2), "q4_k_m", "llama.cpp", splits_layers=True
        )
    assert caught.value.errors[0].code == "not_supported_by_engine"
    count, chosen = choose_layout(ask(architecture(), gpu_count=3), "q4_k_m", "llama.cpp", splits_layers=True)
    assert (count, chosen.tensor, chosen.pipeline, chosen.split) == (3, 1, 3, "layer")


def test_a_degree_that_no_engine_takes_is_answered_with_the_degrees_of_the_model():
    """llama.cpp has no tensor degree, and 32 heads do not divide by 3 anywhere: both are said."""
    with pytest.raises(InvalidParameters) as caught:
        choose_layout(ask(architecture(), tensor_parallel=3), "q4_k_m", "llama.cpp", splits_layers=True)
    first, second = caught.value.errors
    assert (first.code, first.allowed) == ("does_not_divide", (1, 2, 4, 8, 16, 32))
    assert (second.code, second.allowed) == ("not_supported_by_engine", (1,))
