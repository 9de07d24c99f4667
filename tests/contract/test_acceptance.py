"""The questions that no existing tool gets all right, asked over HTTP."""

from typing import Any

import pytest
from flask.testing import FlaskClient

GIB = 2**30


def sizing(client: FlaskClient, **parameters: Any) -> dict[str, Any]:
    response = client.get("/v1/sizing", query_string=parameters)
    assert response.status_code == 200, response.text
    return dict(response.get_json())


def test_kimi_k31_pro_in_q4_k_m_on_one_h20(client: FlaskClient):
    """24 DSA layers x (576 + 128) x 2 B; 69 KDA layers x (110,592 + 1,572,864) x 4 B; weights by recipe."""
    answer = sizing(
        client, model="kimi-k3.1-pro", gpu="h20-141gb", quantization="q4_k_m", context_tokens=8192
    )
    memory = answer["memory"]
    assert memory["kv_bytes_per_token"] == 24 * (576 + 128) * 2 == 33_792
    assert memory["state_bytes_per_sequence"] == 69 * (110_592 + 1_572_864) * 4 == 464_633_856
    assert memory["kv_cache"]["bytes"] == 33_792 * 8192
    assert memory["weights"]["bytes"] / GIB == pytest.approx(1566.2, rel=0.001)
    assert answer["fit"]["verdict"] == "does_not_fit"
    assert 12 <= answer["limits"]["min_gpu_count"] <= 16
    assert answer["speed"] is None
    assert answer["cost"] is None


def test_kimi_k31_pro_native_on_vllm(client: FlaskClient):
    """Only the routed experts are MXFP4 (4.25 bits); index keys are 132 B of FP8; conv state is bf16."""
    answer = sizing(
        client,
        model="kimi-k3.1-pro",
        gpu="h20-141gb",
        engine="vllm",
        quantization="native",
        context_tokens=8192,
    )
    memory = answer["memory"]
    assert memory["weights"]["bytes"] == 1_561_195_115_712
    assert memory["kv_bytes_per_token"] == 24 * (1152 + 132) == 30_816
    assert memory["state_bytes_per_sequence"] == 69 * (110_592 * 2 + 1_572_864 * 4) == 449_372_160
    assert answer["fit"]["verdict"] == "does_not_fit"


@pytest.mark.parametrize(
    ("model", "engine", "dtype", "per_token"),
    [
        ("llama-3.1-8b-instruct", "llama.cpp", "fp16", 32 * 2 * 8 * 128 * 2),
        ("llama-3.1-8b-instruct", "vllm", "bf16", 131_072),
        ("qwen3-30b-a3b-instruct-2507", "llama.cpp", "fp16", 48 * 2 * 4 * 128 * 2),
        ("qwen3-30b-a3b-instruct-2507", "vllm", "bf16", 98_304),
        ("deepseek-v3-0324-671b", "vllm", "bf16", 61 * 576 * 2),
        ("deepseek-v3-0324-671b", "vllm", "fp8", 35_136),
        ("gemma-3-27b-it", "llama.cpp", "fp16", 10 * 2 * 16 * 128 * 2),
        ("qwen3-coder-next-80b-a3b", "vllm", "bf16", 12 * 2 * 2 * 256 * 2),
        ("nemotron-3-nano-30b-a3b", "llama.cpp", "fp16", 6 * 2 * 2 * 128 * 2),
    ],
)
def test_bytes_per_token(client: FlaskClient, model: str, engine: str, dtype: str, per_token: int):
    answer = sizing(
        client,
        model=model,
        gpu="h200-141gb-sxm",
        engine=engine,
        quantization="bf16",
        kv_cache_dtype=dtype,
    )
    assert answer["memory"]["kv_bytes_per_token"] == per_token


@pytest.mark.parametrize(
    ("model", "engine", "state"),
    [
        ("qwen3-coder-next-80b-a3b", "llama.cpp", 36 * (24_576 + 524_288) * 4),
        ("qwen3-coder-next-80b-a3b", "vllm", 36 * (24_576 + 524_288) * 2),
        ("nemotron-3-nano-30b-a3b", "vllm", 23 * (3 * 6144 * 2 + 64 * 64 * 128 * 4)),
        ("nemotron-3-nano-30b-a3b", "llama.cpp", 23 * (3 * 6144 + 64 * 64 * 128) * 4),
        ("llama-3.1-8b-instruct", "vllm", 0),
    ],
)
def test_state_per_sequence(client: FlaskClient, model: str, engine: str, state: int):
    answer = sizing(client, model=model, gpu="h200-141gb-sxm", engine=engine, quantization="bf16")
    assert answer["memory"]["state_bytes_per_sequence"] == state


@pytest.mark.parametrize("count", [1, 8])
def test_a_latent_is_copied_to_every_rank(client: FlaskClient, count: int):
    """DeepSeek V3 at 128K tokens holds 70,272 B x 131,072 = 8.58 GiB on each of eight GPUs."""
    answer = sizing(
        client,
        model="deepseek-v3-0324-671b",
        gpu="h200-141gb-sxm",
        gpu_count=count,
        engine="vllm",
        quantization="native",
        kv_cache_dtype="bf16",
        context_tokens=131_072,
    )
    assert answer["per_gpu"]["kv_cache"]["bytes"] == 70_272 * 131_072
    assert answer["memory"]["kv_cache"]["bytes"] == count * 70_272 * 131_072


def test_gemma_3_has_10_full_and_52_sliding_layers(client: FlaskClient):
    model = client.get("/v1/models/gemma-3-27b-it").get_json()
    groups = {group["kind"]: group["count"] for group in model["layer_groups"]}
    assert groups == {"full_attention": 10, "sliding_window_attention": 52}


def test_three_tensor_parallel_ranks_of_32_heads(client: FlaskClient):
    response = client.get(
        "/v1/sizing",
        query_string={
            "model": "llama-3.1-8b-instruct",
            "gpu": "h100-80gb-sxm",
            "engine": "vllm",
            "gpu_count": 3,
            "tensor_parallel": 3,
        },
    )
    assert response.status_code == 422
    assert response.content_type == "application/problem+json"
    error = response.get_json()["errors"][0]
    assert error["parameter"] == "tensor_parallel"
    assert error["allowed"] == [1, 2, 4, 8, 16, 32]


@pytest.mark.parametrize(
    ("language", "word"), [("de", "gpu_cuont"), ("zh", "gpu_cuont"), ("en", "gpu_cuont")]
)
def test_a_misspelt_parameter_is_named_in_the_callers_language(client: FlaskClient, language: str, word: str):
    response = client.get(
        "/v1/sizing",
        query_string={"model": "qwen3-8b", "gpu": "rtx-4090", word: 2},
        headers={"Accept-Language": language},
    )
    assert response.status_code == 422
    assert response.headers["Content-Language"].startswith(language)
    problem = response.get_json()
    assert problem["errors"][0]["parameter"] == word
    assert "gpu_count" in problem["errors"][0]["message"]


def test_an_unknown_model_is_a_404_with_suggestions(client: FlaskClient):
    response = client.get("/v1/sizing", query_string={"model": "kimi-k3.1-por", "gpu": "h20-141gb"})
    assert response.status_code == 404
    assert response.get_json()["suggestions"][0] == "kimi-k3.1-pro"
