"""The configurator's page and the custom element's script, as they are served."""

import json
import re
from gettext import NullTranslations
from html import unescape

import pytest
from flask import g, render_template, request

from service.api import report, scenarios, web
from service.api.scenarios import asked
from service.core.cost.currency import CURRENCIES
from service.i18n import LANGUAGES, Voice


def served(client, path):
    answer = client.get(path)
    assert answer.status_code == 200
    return answer.get_data(as_text=True)


def test_scripts_run_only_from_here(client):
    """The configurator's policy allows its own scripts and requests, nothing inline and no other host."""
    policy = client.get("/").headers["Content-Security-Policy"]
    rules = {rule.split()[0]: rule.split()[1:] for rule in policy.split(";")}
    assert rules["script-src"] == rules["connect-src"] == rules["style-src"] == ["'self'"]
    assert rules["default-src"] == ["'none'"]
    text = served(client, "/")
    assert re.findall(r"<script[^>]*>(.*?)</script>", text, re.S) == [""]
    assert not re.search(r"\son\w+=|\sstyle=|https?://", text)


def test_everything_a_page_loads_is_served(client):
    """Style sheets and modules, also those that modules import."""
    seen, left = set(), ["/?lang=de"]
    while left:
        path = left.pop()
        text = served(client, path)
        found = re.findall(r'(?:href|src)="(/assets/[^"]+)"', text)
        found += [f"/assets/web/{name}" for name in re.findall(r'from "\./([\w.]+)"', text)]
        left += [asset for asset in found if asset not in seen]
        seen.update(found)
    assert {"/assets/web/configurator.js", "/assets/web/fragments.js", "/assets/report.css"} <= seen
    kinds = {path: client.get(path).mimetype for path in seen}
    assert set(kinds.values()) == {"text/css", "text/javascript", "image/svg+xml"}


def test_the_form_offers_the_whole_catalog(client, catalog):
    """Every model, accelerator, engine and format can be chosen; the address chooses them."""
    text = served(client, "/?model=Qwen/Qwen3-8B&gpu=rtx-4090&engine=vllm")
    offered = set(re.findall(r'<option value="([^"]+)"', text))
    assert {*catalog.models, *catalog.gpus, *catalog.engines, *catalog.quantizations} <= offered
    chosen = re.findall(r'<option value="([^"]+)"[^>]* selected>', text)
    assert {"qwen3-8b", "rtx-4090", "vllm"} == set(chosen)


def test_parameters_without_a_field_are_kept(client):
    """What the form does not show is carried along."""
    text = served(client, "/?model=qwen3-8b&gpu=rtx-4090&vision=true")
    assert '<input type="hidden" name="vision" value="true">' in text


@pytest.mark.parametrize("query", ["b_model=no-such-model", "model=qwen3-8b&gpu=no-such-gpu"])
def test_unknown_subjects_are_problems(client, query):
    assert client.get(f"/?{query}").status_code == 404


@pytest.mark.parametrize("query", ["colour=red", "b_colour=red", "gpu_count=0", "b_gpu_count=0"])
def test_wrong_parameters_are_problems(client, query):
    assert client.get(f"/?{query}").status_code == 422


def test_a_hostile_value_is_only_text(client):
    """A value of the address stands in the page as text."""
    text = served(client, "/?model=qwen3-8b&engine=%22%3E%3Cscript%3Ealert(1)%3C/script%3E")
    assert "<script>alert" not in text


def test_the_element_speaks_every_language(client):
    """The script holds its sentences in each language, and the names of all parameters."""
    script = served(client, "/embed.js")
    assert "__" not in re.sub(r"//.*", "", script)
    messages = json.loads(re.search(r"const MESSAGES = (\{.*?\});", script)[1])
    assert messages.keys() == LANGUAGES.keys()
    texts = [tuple(said.values()) for said in messages.values()]
    assert len(set(texts)) == len(texts)
    assert '"context_tokens"' in re.search(r"const PARAMETERS = (\[.*?\]);", script)[1]


def test_the_element_may_be_loaded_from_other_origins(client):
    """A module of another origin needs CORS; it is kept by caches and revalidated."""
    answer = client.get("/embed.js")
    assert answer.mimetype == "text/javascript"
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert answer.headers["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert client.get("/embed.js", headers={"If-None-Match": answer.headers["ETag"]}).status_code == 304


class Pseudo(NullTranslations):
    """A language in which every translated text is bracketed."""

    def gettext(self, message: str) -> str:
        return f"⟦{message}⟧"

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return f"⟦{msgid1 if n == 1 else msgid2}⟧"


def test_the_pages_say_nothing_without_a_translation(app, catalog, monkeypatch):
    """In a made-up language all words outside its brackets are names and ids of the catalog."""
    pseudo = Voice(LANGUAGES["en"], Pseudo())
    for module in (web, scenarios):
        monkeypatch.setattr(module, "voice", lambda *_: pseudo)
    names = {*(language.endonym for language in LANGUAGES.values()), "Safetensors", "GGUF", "MLX"}
    for thing in (*catalog.models.values(), *catalog.gpus.values(), *catalog.engines.values()):
        names |= {thing.id, thing.name, getattr(thing, "publisher", "GGUF"), getattr(thing, "vendor", "GGUF")}
    names |= {pseudo.currency(code) for code in CURRENCIES}  # names of CLDR, not of a message catalog
    names |= {*catalog.quantizations, *(d for e in catalog.engines.values() for d in e.kv_cache_dtypes)}
    with app.test_request_context("/?model=qwen3-8b&gpu=rtx-4090"):
        g.language = "en"
        start = render_template("configurator.html", **web.start_values(catalog, None))
        question = asked(request, catalog)
        page = report.report_page(question, catalog, None)
    page = re.sub(r"<article.*</article>", "", page, flags=re.S)  # checked with the fragments
    for text in (start, page):
        said = re.findall(r">([^<]+)<", text)
        said += re.findall(r'(?:aria-label|placeholder|label|content|data-text-\w+)="([^"]+)"', text)
        for piece in map(unescape, said):
            outside = re.sub(r"⟦.*⟧", " ", piece, flags=re.S).strip()
            assert outside in names or not re.search(r"[^\W\d_]{2,}", outside) or "width=" in outside, piece
