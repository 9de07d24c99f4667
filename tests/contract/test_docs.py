"""The OpenAPI document is valid, complete and true, and its page needs nothing from elsewhere."""

import re

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

QUESTION = "model=qwen3-8b&gpu=rtx-4090"
# Paths of the document with a request for each.
EXAMPLES = {
    "/v1/sizing": f"/v1/sizing?{QUESTION}",
    "/v1/costs": f"/v1/costs?{QUESTION}",
    "/v1/finetuning": f"/v1/finetuning?{QUESTION}",
    "/v1/plan": "/v1/plan?model=qwen3-8b",
    "/v1/matrix": "/v1/matrix?models=qwen3-8b&quantizations=q4_k_m,awq-int4",
    "/v1/fragments/{section}": f"/v1/fragments/memory?{QUESTION}",
    "/v1/report": f"/v1/report?{QUESTION}",
    "/v1/models": "/v1/models",
    "/v1/models/{id}": "/v1/models/qwen3-8b",
    "/v1/gpus": "/v1/gpus",
    "/v1/gpus/{id}": "/v1/gpus/rtx-4090",
    "/v1/engines": "/v1/engines",
    "/v1/quantizations": "/v1/quantizations",
    "/v1/offers": "/v1/offers",
    "/v1/measurements": "/v1/measurements?model=gpt-oss-120b&gpu=h100-80gb-sxm",
    "/v1/languages": "/v1/languages",
    "/v1/sections": "/v1/sections",
    "/openapi.json": "/openapi.json",
    "/health/live": "/health/live",
    "/health/ready": "/health/ready",
    "/health/info": "/health/info",
}


@pytest.fixture(scope="module")
def document(app):
    return app.test_client().get("/openapi.json").json


def validator(document, schema):
    return Draft202012Validator({**schema, "components": document["components"]})


def test_document_is_valid_openapi(document):
    """The document is OpenAPI 3.1 by its own specification."""
    assert document["openapi"].startswith("3.1")
    validate(document)


def test_document_has_every_route(app, document):
    """Every address and method that the service answers is documented, and nothing else."""
    served = {
        (re.sub(r"<(?:\w+:)?(\w+)>", "{}", rule.rule), method.lower())
        for rule in app.url_map.iter_rules()
        for method in rule.methods - {"HEAD", "OPTIONS"}
        if not rule.rule.startswith(("/assets/", "/v1/<any"))
    }
    documented = {
        (re.sub(r"\{\w+\}", "{}", path), method)
        for path, methods in document["paths"].items()
        for method in methods
    }
    lists = {(f"/v1/{name}", "get") for name in ("gpus", "engines", "quantizations", "offers", "languages")}
    assert documented == served | lists


@pytest.mark.parametrize("path", EXAMPLES)
def test_answers_are_as_documented(client, document, path):
    """Real answers satisfy the documented schemas."""
    operation = document["paths"][path]["get"]
    schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
    answer = client.get(EXAMPLES[path])
    assert answer.status_code == 200
    validator(document, schema).validate(answer.json)


def test_problems_are_as_documented(client, document):
    """Real problems satisfy the documented schema."""
    schema = validator(document, document["components"]["schemas"]["Problem"])
    for path in ("/v1/sizing", "/v1/models/none", "/nowhere", "/v1/models?cursor=x"):
        schema.validate(client.get(path).json)


def test_parameters_have_meaning_type_and_example(document):
    """Every parameter is described, typed, and has an example (a cursor is opaque)."""
    for path, methods in document["paths"].items():
        for operation in methods.values():
            for parameter in operation["parameters"]:
                assert parameter["description"], (path, parameter["name"])
                assert parameter["schema"]["type"], (path, parameter["name"])
                assert parameter["name"] == "cursor" or parameter["schema"]["examples"], parameter["name"]


def test_examples_of_the_document_are_answered(client, document):
    """The examples of bodies work as they stand."""
    for path in ("/v1/sizing", "/v1/costs", "/v1/finetuning", "/v1/plan", "/v1/fragments/{section}"):
        body = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]
        validator(document, body["schema"]).validate(body["example"])
        answer = client.post(path.replace("{section}", "memory"), json=body["example"])
        assert answer.status_code == 200, answer.get_data(as_text=True)


def test_the_example_of_an_inspection_is_answered_as_documented(client, document):
    """The example of `/v1/models/inspect` works as it stands, and its answer satisfies its schema."""
    operation = document["paths"]["/v1/models/inspect"]["post"]
    body = operation["requestBody"]["content"]["application/json"]
    validator(document, body["schema"]).validate(body["example"])
    answer = client.post("/v1/models/inspect", json=body["example"])
    schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
    validator(document, schema).validate(answer.json)


def test_examples_of_parameters_are_within_their_range(document):
    """Each example is a valid value of its parameter."""
    for parameter in document["paths"]["/v1/sizing"]["get"]["parameters"]:
        for example in parameter["schema"]["examples"]:
            Draft202012Validator(parameter["schema"]).validate(example)


def test_page_shows_every_operation_and_parameter(client, document):
    """The page lists what the document lists, without script and without a foreign host."""
    text = client.get("/docs").get_data(as_text=True)
    for methods in document["paths"].values():
        for operation in methods.values():
            assert f'id="{operation["operationId"]}"' in text
    for name in document["components"]["schemas"]["ScenarioBody"]["properties"]:
        assert name in text
    assert "<script" not in text
    assert "http://" not in text
    assert "https://" not in text


def test_page_style_is_served_here(client):
    """The only thing that a page loads comes from the service itself."""
    assert 'href="/assets/pages.css"' in client.get("/docs").get_data(as_text=True)
    style = client.get("/assets/pages.css", headers={"Accept": "text/css,*/*;q=0.1"})
    assert style.status_code == 200
    assert style.mimetype == "text/css"


def test_start_page_links_work(client):
    """Every link of the start page leads to an answer, in each language."""
    for lang in ("de", "zh", "en"):
        text = client.get(f"/?lang={lang}").get_data(as_text=True)
        links = re.findall(r'href="([^"]+)"', text)
        assert len(links) > 8
        for link in links:
            assert client.get(link.replace("&amp;", "&")).status_code == 200, link
