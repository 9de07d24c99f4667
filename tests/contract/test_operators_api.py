"""Answers say whose facts they are: the operator's own, in every representation and language."""

from dataclasses import replace
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from jsonschema import Draft202012Validator

from service.app import create_app
from service.settings import Settings
from tests.operators import lay

MODEL, GPU = "support-8b", "rtx-a5000-24gb"
QUESTION = f"model={MODEL}&gpu={GPU}"
LANGUAGES = ("en", "de", "zh")
OF_MODEL = {
    "en": "The facts about Support 8B were provided by the operator of this service, not by its own catalog.",
    "de": "Die Angaben zu Support 8B stammen vom Betreiber dieses Dienstes, "
    "nicht aus dessen eigenem Katalog.",
    "zh": "Support 8B 的数据由本服务的运营方提供，并非来自服务自带的目录。",
}
OF_GPU = {language: text.replace("Support 8B", "RTX A5000") for language, text in OF_MODEL.items()}
OF_PRICE = {
    "en": "The operator of this service provided the price.",
    "de": "Den Preis hat der Betreiber dieses Dienstes angegeben.",
    "zh": "该价格由本服务的运营方提供。",
}
BESIDE_A_NAME = {"en": " (stated by the operator)", "de": " (Angabe des Betreibers)", "zh": "（运营方提供）"}


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> FlaskClient:
    folder = lay(tmp_path_factory.mktemp("catalog"))
    return create_app(replace(Settings(), catalog_path=folder)).test_client()


def by_id(client: FlaskClient, address: str) -> dict[str, dict]:
    return {item["id"]: item for item in client.get(f"{address}?limit=500").json["items"]}


@pytest.mark.parametrize(("address", "name"), [("/v1/models", MODEL), ("/v1/gpus", GPU)])
def test_lists_and_entries_name_the_operator(own, address, name):
    """One field tells the operator's entries from the catalog's, in the list and alone."""
    items = by_id(own, address)
    assert items.pop(name)["provided_by"] == "operator"
    assert {item["provided_by"] for item in items.values()} == {"catalog"}
    assert own.get(f"{address}/{name}").json["provided_by"] == "operator"


def test_the_operators_facts_are_never_verified(own):
    """The file says `verified`; the answers say that the operator does."""
    document = own.get(f"/v1/models/{MODEL}").json
    assert document["evidence"] == "operator"
    assert document["sources"] == [
        "acme/support-8b, config.json and model.safetensors.index.json of 2026-10-12"
    ]
    assert own.get(f"/v1/sizing?{QUESTION}").json["model"]["evidence"] == "operator"
    assert "verified" not in own.get(f"/v1/fragments/about?model={MODEL}", headers=html()).text


def test_offers_name_the_operator(own):
    """In the list, at the GPU, and among the costs of a scenario."""
    offers = own.get("/v1/offers?limit=500").json["items"]
    assert [offer["provider"] for offer in offers if offer["provided_by"] != "catalog"] == [
        "Acme on premises"
    ]
    [offer] = own.get(f"/v1/gpus/{GPU}").json["offers"]
    assert (offer["provided_by"], offer["usd_per_hour"], offer["age_days"]) == ("operator", 0.42, 28)
    own_items = [
        item for item in own.get(f"/v1/costs?{QUESTION}").json["items"] if item["provided_by"] == "operator"
    ]
    assert {item["provider"] for item in own_items} == {"Acme on premises"}
    assert "price_by_operator" in {note["code"] for note in own_items[0]["notes"]}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_sizing_says_it_in_sentences(own, language):
    """Beside the fields, the warnings tell a reader, once for the model and once for the GPU."""
    document = own.get(f"/v1/sizing?{QUESTION}&lang={language}").json
    assert (document["model"]["provided_by"], document["gpu"]["provided_by"]) == ("operator", "operator")
    said = [warning["message"] for warning in document["warnings"]]
    assert said.count(OF_MODEL[language]) == 1
    assert said.count(OF_GPU[language]) == 1
    assert "model_facts_derived" not in {warning["code"] for warning in document["warnings"]}


def html() -> dict[str, str]:
    return {"Accept": "text/html"}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("section", "question", "sentences"),
    [
        ("about", f"model={MODEL}", OF_MODEL),
        ("architecture", f"model={MODEL}", OF_MODEL),
        ("summary", QUESTION, OF_MODEL),
        ("summary", QUESTION, OF_GPU),
        ("cloud", QUESTION, OF_PRICE),
        ("cloud", f"gpu={GPU}", OF_PRICE),
        ("accelerator", f"gpu={GPU}", OF_GPU),
        ("models", "model=qwen3-8b&gpu=rtx-4090", BESIDE_A_NAME),
        ("gpus", "model=qwen3-8b&gpu=rtx-4090", BESIDE_A_NAME),
    ],
)
def test_sections_say_it(own, section, question, sentences, language):
    """As HTML and as Markdown."""
    address = f"/v1/fragments/{section}?{question}&lang={language}"
    page = own.get(address, headers=html())
    assert page.status_code == 200
    assert sentences[language] in page.text
    plain = own.get(address, headers={"Accept": "text/markdown"}).text
    assert sentences[language] in plain.replace("\\", "")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_report_says_it(own, language):
    """The whole report of an operator's model carries the sentence."""
    page = own.get(f"/v1/report?model={MODEL}&lang={language}", headers=html())
    assert page.status_code == 200
    assert OF_MODEL[language] in page.text


@pytest.mark.parametrize(
    ("address", "path"),
    [
        (f"/v1/models/{MODEL}", "/v1/models/{id}"),
        (f"/v1/gpus/{GPU}", "/v1/gpus/{id}"),
        ("/v1/offers", "/v1/offers"),
        (f"/v1/sizing?{QUESTION}", "/v1/sizing"),
        (f"/v1/costs?{QUESTION}", "/v1/costs"),
        ("/health/ready", "/health/ready"),
    ],
)
def test_answers_are_as_documented(own, address, path):
    """The operator's entries have the documented shape."""
    document = own.get("/openapi.json").json
    schema = document["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    answer = own.get(address)
    assert answer.status_code == 200
    Draft202012Validator({**schema, "components": document["components"]}).validate(answer.json)


def test_shipped_facts_are_answered_as_without_the_folder(own, client):
    """An answer about shipped facts differs in the digest only."""
    address = "/v1/sizing?model=qwen3-14b&gpu=rtx-4090"
    ours, theirs = client.get(address).json, own.get(address).json
    assert ours["versions"].pop("data_digest") != theirs["versions"].pop("data_digest")
    assert ours == theirs


def test_what_a_caller_describes_is_the_callers(client):
    """The third of the three: neither the catalog's nor the operator's."""
    config = {
        "architectures": ["Olmo2ForCausalLM"],
        "hidden_size": 4096,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 32,
        "intermediate_size": 11008,
        "vocab_size": 100352,
        "max_position_embeddings": 4096,
    }
    card = {"name": "Prototype", "memory_gib": 47.5, "memory_bandwidth_gbs": 1800, "fp16_tflops": 200}
    answer = client.post("/v1/sizing", json={"model_config": config, "gpu_spec": card}).json
    assert (answer["model"]["provided_by"], answer["gpu"]["provided_by"]) == ("caller", "caller")


def test_markup_in_a_fact_is_shown_and_not_run(tmp_path: Path):
    """An operator's names are text in every representation."""
    folder = lay(tmp_path)
    path = folder / "models/support-8b.yaml"
    hostile = "<script>alert(1)</script> [x](javascript:1)"
    path.write_text(path.read_text().replace("name: Support 8B", f"name: '{hostile}'"), encoding="utf-8")
    client = create_app(replace(Settings(), catalog_path=folder)).test_client()
    for section, question in {
        "about": QUESTION,
        "summary": QUESTION,
        "models": "model=qwen3-8b&gpu=rtx-4090",
    }.items():
        page = client.get(f"/v1/fragments/{section}?{question}", headers=html()).text
        assert "&lt;script&gt;alert(1)" in page
        assert "<script" not in page
        plain = client.get(f"/v1/fragments/{section}?{question}", headers={"Accept": "text/markdown"}).text
        assert "<script" not in plain.replace("\\<", "")
        assert "[x](" not in plain.replace("\\[", "")
