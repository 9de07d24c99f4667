"""Models and accelerators that a POST describes: the catalog's answers, labelled guesses, or a refusal."""

import json
import random
from math import isfinite
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from service.catalog import Catalog
from service.render.registry import SECTIONS
from tests.mutations import mutated
from tests.published import models

GPU = "h200-141gb-sxm"
UNKNOWN: dict[str, Any] = {
    "architectures": ["SomethingNewForCausalLM"],
    "model_type": "something_new",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "tie_word_embeddings": False,
}
SPEC = {"name": "Card", "memory_gib": 79.65, "memory_bandwidth_gbs": 3350, "fp16_tflops": 989}
GGUF = (Path(__file__).parents[1] / "data" / "tiny-llama.gguf-header").read_bytes()


def post(client: FlaskClient, path: str = "/v1/sizing", /, **body: Any) -> Any:
    return client.post(path, data=json.dumps(body), content_type="application/json")


def codes(answer: Any) -> set[str]:
    return {warning["code"] for warning in answer.json["warnings"]}


def config_of(name: str) -> dict[str, Any]:
    """The published config with fields beside those that sizing needs, as repositories publish it."""
    return {**models()[name]["config"], "transformers_version": "5.24.0", "bos_token_id": 1}


@pytest.mark.parametrize("name", sorted(models()))
@pytest.mark.parametrize("engine", ["llama.cpp", "vllm"])
def test_a_posted_catalog_config_gives_the_answer_of_its_id(client: FlaskClient, name: str, engine: str):
    """The same numbers and evidence, whether a model is named or its config.json is sent."""
    question = {"gpu": GPU, "gpu_count": 8, "engine": engine}
    named = client.get("/v1/sizing", query_string={**question, "model": name})
    posted = post(client, **question, model_config=config_of(name))
    assert posted.status_code == named.status_code == 200
    for part in ("memory", "per_gpu", "fit", "limits", "evidence", "speed", "cost"):
        assert posted.json[part] == named.json[part], part
    assert posted.json["model"]["parameters_total"] == named.json["model"]["parameters_total"]
    recognised = [w for w in posted.json["warnings"] if w["code"] == "config_recognised"]
    assert models()[name]["name"] in recognised[0]["parameters"]["models"]


def test_a_changed_config_is_not_taken_for_the_catalog_model(client: FlaskClient):
    """One layer less is another model, of the same class and so with the same support."""
    config = config_of("qwen3-8b") | {"num_hidden_layers": 35}
    answer = post(client, model_config=config, gpu=GPU, engine="vllm")
    assert answer.json["model"]["id"] == "posted"
    assert not codes(answer) & {"config_recognised", "engine_support_unknown"}
    assert answer.json["memory"]["kv_bytes_per_token"] == 35 * 2 * 8 * 128 * 2


def test_the_name_of_a_posted_model_is_the_callers(client: FlaskClient):
    """model_name stands in place of the recognised model's."""
    answer = post(client, model_config=config_of("qwen3-8b"), gpu=GPU, model_name="Our Model")
    assert answer.json["model"]["name"] == "Our Model"


def test_an_unknown_architecture_is_sized_and_says_so(client: FlaskClient):
    """Llama 3.1 8B under another class: its cache and weights, as estimates, with unknown support."""
    answer = post(client, model_config=UNKNOWN, gpu=GPU, engine="vllm", quantization="bf16")
    assert answer.status_code == 200
    assert answer.json["memory"]["kv_bytes_per_token"] == 32 * 2 * 8 * 128 * 2
    assert answer.json["memory"]["model_weights"]["bytes"] == 16_060_522_496
    assert codes(answer) >= {"architecture_generic", "engine_support_unknown"}
    for term in ("weights", "kv_cache"):
        assert answer.json["evidence"][term]["evidence"] == "estimate"


@pytest.mark.parametrize(("lang", "word"), [("de", "Schätzung"), ("zh", "估算"), ("en", "estimate")])
def test_what_was_not_understood_is_said_in_the_callers_language(client: FlaskClient, lang: str, word: str):
    """Remarks are sentences in three languages, and name the field."""
    config = UNKNOWN | {"mamba_d_state": 128}
    answer = post(client, model_config=config, gpu=GPU, lang=lang)
    said = {warning["code"]: warning["message"] for warning in answer.json["warnings"]}
    assert word in said["architecture_generic"]
    assert "mamba_d_state" in said["config_fields_read_cache_too_large"]


@pytest.mark.parametrize("lang", ["de", "zh", "en"])
def test_missing_fields_are_named_in_every_language(client: FlaskClient, lang: str):
    """An unknown architecture without its sizes is a 422 that names all of them."""
    answer = post(client, model_config={"architectures": ["NewForCausalLM"]}, gpu=GPU, lang=lang)
    assert answer.status_code == 422
    assert answer.json["type"] == "/problems/unsupported-architecture"
    named = {error["parameter"] for error in answer.json["errors"]}
    assert {"model_config.hidden_size", "model_config.vocab_size"} <= named
    assert "hidden_size" in answer.json["detail"]


def test_given_weight_bytes_are_the_native_weights(client: FlaskClient):
    """The caller's number replaces the computed one, and the evidence says whose it is."""
    given = 16_000_000_000
    body = {"model_config": UNKNOWN, "gpu": GPU, "engine": "vllm", "quantization": "native"}
    answer = post(client, **body, weight_bytes=given)
    assert answer.json["memory"]["model_weights"]["bytes"] == given
    assert answer.json["evidence"]["weights"] == {"evidence": "checkpoint", "source": "given by the caller"}
    assert "weight_bytes_disagree" not in codes(answer)  # 0.4 % below the 16,060,522,496 computed
    assert "weight_bytes_disagree" in codes(post(client, **body, weight_bytes=given // 2))


@pytest.mark.parametrize(
    ("given", "contradicts"), [(8_030_261_248, False), (8_100_000_000, False), (8.2e9, True)]
)
def test_a_contradicting_parameter_count_is_said(client: FlaskClient, given: float, contradicts: bool):
    """More than one percent from the computed 8,030,261,248 is a warning with both numbers."""
    answer = post(client, model_config=UNKNOWN, gpu=GPU, parameters_total=int(given))
    assert answer.json["model"]["parameters_total"] == given
    found = [w for w in answer.json["warnings"] if w["code"] == "parameters_disagree"]
    assert bool(found) is contradicts
    if contradicts:
        assert found[0]["parameters"] == {"given": 8_200_000_000, "computed": 8_030_261_248}


# Bits a value: a 16-bit scale and a 4-bit zero for 128; an FP8 scale for 64 and an f32 one for 256 of those.
QUANTIZED = [
    ({"quant_method": "awq", "bits": 4, "group_size": 128}, 4 + 20 / 128),
    ({"quant_method": "gptq", "bits": 4, "group_size": 128}, 4 + 20 / 128),
    ({"quant_method": "fp8"}, 8),
    ({"quant_method": "bitsandbytes", "load_in_4bit": True}, 4 + 8 / 64 + 32 / (64 * 256)),
    ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, 4 + 8 / 16),
]
OUTSIDE = 2 * (2 * 128256 * 4096 + 65 * 4096)  # embedding, output and norms, two bytes a value
LINEAR = 32 * (2 * 4096 * 4096 + 2 * 1024 * 4096 + 3 * 14336 * 4096)


@pytest.mark.parametrize(("published", "bits"), QUANTIZED)
def test_quantized_checkpoints_are_weighed_by_their_method(
    client: FlaskClient, published: dict[str, Any], bits: float
):
    """Linear layers take the method's bits with their scales, everything else two bytes a value."""
    config = UNKNOWN | {"quantization_config": published}
    answer = post(client, model_config=config, gpu=GPU, engine="vllm", quantization="native")
    wanted = OUTSIDE + LINEAR * bits / 8
    assert answer.json["memory"]["model_weights"]["bytes"] == pytest.approx(wanted, rel=0.003)


def test_an_unknown_quantization_is_read_as_sixteen_bit(client: FlaskClient):
    """What cannot be weighed is taken too large, and said."""
    config = UNKNOWN | {"quantization_config": {"quant_method": "sorcery"}}
    answer = post(client, model_config=config, gpu=GPU, engine="vllm", quantization="native")
    assert answer.json["memory"]["model_weights"]["bytes"] == 16_060_522_496
    assert "config_fields_read_too_large" in codes(answer)


def test_a_described_gpu_has_whole_bytes_and_cuda_engines(client: FlaskClient):
    """A fraction of a GiB becomes whole bytes; engines are those of a CUDA card."""
    answer = post(client, model="qwen3-8b", gpu_spec=SPEC, engine="vllm")
    assert answer.json["gpu"]["memory"]["bytes"] == round(79.65 * 2**30)
    assert answer.json["gpu"]["evidence"] == "posted"
    assert answer.json["scenario"]["backend"] == "cuda"
    mlx = post(client, model="qwen3-8b", gpu_spec=SPEC, engine="mlx")
    assert mlx.json["fit"]["verdict"] == "unsupported"


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400"])
def test_numbers_that_are_none_are_refused(client: FlaskClient, number: str):
    """Not-a-number and infinity are not JSON, and a number beyond all is out of range."""
    spec = json.dumps(SPEC).replace("79.65", number)
    body = f'{{"model": "qwen3-8b", "gpu_spec": {spec}}}'
    answer = client.post("/v1/sizing", data=body, content_type="application/json")
    assert answer.status_code in (400, 422)
    assert answer.mimetype == "application/problem+json"


@pytest.mark.parametrize("field", ["vocab_size", "hidden_size", "num_hidden_layers", "num_local_experts"])
def test_absurd_sizes_are_named_with_their_limit(client: FlaskClient, field: str):
    """A size far above any model's is a 422 that says how large it may be."""
    answer = post(client, model_config=UNKNOWN | {field: 10**11}, gpu=GPU)
    assert answer.status_code == 422
    error = answer.json["errors"][0]
    assert (error["parameter"], error["code"]) == (f"model_config.{field}", "out_of_range")
    assert error["allowed"][1] < 10**11


def test_a_body_beyond_the_limit_is_413(client: FlaskClient):
    """Five MB of config are refused before they are read."""
    answer = post(client, model_config=UNKNOWN | {"x": "y" * 5_000_000}, gpu=GPU)
    assert answer.status_code == 413


def test_a_body_nested_beyond_the_parser_is_refused(client: FlaskClient):
    """JSON that is nested deeper than the parser goes is told so, also when it never ends."""
    body = b'{"model_config": ' + b"[" * 100_000
    answer = client.post("/v1/sizing", data=body, content_type="application/json")
    assert (answer.status_code, answer.json["errors"][0]["code"]) == (422, "too_deep")


def numbers(value: Any, path: str = "") -> Any:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from numbers(inner, f"{path}.{name}")
    elif isinstance(value, list):
        for inner in value:
            yield from numbers(inner, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, value


ENGINES = (None, "vllm", "sglang", "ollama", "mlx")


@pytest.mark.parametrize("part", range(6))
def test_damaged_configs_are_answered(client: FlaskClient, part: int):
    """360 damaged configs of all parsers: a problem, or an answer without a negative or endless number."""
    for number, (what, config) in enumerate(mutated(seed=part, count=60)):
        engine = ENGINES[(number + part) % len(ENGINES)]
        answer = post(client, model_config=config, gpu=GPU, engine=engine)
        assert answer.status_code in (200, 422), (what, engine)
        if answer.status_code == 422:
            assert answer.mimetype == "application/problem+json"
            continue
        parts = {name: answer.json[name] for name in ("model", "memory", "per_gpu", "limits")}
        assert all(isfinite(value) and value >= 0 for _, value in numbers(parts)), (what, engine)


def test_a_config_is_inspected_like_a_catalog_model(client: FlaskClient):
    """The facts of `GET /v1/models/{id}`, for a config that is posted."""
    inspected = post(client, "/v1/models/inspect", config=config_of("gpt-oss-20b")).json
    catalogued = client.get("/v1/models/gpt-oss-20b").json
    assert {name: inspected[name] for name in catalogued} == catalogued


def test_an_index_gives_the_native_bytes(client: FlaskClient):
    """metadata.total_size is the checkpoint's size, with its source; an index without it is refused."""
    index = {"metadata": {"total_size": 16_060_522_496}}
    answer = post(client, "/v1/models/inspect", config=UNKNOWN, index=index)
    native = answer.json["weight_bytes_by_format"]["native"]
    assert (native["bytes"], native["evidence"]) == (16_060_522_496, "checkpoint")
    assert "safetensors.index.json" in native["source"]
    refused = post(client, "/v1/models/inspect", config=UNKNOWN, index={})
    assert refused.json["errors"][0]["parameter"] == "index.metadata.total_size"


def inspect_gguf(client: FlaskClient, content: bytes, lang: str = "en") -> Any:
    path = f"/v1/models/inspect?lang={lang}"
    return client.post(path, data=content, content_type="application/octet-stream")


def test_a_gguf_header_is_inspected(client: FlaskClient):
    """Bytes of the file's own format are those of its tensors; llama.cpp runs what it knows."""
    answer = inspect_gguf(client, GGUF)
    assert answer.status_code == 200
    own = answer.json["weight_bytes_by_format"]["q4_k_m"]
    assert own["bytes"] == answer.json["gguf"]["tensor_bytes"]
    assert own["evidence"] == "checkpoint"
    assert answer.json["name"] == "Tiny Llama"
    assert answer.json["support"]["llama.cpp"]["status"] == "yes"


@pytest.mark.parametrize("lang", ["de", "zh", "en"])
def test_a_cut_or_foreign_file_is_told_apart(client: FlaskClient, lang: str):
    """A cut header gives what its metadata says; another format is a 422 that names the body."""
    cut = inspect_gguf(client, GGUF[:-200], lang)
    assert cut.status_code == 200
    assert cut.json["gguf"]["complete"] is False
    assert "gguf_without_tensors" in codes(cut)
    foreign = inspect_gguf(client, b"PK\x03\x04" + b"0" * 100, lang)
    assert foreign.status_code == 422
    assert foreign.json["errors"][0]["code"] == "not_gguf"
    assert "GGUF" in foreign.json["errors"][0]["message"]


def test_a_gguf_body_may_be_as_large_as_a_tokenizer(client: FlaskClient):
    """Two MiB of GGUF are read, beyond sixteen are refused with that limit."""
    padded = inspect_gguf(client, GGUF + bytes(2 * 2**20))
    assert padded.status_code == 200
    refused = inspect_gguf(client, GGUF + bytes(16 * 2**20))
    assert refused.status_code == 413
    assert "16,777,216" in refused.json["detail"]


def test_damaged_gguf_headers_are_answered(client: FlaskClient):
    """Bytes changed at random places, with lengths that lead far beyond the end among them."""
    choose = random.Random(1)
    for number in range(150):
        content = bytearray(GGUF[: choose.choice([len(GGUF), choose.randrange(len(GGUF))])])
        for _ in range(choose.choice([1, 3, 30])):
            at = choose.randrange(len(GGUF))
            content[at : at + 8] = choose.choice([b"\xff" * 8, bytes(8), choose.randbytes(1)])
        answer = inspect_gguf(client, bytes(content))
        assert answer.status_code in (200, 422), number


def test_missing_fields_of_an_inspected_config_are_named_in_its_place(client: FlaskClient):
    """Errors name the field below the parameter that held the config."""
    answer = post(client, "/v1/models/inspect", config={"architectures": ["NewForCausalLM"]})
    assert answer.json["errors"][0]["parameter"].startswith("config.")


def test_inspection_stores_nothing(client: FlaskClient, catalog: Catalog):
    """A model that was inspected is no catalog model afterwards, and no cache keeps the answer."""
    answer = post(client, "/v1/models/inspect", config=UNKNOWN, model_name="Our Secret")
    assert answer.headers["Cache-Control"] == "no-store"
    assert client.get("/v1/models?q=secret").json["total"] == 0
    assert client.get("/v1/models").json["total"] == len(catalog.models)


@pytest.mark.parametrize("described", ["model_config", "gpu_spec", "model_config and gpu_spec"])
@pytest.mark.parametrize("section", SECTIONS)
def test_every_section_is_about_what_was_described_too(client: FlaskClient, section: str, described: str):
    """A model or an accelerator that is in no catalog, or both, is no reason for a section to fail."""
    of_model = {"model_config": UNKNOWN} if "model_config" in described else {"model": "qwen3-32b"}
    of_gpu = {"gpu_spec": SPEC} if "gpu_spec" in described else {"gpu": GPU}
    answer = post(client, f"/v1/fragments/{section}", **of_model, **of_gpu)
    assert answer.status_code == 200, answer.json
    assert answer.json["available"]


def test_formats_on_a_described_accelerator_are_those_of_its_twin(client: FlaskClient):
    """The numbers of a catalog card, sent as a description, fit the same formats in the same bytes."""
    twin = {"name": "Twin", "memory_gib": 24564 / 1024, "memory_bandwidth_gbs": 1008, "fp16_tflops": 165}
    asked = {"model": "qwen3-32b", "context_tokens": 4096, "engine": "llama.cpp"}
    rows = {row["quantization"]: row for row in formats(client, **asked, gpu_spec=twin)}
    for quantization in ("q8_0", "q4_k_m", "q3_k_m"):
        sized = post(client, **asked, gpu_spec=twin, quantization=quantization).json
        assert rows[quantization]["verdict"] == sized["fit"]["verdict"]
        assert rows[quantization]["total"] == sized["memory"]["total"]
    assert {rows["q8_0"]["verdict"], rows["q3_k_m"]["verdict"]} == {"does_not_fit", "fits"}


def formats(client: FlaskClient, **asked: Any) -> list[dict[str, Any]]:
    return list(post(client, "/v1/fragments/quantizations", **asked).json["rows"])
