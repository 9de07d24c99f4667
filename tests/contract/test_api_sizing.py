"""`/v1/sizing`: the shape of the core answer, and that GET and POST are one resource."""

import json

import pytest

QUESTION = {"model": "qwen3-8b", "gpu": "rtx-4090"}
TOP_LEVEL = [
    "scenario",
    "model",
    "gpu",
    "memory",
    "per_gpu",
    "fit",
    "limits",
    "speed",
    "cost",
    "measured",
    "warnings",
    "evidence",
    "versions",
]
TERMS = ["weights", "kv_cache", "recurrent_state", "compute_buffers", "runtime_overhead"]
PARAMETERS = {
    "model",
    "gpu",
    "gpu_count",
    "engine",
    "backend",
    "platform",
    "quantization",
    "kv_cache_dtype",
    "kv_cache_dtype_v",
    "context_tokens",
    "concurrent_sequences",
    "prompt_tokens",
    "output_tokens",
    "tensor_parallel",
    "pipeline_parallel",
    "expert_parallel",
    "data_parallel",
    "decode_context_parallel",
    "cpu_offload_percent",
    "system_memory_gib",
    "reserved_memory_bytes",
    "vision",
    "memory_utilization",
    "kv_cache_memory_bytes",
    "max_batched_tokens",
    "prefix_caching",
    "speculative_tokens",
    "hours_per_day",
    "electricity_usd_per_kwh",
    "hardware_budget_usd",
    "currency",
    "lang",
    "explain",
}


def sized(client, **parameters):
    answer = client.get("/v1/sizing", query_string={**QUESTION, **parameters})
    assert answer.status_code == 200, answer.get_data(as_text=True)
    return answer.json


def test_answer_has_every_part_of_the_contract(client):
    """A sizing has exactly the documented top-level fields; `trace` comes only with explain=true."""
    assert list(sized(client)) == TOP_LEVEL
    assert "trace" in sized(client, explain="true")


def test_scenario_names_every_parameter_and_what_was_defaulted(client):
    """The scenario repeats every parameter with the value used; `defaulted` lists those not given."""
    scenario = sized(client, context_tokens=4096)["scenario"]
    assert set(scenario) == PARAMETERS | {"defaulted"}
    assert scenario["context_tokens"] == 4096
    assert "context_tokens" not in scenario["defaulted"]
    assert "gpu_count" in scenario["defaulted"]
    assert scenario["gpu_count"] == 1


@pytest.mark.parametrize("part", ["memory", "per_gpu"])
def test_total_is_the_sum_of_its_terms(client, part):
    """Memory totals are exact sums of the printed terms."""
    memory = sized(client)[part]
    assert memory["total"]["bytes"] == sum(memory[term]["bytes"] for term in TERMS)


def test_amounts_are_bytes_and_gib_of_two_places(client):
    """An amount's GiB are its bytes divided by 2**30, rounded to two places."""
    amount = sized(client)["gpu"]["memory"]
    assert set(amount) == {"bytes", "gib"}
    assert amount["gib"] == round(amount["bytes"] / 1_073_741_824, 2)


def test_cache_per_token_is_the_architectures(client):
    """Qwen3-8B keeps 36 layers x 8 KV heads x (128 + 128) x 2 bytes = 147,456 bytes a token."""
    memory = sized(client, kv_cache_dtype="fp16")["memory"]
    assert memory["kv_bytes_per_token"] == 36 * 8 * (128 + 128) * 2
    assert memory["kv_cache"]["bytes"] == 147_456 * 8192


def test_headroom_and_utilization_belong_together(client):
    """Headroom is usable less the fullest GPU's total, utilization their exact ratio."""
    answer = sized(client)
    usable, total = answer["fit"]["usable"]["bytes"], answer["per_gpu"]["total"]["bytes"]
    assert answer["fit"]["headroom"]["bytes"] == usable - total
    assert answer["fit"]["utilization"] == pytest.approx(total / usable, rel=1e-12)
    assert answer["fit"]["verdict"] == "fits"


def test_too_large_model_says_why_and_still_has_numbers(client):
    """A model that does not fit gets its memory, a negative headroom and a reason, but no speed."""
    answer = sized(client, model="llama-3.3-70b-instruct", quantization="bf16")
    assert answer["fit"]["verdict"] == "does_not_fit"
    assert answer["fit"]["headroom"]["bytes"] < 0
    assert answer["fit"]["reasons"][0]["code"] == "weights_exceed_memory"
    assert answer["fit"]["reasons"][0]["message"]
    assert answer["memory"]["weights"]["bytes"] > 0
    assert answer["speed"] is None
    assert answer["cost"] is None


def test_missing_estimates_are_warnings_not_silence(client):
    """Weights in system RAM of unknown bandwidth: it runs, has no speed, and a warning says why."""
    answer = sized(client, cpu_offload_percent="20")
    assert answer["fit"]["verdict"] == "fits"
    assert answer["speed"] is None
    assert "host_bandwidth_unknown" in {warning["code"] for warning in answer["warnings"]}


def test_every_term_has_evidence_and_source(client):
    """Evidence names each memory term with one of the documented levels and a source."""
    evidence = sized(client)["evidence"]
    assert set(TERMS) - {"recurrent_state"} <= set(evidence)
    levels = {"checkpoint", "config", "recipe", "calibrated", "estimate", "unknown"}
    assert all(entry["evidence"] in levels and entry["source"] for entry in evidence.values())


def test_versions_name_service_data_and_engine(client, catalog):
    """An answer says which code, data and engine version it comes from."""
    versions = sized(client)["versions"]
    assert versions["data_digest"] == catalog.digest
    assert versions["engine"] == "llama.cpp"
    assert versions["service"]
    assert versions["engine_version"]


def test_post_answers_as_get(client):
    """The same parameters as a JSON body give the same answer."""
    question = {**QUESTION, "context_tokens": 16384, "engine": "vllm", "vision": False, "lang": "de"}
    posted = client.post("/v1/sizing", json=question)
    query = {
        name: str(value).lower() if isinstance(value, bool) else value for name, value in question.items()
    }
    assert posted.status_code == 200
    assert posted.json == client.get("/v1/sizing", query_string=query).json


def test_null_in_a_body_means_not_given(client):
    """A null in a JSON body counts as left out."""
    posted = client.post("/v1/sizing", json={**QUESTION, "engine": None, "system_memory_gib": None})
    assert posted.json == sized(client)


def test_body_that_is_not_cached_says_so(client):
    """A POST's answer is not stored by caches."""
    assert client.post("/v1/sizing", json=QUESTION).headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("name", ["qwen3-8b", "QWEN3-8B", "Qwen/Qwen3-8B", "qwen/qwen3-8b"])
def test_models_answer_to_id_and_repository_in_any_case(client, name):
    """A model is found by id and by Hugging Face repository, in any case."""
    assert sized(client, model=name)["model"]["id"] == "qwen3-8b"


def test_posted_gpu_is_sized_with_its_own_memory(client):
    """`gpu_spec` describes an accelerator that no catalog has; its memory is taken in GiB."""
    spec = {"name": "Prototype", "memory_gib": 96, "memory_bandwidth_gbs": 1800, "fp16_tflops": 200}
    answer = client.post("/v1/sizing", json={"model": "qwen3-8b", "gpu_spec": spec, "engine": "vllm"})
    assert answer.status_code == 200
    assert answer.json["gpu"]["name"] == "Prototype"
    assert answer.json["gpu"]["memory"] == {"bytes": 96 * 2**30, "gib": 96.0}


def test_posted_config_is_sized_like_the_catalog_model(client, catalog):
    """A posted config.json goes through the catalog's parser: the same cache and weights."""
    config = json.loads(json.dumps(catalog.model_files["qwen3-8b"]["config"], default=_plain))
    posted = client.post("/v1/sizing", json={"model_config": config, "gpu": "rtx-4090"})
    assert posted.status_code == 200, posted.get_data(as_text=True)
    catalogued = sized(client)["memory"]
    for term in ("weights", "kv_cache", "recurrent_state", "host", "kv_bytes_per_token"):
        assert posted.json["memory"][term] == catalogued[term]
    assert posted.json["model"]["parameters_total"] == 8_190_735_360  # of Qwen/Qwen3-8B's tensors


def _plain(value):
    return list(value) if isinstance(value, tuple) else dict(value)


def test_absurd_but_valid_scenario_is_answered(client):
    """Numbers beyond 64 bits are written out in full instead of failing."""
    answer = sized(
        client,
        model="llama-3.1-405b-instruct",
        context_tokens=2**24,
        concurrent_sequences=65_536,
        gpu_count=16,
    )
    assert answer["memory"]["kv_cache"]["bytes"] > 0
