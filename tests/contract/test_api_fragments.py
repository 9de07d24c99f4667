"""`/v1/fragments/{section}` over HTTP: every section, every representation, every language."""

import pytest

QUESTION = {"model": "qwen3-8b", "gpu": "rtx-4090"}
NOW = ["summary", "scenario", "memory", "speed", "context", "quantizations"]
MEDIA_TYPES = ["application/json", "text/html", "text/markdown"]


@pytest.fixture(scope="module")
def sections(app):
    return [item["id"] for item in app.test_client().get("/v1/sections?limit=500").json["items"]]


def test_sections_of_the_contract_are_listed(sections):
    """Every section of both kinds of report is known."""
    of_both = "commands context quantizations measurements"
    of_scenario = (
        "summary scenario memory speed recommendations cloud finetuning diagnosis derivation faq gpus models"
    )
    of_model = "about estimates architecture memory-tiers tips"
    assert set(sections) == set(f"{of_both} {of_scenario} {of_model} accelerator".split())


@pytest.mark.parametrize("media_type", MEDIA_TYPES)
def test_a_known_section_of_a_valid_scenario_is_always_answered(client, sections, media_type):
    """Each section is a 200 in each representation, even where it has nothing to say yet."""
    for section in sections:
        answer = client.get(f"/v1/fragments/{section}", query_string=QUESTION, headers={"Accept": media_type})
        assert answer.status_code == 200, section
        assert answer.mimetype == media_type
        assert answer.data


@pytest.mark.parametrize("section", NOW)
def test_sections_of_this_version_have_data(client, section):
    """The sections that this version computes say that they are available, and name their language."""
    for lang, content_language in (("de", "de"), ("zh-CN", "zh-Hans"), ("en", "en")):
        answer = client.get(f"/v1/fragments/{section}", query_string={**QUESTION, "lang": lang})
        assert answer.json["available"] is True
        assert answer.json["section"] == section
        assert answer.json["language"] == answer.headers["Content-Language"] == content_language


def test_html_fragment_is_one_section_without_script(client):
    """A fragment is one section element in its language, and carries a policy that allows nothing foreign."""
    answer = client.get(
        "/v1/fragments/memory", query_string={**QUESTION, "lang": "de"}, headers={"Accept": "text/html"}
    )
    text = answer.get_data(as_text=True).strip()
    assert text.startswith('<section class="sizing sizing-memory" lang="de"')
    assert text.endswith("</section>")
    assert "<script" not in text
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]


def test_model_alone_is_a_valid_question(client):
    """Without a GPU a section is answered too; without a model it is not."""
    assert client.get("/v1/fragments/about", query_string={"model": "qwen3-8b"}).status_code == 200
    answer = client.get("/v1/fragments/about")
    assert answer.status_code == 422
    assert [error["parameter"] for error in answer.json["errors"]] == ["model"]


def test_post_answers_as_get(client):
    """A fragment can be asked for with a JSON body, in the language of the body."""
    headers = {"Accept": "text/markdown"}
    posted = client.post("/v1/fragments/memory", json={**QUESTION, "lang": "zh"}, headers=headers)
    asked = client.get("/v1/fragments/memory", query_string={**QUESTION, "lang": "zh"}, headers=headers)
    assert posted.status_code == 200
    assert posted.data == asked.data
    assert posted.headers["Content-Language"] == "zh-Hans"
