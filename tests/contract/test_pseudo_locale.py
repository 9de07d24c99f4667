"""A language made at run time, in which every translated text is bracketed: nothing is said outside of it."""

import json
import re
from collections.abc import Iterator
from html import unescape

import pytest
from flask.testing import FlaskClient

from service.api import web
from service.app import create_app
from service.catalog import Catalog
from service.core.notes import Note
from service.errors import ParameterError
from service.i18n import voice, voices
from service.i18n.messages import note_text, parameter_message, problem_text
from service.i18n.messages.notes import REASON_CODES, WARNING_CODES
from service.i18n.messages.parameters import PARAMETER_CODES
from service.i18n.messages.problems import PROBLEMS
from service.render.report import sections_of_gpu
from service.settings import Settings
from tests.contract.test_fragments import Pseudo, dates, strings, without

GPUS = ("h100-80gb-sxm", "mac-studio-m3-ultra-512gb", "dgx-spark-gb10-128gb", "mlu590-80gb")
# Units, and currencies as CLDR writes them: of no message catalog.
NO_WORDS = {"GiB", "GB", "TFLOPS", "TOPS", "EUR", "CNY", "CN", "HTTP"}
PAIR = "model=qwen3-8b&gpu=rtx-4090"


@pytest.fixture(autouse=True, scope="module")
def made_up() -> Iterator[None]:
    """English speaks the made-up language; no voice of it outlives these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(voices, "_translations", lambda _tag: Pseudo())
        voice.cache_clear()
        web.embed_script.cache_clear()
        yield
    voice.cache_clear()
    web.embed_script.cache_clear()


@pytest.fixture(scope="module")
def speaking(made_up: None) -> FlaskClient:
    """A service that was started in that language."""
    return create_app(Settings(cache_memory_bytes=0)).test_client()


def outside(text: str) -> str:
    """The text without its brackets, which may hold each other."""
    while "⟦" in text:
        text = re.sub(r"⟦[^⟦⟧]*⟧", " ", text)
    return text


def words(text: str, known: set[str]) -> set[str]:
    left = outside(without(text, {name for name in known if "⟦" not in name and len(name) > 2}))
    return set(re.findall(r"[^\W\d_]{2,}", without(left, known))) - NO_WORDS


def untranslated(client: FlaskClient, path: str, query: str) -> dict[str, set[str]]:
    """Words of an answer's HTML outside the brackets that are no data of its JSON."""
    answer = client.get(f"{path}?{query}").json
    known = set(strings(answer)) | dates(answer)
    known |= {name.upper() for name in known}
    html = client.get(f"{path}?{query}", headers={"Accept": "text/html"}).get_data(as_text=True)
    found = {piece: words(unescape(piece), known) for piece in re.findall(r">([^<]+)<", html)}
    return {piece: left for piece, left in found.items() if left}


@pytest.mark.parametrize("section", sections_of_gpu())
@pytest.mark.parametrize("gpu", GPUS)
def test_sections_about_a_gpu(speaking: FlaskClient, gpu: str, section: str):
    assert untranslated(speaking, f"/v1/fragments/{section}", f"gpu={gpu}&lang=en") == {}


@pytest.mark.parametrize("currency", ["EUR", "CNY"])
@pytest.mark.parametrize("section", ["cloud", "recommendations", "speed", "derivation", "gpus"])
def test_sections_in_another_currency(speaking: FlaskClient, section: str, currency: str):
    """Prices and the sentence about their rate; the derivation of speed and cost."""
    query = f"{PAIR}&currency={currency}&lang=en"
    assert untranslated(speaking, f"/v1/fragments/{section}", query) == {}


@pytest.mark.parametrize("code", sorted({*REASON_CODES, *WARNING_CODES}))
def test_reasons_and_warnings(code: str):
    """Also of operators' facts, prices, speeds, fine-tuning and plans."""
    assert words(note_text(voice("en"), Note(code, {})), set()) == set()


@pytest.mark.parametrize("code", sorted(PARAMETER_CODES))
def test_errors_of_parameters(code: str):
    """Also of submitted measurements; with everything that can be added to them."""
    values = {"suggestion": "42", "valid": ("1", "2"), "parameter": "3"}
    said = parameter_message(voice("en"), ParameterError("4", code, ("5", "6"), values))
    assert words(said, set()) == set()


@pytest.mark.parametrize("slug", sorted(PROBLEMS))
def test_problems(slug: str):
    """Also of keys, uploads and rate limits; with everything that can be added to them."""
    values = {
        "limit_bytes": 7,
        "limit_requests": 8,
        "limit_seconds": 9,
        "missing": ["1"],
        "suggestions": ["2"],
    }
    for said in problem_text(voice("en"), slug, name="3", architecture="4", **values):
        assert said
        assert words(said, set()) == set()


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"/v1/sizing?{PAIR}&gpu_count=many", 422),
        ("/v1/sizing?model=qwen3-8&gpu=rtx-4090", 404),
        ("/v1/fragments/sumary?model=qwen3-8b", 404),
        ("/nothing-here", 404),
        ("/v1/measurements/uploaded/nothing", 404),
    ],
)
def test_answers_with_a_problem(speaking: FlaskClient, path: str, status: int):
    """What a client reads: title, detail and the message of each parameter."""
    problem = speaking.get(path, headers={"Accept-Language": "en"}).json
    assert problem["status"] == status
    known = {"qwen3", "rtx", "sumary", "gpu_count", *problem.get("suggestions", ())}
    said = [problem["title"], problem["detail"], *(error["message"] for error in problem.get("errors", ()))]
    assert [text for text in said if "⟦" not in text or words(text, known)] == []


@pytest.mark.parametrize("slug", sorted(PROBLEMS))
def test_pages_about_problems(speaking: FlaskClient, slug: str):
    page = speaking.get(f"/problems/{slug}?lang=en").get_data(as_text=True)
    body = page.partition("<body")[2]
    said = [unescape(piece) for piece in re.findall(r">([^<]+)<", body)]
    assert any("⟦" in piece for piece in said)
    names = {slug, f"/problems/{slug}", "Deutsch", "中文", "English"}
    assert [piece for piece in said if words(piece, names)] == []


def test_the_embed(speaking: FlaskClient):
    """Every sentence of the element is one of a message catalog."""
    script = speaking.get("/embed.js").get_data(as_text=True)
    found = re.search(r"const MESSAGES = (\{.*?\});", script)
    assert found is not None
    messages = json.loads(found[1])["en"]
    assert messages.keys() == web._EMBED_MESSAGES.keys()
    assert [text for text in messages.values() if not text.startswith("⟦")] == []


def test_the_heat_table(speaking: FlaskClient, catalog: Catalog):
    query = "models=qwen3-8b&gpus=rtx-4090&quantizations=q4_k_m&lang=en"
    names = {catalog.models["qwen3-8b"].name, catalog.gpus["rtx-4090"].name, "q4_k_m", "llama.cpp"}
    html = speaking.get(f"/v1/matrix?{query}", headers={"Accept": "text/html"}).get_data(as_text=True)
    assert "⟦" in html
    assert [piece for piece in re.findall(r">([^<]+)<", html) if words(unescape(piece), names)] == []
