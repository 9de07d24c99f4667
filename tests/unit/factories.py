"""Hand-made facts and answers, small enough to check by eye."""

from dataclasses import replace
from typing import Any

from service.core.architecture.caches import KeyValueCache
from service.core.architecture.model import Architecture, FeedForward, Layer, LayerKind
from service.core.architecture.tensors import Split, Tensor, TensorClass
from service.core.catalogued import Model, Support
from service.core.evidence import Evidence
from service.core.hardware import EngineOnGpu, Gpu, GpuKind, Platform, Tflops
from service.core.scenario import Layout, Scenario
from service.core.sizing import EnginePlan, Limits, Memory, Note, Rank, Sizing, Sourced, Verdict

MIB = 2**20
GIB = 2**30


def make_architecture(**changes: Any) -> Architecture:
    """Two dense layers of grouped-query attention: 2 KV heads of 64, 4,096 tokens of context."""
    layer = Layer(
        kind=LayerKind.FULL,
        feed_forward=FeedForward.DENSE,
        tensors=(
            Tensor("attn_q.weight", (512, 512), TensorClass.ATTENTION, Split.SHARDED, linear=True),
            Tensor("attn_k.weight", (128, 512), TensorClass.ATTENTION, Split.KV_HEADS, linear=True),
            Tensor("attn_v.weight", (128, 512), TensorClass.ATTENTION, Split.KV_HEADS, linear=True),
            Tensor("attn_output.weight", (512, 512), TensorClass.ATTENTION, Split.SHARDED, linear=True),
            Tensor("ffn_up.weight", (2048, 512), TensorClass.DENSE_FFN, Split.SHARDED, linear=True),
            Tensor("ffn_down.weight", (512, 2048), TensorClass.DENSE_FFN, Split.SHARDED, linear=True),
        ),
        cache=KeyValueCache(heads=2, key_dim=64, value_dim=64),
    )
    base = Architecture(
        engine_class="LlamaForCausalLM",
        model_type="llama",
        gguf_architecture="llama",
        hidden_size=512,
        vocabulary=1024,
        max_context_tokens=4096,
        attention_heads=8,
        kv_heads=2,
        head_dim=64,
        dense_width=2048,
        tied=True,
        outer=(Tensor("token_embd.weight", (1024, 512), TensorClass.EMBEDDING, Split.VOCABULARY),),
        layers=(layer, layer),
    )
    return replace(base, **changes)


def make_model(**changes: Any) -> Model:
    """A small dense model that llama.cpp runs."""
    base = Model(
        id="small-1b",
        name="Small 1B",
        family="Small",
        publisher="Example",
        hf_repo="example/small-1b",
        architecture=make_architecture(),
        parameters_total=1_500_000_000,
        parameters_active=1_500_000_000,
        parameters_exact=True,
        evidence="verified",
        sources=("https://example.org/small-1b",),
        support={"llama.cpp": Support("yes")},
    )
    return replace(base, **changes)


def make_gpu(**changes: Any) -> Gpu:
    """A datacenter GPU of exactly 24 GiB."""
    base = Gpu(
        id="card-24gb",
        name="Card 24GB",
        vendor="NVIDIA",
        family="Example",
        kind=GpuKind.DATACENTER,
        memory_bytes=24 * GIB,
        memory_evidence=Evidence.CHECKPOINT,
        label_gb=24,
        memory_bandwidth_gbs=1000.0,
        tflops=Tflops(fp16=100.0),
        tdp_watts=300,
        interconnect="PCIe",
        interconnect_gbs=64.0,
        max_per_node=8,
        engines=(EngineOnGpu("llama.cpp", "cuda"),),
        evidence="documented",
        sources=("https://example.org/card-24gb",),
    )
    return replace(base, **changes)


def make_scenario(**changes: Any) -> Scenario:
    """One sequence of 8,192 tokens on one GPU with llama.cpp."""
    base = Scenario(
        model=make_model(),
        gpu=make_gpu(),
        gpu_count=1,
        engine="llama.cpp",
        backend="cuda",
        platform=Platform.LINUX_SERVER,
        quantization="q4_k_m",
        kv_cache_dtype="fp16",
        kv_cache_dtype_v="fp16",
        context_tokens=8192,
        concurrent_sequences=1,
        layout=Layout(split="layer"),
        max_batched_tokens=512,
        defaulted=("gpu_count", "engine"),
    )
    return replace(base, **changes)


def make_plan(**changes: Any) -> EnginePlan:
    """10 GiB of weights, 2 of cache, 1 of state, 512 MiB of buffers and of overhead; 20 GiB usable."""
    base = EnginePlan(
        ranks=(Rank(1, Memory(10 * GIB, 2 * GIB, 1 * GIB, 512 * MIB, 512 * MIB)),),
        host_bytes=256 * MIB,
        kv_bytes_per_token=262_144,
        kv_window_bytes_per_sequence=0,
        state_bytes_per_sequence=1 * GIB,
        usable_bytes=20 * GIB,
        kv_cache_capacity_tokens=32_768,
        max_context_tokens=32_768,
        max_concurrent_sequences=4,
        evidence={"weights": Sourced(Evidence.RECIPE, "llama.cpp src/llama-quant.cpp")},
    )
    return replace(base, **changes)


def make_sizing(**changes: Any) -> Sizing:
    """14 GiB of 20 usable GiB: it fits with 6 GiB to spare, at 70 %."""
    base = Sizing(
        scenario=make_scenario(),
        plan=make_plan(),
        verdict=Verdict.FITS,
        headroom_bytes=6 * GIB,
        utilization=0.7,
        reasons=(),
        warnings=(Note("estimated_native_weights"),),
        limits=Limits(32_768, 4, 32_768, 1),
    )
    return replace(base, **changes)
