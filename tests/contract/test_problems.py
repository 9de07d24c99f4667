"""Everything that goes wrong is a localized RFC 9457 problem, and nothing that a client sends is a 500."""

import pytest
from werkzeug.exceptions import TooManyRequests

from service.api.problems import STATUSES

QUESTION = {"model": "qwen3-8b", "gpu": "rtx-4090"}


def problem(answer, status, slug):
    assert answer.status_code == status, answer.get_data(as_text=True)
    assert answer.mimetype == "application/problem+json"
    assert answer.json["type"] == f"/problems/{slug}"
    assert answer.json["status"] == status
    assert answer.json["title"]
    assert answer.json["detail"]
    assert answer.headers["Content-Language"]
    assert answer.headers["Cache-Control"] == "no-store"
    return answer.json


def first_error(client, **parameters):
    answer = client.get("/v1/sizing", query_string={**QUESTION, **parameters})
    return problem(answer, 422, "invalid-parameters")["errors"][0]


@pytest.mark.parametrize(("name", "slug"), [("model", "unknown-model"), ("gpu", "unknown-gpu")])
def test_unknown_names_are_404_with_suggestions(client, name, slug):
    """A misspelt model or GPU is a 404 that suggests the closest id first."""
    misspelt = {"model": "qwen3-8", "gpu": "rtx-409"}[name]
    found = problem(client.get("/v1/sizing", query_string={**QUESTION, name: misspelt}), 404, slug)
    assert found["suggestions"][0] == QUESTION[name]
    assert found["instance"] == "/v1/sizing"


@pytest.mark.parametrize("path", ["/v1/models/nothing-like-it", "/v1/gpus/nothing-like-it"])
def test_unknown_documents_are_the_same_problems(client, path):
    """Fetching an unknown entry is the same problem as naming it in a scenario."""
    slug = "unknown-model" if "models" in path else "unknown-gpu"
    assert "suggestions" in problem(client.get(path), 404, slug)


def test_unknown_section_suggests_the_closest(client):
    """A misspelt section is a 404 that suggests the right one."""
    answer = client.get("/v1/fragments/memry", query_string=QUESTION)
    assert problem(answer, 404, "unknown-section")["suggestions"][0] == "memory"


def test_unknown_parameter_is_named_with_the_closest(client):
    """A misspelt parameter is never ignored."""
    error = first_error(client, gpu_cont=2)
    assert error["parameter"] == "gpu_cont"
    assert error["code"] == "unknown_parameter"
    assert "gpu_count" in error["message"]
    assert "gpu_count" in error["allowed"]


@pytest.mark.parametrize(
    "path", ["/v1/models", "/v1/models/qwen3-8b", "/v1/gpus", "/", "/docs", "/health/live"]
)
def test_no_resource_ignores_parameters(client, path):
    """Every resource refuses parameters that it does not have."""
    errors = problem(client.get(path, query_string={"nonsense": 1}), 422, "invalid-parameters")["errors"]
    assert errors[0]["parameter"] == "nonsense"


def test_repeated_parameter_is_an_error(client):
    """Two values for one parameter are ambiguous."""
    answer = client.get("/v1/sizing?model=qwen3-8b&gpu=rtx-4090&gpu=h100-80gb-sxm")
    error = problem(answer, 422, "invalid-parameters")["errors"][0]
    assert (error["parameter"], error["code"]) == ("gpu", "repeated")


@pytest.mark.parametrize(
    ("parameter", "value", "code"),
    [
        ("gpu_count", "0", "out_of_range"),
        ("gpu_count", "1025", "out_of_range"),
        ("gpu_count", "-1", "out_of_range"),
        ("gpu_count", "2.5", "not_an_integer"),
        ("gpu_count", "1e3", "not_an_integer"),
        ("gpu_count", "٣", "not_an_integer"),
        ("gpu_count", "0x10", "not_an_integer"),
        ("gpu_count", "9" * 5000, "not_an_integer"),
        ("gpu_count", "", "empty"),
        ("gpu_count", " ", "empty"),
        ("context_tokens", "8k", "not_an_integer"),
        ("memory_utilization", "1.5", "out_of_range"),
        ("memory_utilization", "nan", "not_a_number"),
        ("memory_utilization", "inf", "not_a_number"),
        ("cpu_offload_percent", "101", "out_of_range"),
        ("vision", "maybe", "not_a_boolean"),
        ("vision", "2", "not_a_boolean"),
        ("engine", "vlm", "not_allowed"),
        ("quantization", "q4", "not_allowed"),
        ("platform", "beos", "not_allowed"),
        ("lang", "fr", "not_allowed"),
        ("lang", "", "empty"),
        ("model", "", "empty"),
        ("model", "x" * 300, "too_long"),
    ],
)
def test_wrong_values_are_422_with_a_code(client, parameter, value, code):
    """Values are strict; the error names the parameter, a code and a sentence."""
    error = first_error(client, **{parameter: value})
    assert error["parameter"] == parameter
    assert error["code"] == code
    assert error["message"]


def test_range_error_says_what_is_allowed(client):
    """An out-of-range error has the two ends of the range."""
    assert first_error(client, gpu_count=0)["allowed"] == [1, 1024]


def test_unsupported_language_lists_the_supported(client):
    """An unsupported `lang` is a 422 that lists the languages, in the language of Accept-Language."""
    answer = client.get("/v1/models?lang=fr", headers={"Accept-Language": "de"})
    error = problem(answer, 422, "invalid-parameters")["errors"][0]
    assert error["allowed"] == ["de", "zh", "en"]
    assert answer.headers["Content-Language"] == "de"


def test_every_fault_is_reported_at_once(client):
    """One answer names every wrong parameter."""
    answer = client.get("/v1/sizing?gpu=rtx-4090&gpu_count=x&vision=x&nonsense=1")
    errors = problem(answer, 422, "invalid-parameters")["errors"]
    assert {error["parameter"] for error in errors} == {"gpu_count", "vision", "nonsense"}
    missing = problem(client.get("/v1/sizing"), 422, "invalid-parameters")["errors"]
    assert {(error["parameter"], error["code"]) for error in missing} == {
        ("model", "missing"),
        ("gpu", "missing"),
    }


@pytest.mark.parametrize("lang", ["de", "zh", "en"])
def test_problems_speak_the_language(client, lang):
    """Titles, details and messages are in the language that was asked for."""
    texts = {}
    for tag in ("en", lang):
        found = client.get("/v1/sizing", query_string={**QUESTION, "gpu_count": 0, "lang": tag}).json
        texts[tag] = (found["title"], found["detail"], found["errors"][0]["message"])
    if lang != "en":
        assert all(here != english for here, english in zip(texts[lang], texts["en"], strict=True))


def test_language_of_a_body_applies_to_its_problems(client):
    """`lang` in a body decides the language of the problem with the rest of that body."""
    answer = client.post("/v1/sizing", json={**QUESTION, "lang": "zh", "gpu_count": 0})
    problem(answer, 422, "invalid-parameters")
    assert answer.headers["Content-Language"] == "zh-Hans"


@pytest.mark.parametrize("body", [b"", b"{", b"[1,", b'{"model": "\xff"}', b"NaN", b"[" * 50])
def test_malformed_json_is_400(client, body):
    """A body that is not JSON is a 400."""
    problem(client.post("/v1/sizing", data=body, content_type="application/json"), 400, "malformed-body")


@pytest.mark.parametrize("body", [b"[]", b"1", b"null", b'"text"'])
def test_json_that_is_no_object_is_422(client, body):
    """Valid JSON that is not an object is a 422."""
    answer = client.post("/v1/sizing", data=body, content_type="application/json")
    assert problem(answer, 422, "invalid-parameters")["errors"][0]["code"] == "not_an_object"


@pytest.mark.parametrize(
    ("value", "code"),
    [("8", "not_an_integer"), (True, "not_an_integer"), (8.5, "not_an_integer"), ([8], "not_an_integer")],
)
def test_types_of_a_body_are_strict(client, value, code):
    """JSON types are not converted: "8" and true are no numbers."""
    answer = client.post("/v1/sizing", json={**QUESTION, "gpu_count": value})
    assert problem(answer, 422, "invalid-parameters")["errors"][0]["code"] == code


def test_body_must_be_json_by_its_type(client):
    """Another media type is a 415 that says what is accepted."""
    answer = client.post("/v1/sizing", data=b"model=qwen3-8b", content_type="text/plain")
    problem(answer, 415, "unsupported-media-type")
    assert answer.headers["Accept"] == "application/json"
    compressed = client.post("/v1/sizing", json=QUESTION, headers={"Content-Encoding": "gzip"})
    problem(compressed, 415, "unsupported-media-type")


def test_body_over_the_limit_is_413(client):
    """A body larger than 1 MiB is refused."""
    body = b'{"model": "' + b"x" * 2**20 + b'"}'
    problem(client.post("/v1/sizing", data=body, content_type="application/json"), 413, "payload-too-large")


def test_address_over_the_limit_is_414(client):
    """A very long address is refused."""
    problem(client.get("/v1/models?q=" + "x" * 8001), 414, "uri-too-long")


def test_wrong_method_keeps_allow(client):
    """405 lists the allowed methods."""
    answer = client.delete("/v1/sizing")
    problem(answer, 405, "method-not-allowed")
    assert {"GET", "POST"} <= {method.strip() for method in answer.headers["Allow"].split(",")}


@pytest.mark.parametrize(
    "path", ["/nothing", "/v1", "/v1/", "//v1/models", "/v1/models/", "/V1/models", "/v1/%00"]
)
def test_unknown_addresses_are_404(client, path):
    """An address without a resource is a 404 problem, never a redirect."""
    assert client.get(path).status_code == 404
    assert client.get(path).mimetype == "application/problem+json"


def test_model_and_description_exclude_each_other(client):
    """A scenario names its model or describes it, not both; siblings of a description need it."""
    config = {"architectures": ["Qwen3ForCausalLM"]}
    both = client.post("/v1/sizing", json={**QUESTION, "model_config": config})
    assert problem(both, 422, "invalid-parameters")["errors"][0]["code"] == "conflict"
    alone = client.post("/v1/sizing", json={**QUESTION, "weight_bytes": 1})
    assert problem(alone, 422, "invalid-parameters")["errors"][0]["parameter"] == "weight_bytes"


def test_gpu_spec_errors_name_its_fields(client):
    """Errors inside `gpu_spec` name the field below it."""
    spec = {"name": "x", "memory_gib": 0, "fp16_tflops": "many", "colour": "red"}
    answer = client.post("/v1/sizing", json={"model": "qwen3-8b", "gpu_spec": spec})
    errors = problem(answer, 422, "invalid-parameters")["errors"]
    assert {(error["parameter"], error["code"]) for error in errors} == {
        ("gpu_spec.memory_gib", "out_of_range"),
        ("gpu_spec.memory_bandwidth_gbs", "missing"),
        ("gpu_spec.fp16_tflops", "not_a_number"),
        ("gpu_spec.colour", "unknown_parameter"),
    }


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"architectures": ["NoSuchModel"]},
        {"architectures": ["Qwen3ForCausalLM"]},
        {"architectures": "Qwen3ForCausalLM"},
        {"architectures": ["Qwen3ForCausalLM"], "num_hidden_layers": 10**9},
        {"architectures": ["Qwen3ForCausalLM"], "hidden_size": "large", "num_hidden_layers": 2},
        {"architectures": ["Qwen3ForCausalLM"], "hidden_size": 64, "num_hidden_layers": -3},
    ],
)
def test_unreadable_config_is_422(client, config):
    """A config.json that cannot be read is a 422 that says so."""
    answer = client.post("/v1/sizing", json={"model_config": config, "gpu": "rtx-4090"})
    problem(answer, 422, "unsupported-architecture")


def test_missing_fields_of_a_config_are_named(client):
    """What a config.json lacks is named."""
    config = {"architectures": ["Qwen3ForCausalLM"]}
    answer = client.post("/v1/sizing", json={"model_config": config, "gpu": "rtx-4090"})
    errors = problem(answer, 422, "unsupported-architecture")["errors"]
    assert errors[0]["parameter"].startswith("model_config.")


@pytest.mark.parametrize("slug", sorted(STATUSES))
@pytest.mark.parametrize("lang", ["de", "zh", "en"])
def test_every_problem_type_has_a_page(client, slug, lang):
    """The URI of a problem type leads to a page in each language."""
    answer = client.get(f"/problems/{slug}?lang={lang}")
    assert answer.status_code == 200
    assert answer.mimetype == "text/html"
    assert f"/problems/{slug}" in answer.get_data(as_text=True)


def test_failure_of_the_service_leaks_nothing(app, monkeypatch):
    """An unexpected error is a 500 problem with the request ID and nothing of its cause."""

    monkeypatch.setitem(app.view_functions, "health.live", lambda: 1 / 0)
    answer = app.test_client().get("/health/live", headers={"X-Request-ID": "abc"})
    found = problem(answer, 500, "internal-error")
    assert found["request_id"] == "abc"
    assert "ZeroDivisionError" not in answer.get_data(as_text=True)
    assert "division" not in answer.get_data(as_text=True)


def test_retry_after_survives(app, monkeypatch):
    """Headers of the underlying error stay, such as Retry-After of 429."""

    def refuse():
        raise TooManyRequests(retry_after=7)

    monkeypatch.setitem(app.view_functions, "health.live", refuse)
    answer = app.test_client().get("/health/live")
    problem(answer, 429, "too-many-requests")
    assert answer.headers["Retry-After"] == "7"
