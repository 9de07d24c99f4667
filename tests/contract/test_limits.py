"""Every limit on a request has a problem of its own that names the limit, in the caller's language."""

import json

import pytest

from service.api.json_body import MOST_LEVELS, MOST_VALUES
from service.app import create_app
from service.core.engines import ENGINES
from service.core.engines.sheets import Sheets
from service.settings import Settings

QUESTION = {"model": "qwen3-8b", "gpu": "rtx-4090"}
JSON_TYPE = "application/json"


def nested(levels):
    """A body of so many levels, its own object included."""
    inner = "[" * (levels - 1) + "]" * (levels - 1)
    return json.dumps({**QUESTION, "model_config": 0}).replace("0", inner).encode()


def error_of(answer, status=422):
    assert answer.status_code == status, answer.get_data(as_text=True)
    assert answer.mimetype == "application/problem+json"
    [error] = answer.json["errors"]
    return error


@pytest.mark.parametrize("lang", ["de", "zh", "en"])
def test_a_large_body_is_told_the_limit(lang):
    """413 names the bytes that are accepted."""
    client = create_app(Settings(max_body_bytes=4096)).test_client()
    body = json.dumps({**QUESTION, "model_name": "x" * 4096})
    answer = client.post(f"/v1/sizing?lang={lang}", data=body, content_type=JSON_TYPE)
    assert (answer.status_code, answer.json["type"]) == (413, "/problems/payload-too-large")
    assert "".join(filter(str.isdigit, answer.json["detail"])) == "4096"


@pytest.mark.parametrize("lang", ["de", "zh", "en"])
def test_a_long_address_is_told_the_limit(lang):
    """414 names the bytes that are accepted."""
    client = create_app(Settings(max_url_bytes=2048)).test_client()
    answer = client.get(f"/v1/models?lang={lang}&q=" + "x" * 2048)
    assert (answer.status_code, answer.json["type"]) == (414, "/problems/uri-too-long")
    assert "".join(filter(str.isdigit, answer.json["detail"])) == "2048"


@pytest.mark.parametrize(
    "headers", [{"X-Long": "x" * 2048}, {f"X-Header-{number}": "x" for number in range(300)}]
)
@pytest.mark.parametrize("lang", ["de", "zh", "en"])
def test_large_headers_are_told_the_limit(lang, headers):
    """431 names the bytes that are accepted, for one long header and for many short ones."""
    client = create_app(Settings(max_header_bytes=2048)).test_client()
    answer = client.get("/v1/models", query_string={"lang": lang}, headers=headers)
    assert (answer.status_code, answer.json["type"]) == (431, "/problems/headers-too-large")
    assert "".join(filter(str.isdigit, answer.json["detail"])) == "2048"
    assert client.get("/v1/models").status_code == 200


@pytest.mark.parametrize("lang", ["de", "zh", "en"])
def test_a_deep_body_is_refused_before_it_is_parsed(client, lang):
    """One level too many is named as such, and so is a text that would never end."""
    allowed = client.post("/v1/sizing", data=nested(MOST_LEVELS), content_type=JSON_TYPE)
    assert "too_deep" not in [error["code"] for error in allowed.json["errors"]]
    for body in (nested(MOST_LEVELS + 1), b"[" * 5000, b'{"a":' * 5000):
        error = error_of(client.post(f"/v1/sizing?lang={lang}", data=body, content_type=JSON_TYPE))
        assert (error["parameter"], error["code"]) == ("body", "too_deep")
        assert str(MOST_LEVELS) in error["message"]


def test_brackets_inside_texts_do_not_nest(client):
    """Only structure counts: a text may hold any brackets, quotes and backslashes."""
    for text in ("[" * 200, '"[' * 200, "\\[" * 200, '\\"[' * 200):
        answer = client.post("/v1/sizing", json={**QUESTION, "engine": text})
        assert error_of(answer)["parameter"] == "engine"


def test_masses_of_values_are_refused(client):
    """More values than any real body has are not parsed."""
    body = b'{"model": [' + b"1," * MOST_VALUES + b"1]}"
    error = error_of(client.post("/v1/sizing", data=body, content_type=JSON_TYPE))
    assert error["code"] == "too_many_values"
    assert "100,000" in error["message"]


def test_of_masses_of_unknown_names_the_first_are_named(client):
    """A problem does not grow with a body of fields that no question has: a hundred are named."""
    body = {**QUESTION, **{f"gpu_number_{number}": 1 for number in range(5000)}}
    answer = client.post("/v1/sizing", data=json.dumps(body), content_type=JSON_TYPE)
    assert answer.status_code == 422
    assert [error["parameter"] for error in answer.json["errors"]] == [f"gpu_number_{n}" for n in range(100)]
    assert {error["code"] for error in answer.json["errors"]} == {"unknown_parameter"}


def test_a_field_that_stands_twice_is_named(client):
    """A body that readers could understand differently is refused, at any depth, by the path of the field."""
    for body, path in (
        ('{"model": "qwen3-8b", "gpu": "rtx-4090", "gpu": "l4-24gb"}', "gpu"),
        ('{"model": "qwen3-8b", "gpu_spec": {"name": "a", "name": "b"}}', "gpu_spec.name"),
        ('{"model_config": {"a": [{"b": 1, "b": 2}]}, "gpu": "rtx-4090"}', "model_config.a.b"),
    ):
        error = error_of(client.post("/v1/sizing", data=body, content_type=JSON_TYPE))
        assert (error["parameter"], error["code"]) == (path, "repeated")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400", "-1e999", "9" * 5000])
def test_numbers_that_no_double_holds_are_malformed(client, number):
    """NaN and infinities are no JSON, and no number may become one."""
    body = f'{{"model": "qwen3-8b", "gpu": "rtx-4090", "memory_utilization": {number}}}'
    answer = client.post("/v1/sizing", data=body, content_type=JSON_TYPE)
    assert (answer.status_code, answer.json["type"]) == (400, "/problems/malformed-body")


@pytest.mark.parametrize("number", ["9" * 300, "1e300", "123456789012345678901234567890", "-1e18"])
def test_huge_numbers_are_out_of_range(client, number):
    """A number beyond its range is named with the range, however large it is."""
    body = f'{{"model": "qwen3-8b", "gpu": "rtx-4090", "context_tokens": {number}}}'
    error = error_of(client.post("/v1/sizing", data=body, content_type=JSON_TYPE))
    assert error["code"] in ("out_of_range", "not_an_integer")


def test_long_lists_are_told_the_limit(client):
    """A list of names has a limit, and so has a text."""
    error = error_of(client.get("/v1/matrix", query_string={"models": ",".join(["qwen3-8b"] * 501)}))
    assert (error["code"], "500" in error["message"]) == ("too_many_items", True)
    formats = ",".join(["q4_k_m"] * 17)
    error = error_of(client.get("/v1/matrix", query_string={"quantizations": formats}))
    assert (error["code"], "16" in error["message"]) == ("too_many_items", True)
    error = error_of(client.get("/v1/sizing", query_string={**QUESTION, "engine": "x" * 257}))
    assert (error["code"], "256" in error["message"]) == ("too_long", True)


def test_a_large_matrix_is_told_the_limit(client):
    """A matrix over the limit of cells names the limit and how to ask instead."""
    contexts = ",".join(str(1024 * number) for number in range(1, 401))
    formats = "q4_k_m,q8_0,q6_k,q5_k_m"
    error = error_of(client.get("/v1/matrix", query_string={"contexts": contexts, "quantizations": formats}))
    assert error["code"] == "matrix_too_large"


@pytest.mark.parametrize(
    "engine", [name for name in sorted(ENGINES) if not isinstance(ENGINES[name], Sheets)]
)
def test_a_matrix_that_is_planned_cell_by_cell_is_smaller(client, catalog, engine):
    """An engine without array formulas has a lower limit, which the problem names."""
    contexts = ",".join(str(1024 * number) for number in range(1, 101))
    models = ",".join(list(catalog.models)[:10])
    query = {"contexts": contexts, "models": models, "engine": engine}
    error = error_of(client.get("/v1/matrix", query_string=query))
    assert (error["code"], "15,000" in error["message"]) == ("matrix_too_large", True)


CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14_336,
    "vocab_size": 128_256,
    "max_position_embeddings": 131_072,
}


@pytest.mark.parametrize(
    ("field", "most"),
    [
        ("num_hidden_layers", 192),
        ("vocab_size", 2**31),
        ("num_attention_heads", 2**20),
        ("compress_ratios", 256),
    ],
)
def test_a_posted_model_is_of_a_size_that_can_be_computed(client, field, most):
    """What the effort grows with is bounded well above any published model, and the bound is named."""
    body = {"model_config": {**CONFIG, field: most + 1}, "gpu": "h100-80gb-sxm"}
    answer = client.post("/v1/sizing", json=body)
    assert (answer.status_code, answer.json["type"]) == (422, "/problems/unsupported-architecture")
    [error] = answer.json["errors"]
    assert (error["parameter"], error["allowed"]) == (f"model_config.{field}", [0, most])


@pytest.mark.parametrize("engine", sorted(ENGINES))
@pytest.mark.parametrize("path", ["/v1/sizing", "/v1/report"])
def test_no_engine_is_given_more_stages_than_layers(client, engine, path):
    """Effort grows with the machines that share a model: more than it has layers are refused."""
    query = {"model": "qwen3-8b", "gpu": "h100-80gb-sxm", "engine": engine, "gpu_count": 1021}
    answer = client.get(path, query_string=query)
    codes = [error["code"] for error in answer.json["errors"]]
    assert (answer.status_code, "more_stages_than_layers" in codes) == (422, True), (engine, codes)
