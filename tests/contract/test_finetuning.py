"""`/v1/finetuning` and the `finetuning` section."""

import json

import pytest

QUESTION = {"model": "llama-3.1-8b-instruct", "gpu": "rtx-4090"}
PARAMETERS = 8_030_261_248
TERMS = [
    "weights",
    "adapters",
    "gradients",
    "optimizer",
    "activations",
    "gathered_weights",
    "dequantization",
    "runtime_overhead",
]


def answered(client, path="/v1/finetuning", **parameters):
    answer = client.get(path, query_string=parameters)
    assert answer.status_code == 200, answer.get_data(as_text=True)
    return answer.json


def of_method(client, method, **parameters):
    (found,) = answered(client, **{**QUESTION, **parameters, "method": method})["methods"]
    return found


def test_all_three_methods_are_answered_by_default(client):
    """Full, LoRA and QLoRA, with the defaults of the contract."""
    answer = answered(client, **QUESTION)
    assert [method["method"] for method in answer["methods"]] == ["full", "lora", "qlora"]
    scenario = answer["scenario"]
    assert scenario["rank"] == 16
    assert scenario["targets"] == ["all-linear"]
    assert (scenario["sequence_tokens"], scenario["micro_batch"]) == (2048, 1)
    assert (scenario["optimizer"], scenario["gradient_checkpointing"]) == ("adamw", True)
    assert (scenario["zero_stage"], scenario["gpu_count"], scenario["method"]) == (3, 1, "all")
    assert {"rank", "method", "gpu_count"} <= set(scenario["defaulted"])


def test_totals_are_sums_over_terms_and_gpus(client):
    """`total` is the sum of the terms; `memory` is `per_gpu` times the GPUs."""
    for method in answered(client, **QUESTION, gpu_count=4)["methods"]:
        for part in ("memory", "per_gpu"):
            amounts = method[part]
            assert amounts["total"]["bytes"] == sum(amounts[term]["bytes"] for term in TERMS)
        assert method["memory"]["total"]["bytes"] == 4 * method["per_gpu"]["total"]["bytes"]


def test_full_takes_sixteen_bytes_a_parameter(client):
    full = of_method(client, "full")
    states = sum(full["per_gpu"][term]["bytes"] for term in ("weights", "gradients", "optimizer"))
    assert states == 16 * PARAMETERS
    assert full["trainable_parameters"] == full["parameters"] == PARAMETERS
    assert full["fit"]["verdict"] == "does_not_fit"
    assert full["min_gpu_count"] > 1


def test_adapters_have_the_published_count(client):
    """41,943,040 at rank 16 on all linear layers; half of it at rank 8."""
    assert of_method(client, "lora")["trainable_parameters"] == 41_943_040
    assert of_method(client, "qlora", rank=8)["trainable_parameters"] == 41_943_040 // 2


@pytest.mark.parametrize("targets", ["q_proj,v_proj", " v_proj , q_proj"])
def test_targets_may_be_named(client, targets):
    found = of_method(client, "lora", targets=targets)
    assert found["trainable_parameters"] == 16 * 32 * ((4096 + 4096) + (4096 + 1024))


def test_targets_are_a_list_in_json(client):
    body = {**QUESTION, "method": "lora", "targets": ["q_proj", "v_proj"]}
    answer = client.post("/v1/finetuning", json=body)
    assert answer.json["methods"][0]["trainable_parameters"] == 16 * 32 * (8192 + 5120)


def test_each_lever_works_in_its_direction(client):
    """Longer sequences, larger batches and no checkpointing cost memory; 8-bit states save it."""
    base = of_method(client, "lora")["per_gpu"]["total"]["bytes"]
    assert of_method(client, "lora", sequence_tokens=4096)["per_gpu"]["total"]["bytes"] > base
    assert of_method(client, "lora", micro_batch=2)["per_gpu"]["total"]["bytes"] > base
    assert of_method(client, "lora", gradient_checkpointing="false")["per_gpu"]["total"]["bytes"] > base
    assert of_method(client, "lora", optimizer="adamw-8bit")["per_gpu"]["total"]["bytes"] < base


def test_an_accelerator_is_optional(client):
    """Without one there are amounts and the smallest hardware, but no verdict."""
    answer = answered(client, model="qwen3-8b")
    assert answer["scenario"]["gpu"] is None
    for method in answer["methods"]:
        assert method["fit"] is None
        assert method["smallest_hardware"]["gpu_count"] >= 1


def test_a_posted_model_and_accelerator(client, catalog):
    """The same config gives the same parameters; a card of 96 GiB holds LoRA of 8B."""
    published = catalog.model_files["llama-3.1-8b-instruct"]["config"]
    config = json.loads(json.dumps(published, default=dict))
    spec = {"name": "P", "memory_gib": 96, "memory_bandwidth_gbs": 1800, "fp16_tflops": 200}
    body = {"model_config": config, "gpu_spec": spec, "method": "lora"}
    answer = client.post("/v1/finetuning", json=body)
    assert answer.status_code == 200, answer.get_data(as_text=True)
    (method,) = answer.json["methods"]
    assert method["parameters"] == PARAMETERS
    assert method["fit"]["verdict"] == "fits"


@pytest.mark.parametrize(
    ("parameters", "parameter"),
    [
        ({"method": "dora"}, "method"),
        ({"optimizer": "sgd"}, "optimizer"),
        ({"rank": 0}, "rank"),
        ({"zero_stage": 4}, "zero_stage"),
        ({"targets": "q_prj"}, "targets"),
        ({"targets": "q_proj,,"}, "targets"),
        ({"gradient_checkpointing": "perhaps"}, "gradient_checkpointing"),
        ({"ranks": 8}, "ranks"),
        ({"quantization": "q4_9"}, "quantization"),
        ({"gpu_count": 0}, "gpu_count"),
    ],
)
def test_wrong_parameters_are_named(client, parameters, parameter):
    """422 with the parameter, and a sentence that is not its code."""
    answer = client.get("/v1/finetuning", query_string={**QUESTION, **parameters})
    assert answer.status_code == 422
    (error,) = answer.json["errors"]
    assert error["parameter"] == parameter
    assert error["message"] != error["code"]


def test_unknown_names_get_suggestions(client):
    answer = client.get("/v1/finetuning", query_string={"model": "llama-3.1-8b-instrukt"})
    assert answer.status_code == 404
    assert "llama-3.1-8b-instruct" in answer.json["suggestions"]


def test_get_answers_are_cacheable_and_localized(client):
    """A strong ETag that is confirmed, and notes in the language."""
    path = "/v1/finetuning?model=qwen3-30b-a3b-instruct-2507&method=qlora&lang=de"
    first = client.get(path)
    assert first.headers["Content-Language"] == "de"
    assert client.get(path, headers={"If-None-Match": first.headers["ETag"]}).status_code == 304
    messages = [note["message"] for note in first.json["methods"][0]["notes"]]
    assert any("bitsandbytes quantisiert nur" in message for message in messages)


@pytest.mark.parametrize("lang", ["de", "zh", "en"])
def test_section_says_what_fits(client, lang):
    """QLoRA of 8B fits one RTX 4090, full fine-tuning does not; all three stand in the table."""
    data = answered(client, "/v1/fragments/finetuning", **QUESTION, lang=lang)
    verdicts = {method["method"]: method["fit"]["verdict"] for method in data["methods"]}
    assert (verdicts["full"], verdicts["qlora"]) == ("does_not_fit", "fits")
    page = client.get(
        "/v1/fragments/finetuning", query_string={**QUESTION, "lang": lang}, headers={"Accept": "text/html"}
    ).get_data(as_text=True)
    assert page.count("<tr") >= 13
    assert {"de": "41.943.040", "zh": "41,943,040", "en": "41,943,040"}[lang] in page


def test_section_of_hardware_that_does_not_exist_has_amounts_only(client):
    """A Mac that was never sold: the amounts, and that its memory is not known."""
    answer = answered(
        client, "/v1/fragments/finetuning", model="qwen3-8b", gpu="mac-studio-m4-ultra-256gb", lang="en"
    )
    assert "so only the amounts are given" in " ".join(answer["sentences"])
