"""A report about an accelerator alone: its facts, the models that it runs, prices, measurements."""

import json
import re
from functools import cache
from pathlib import Path

import pytest

from service.catalog import load_catalog
from service.i18n import LANGUAGES
from service.render.fragments import SECTIONS, render
from service.render.report import sections_of_gpu

ROOT = Path(__file__).parents[2]
NAMES = ("accelerator", "models", "memory-tiers", "cloud", "measurements")


@cache
def facts():
    return load_catalog(ROOT / "config")


def data(section, gpu="rtx-4090"):
    catalog = facts()
    return json.loads(render(section, None, catalog, "en", "application/json", catalog.gpus[gpu]))


def test_the_report_has_its_sections_in_order(client):
    report = client.get("/v1/report?gpu=rtx-4090&lang=en").json
    assert [part["section"] for part in report["sections"]] == list(NAMES) == list(sections_of_gpu())
    assert all(part["available"] for part in report["sections"])
    assert report["title"].startswith("RTX 4090")


@pytest.mark.parametrize("name", NAMES)
def test_a_section_alone_is_part_of_the_report(client, name):
    alone = client.get(f"/v1/fragments/{name}?gpu=RTX-4090&lang=de", headers={"Accept": "text/html"})
    whole = client.get("/v1/report?gpu=rtx-4090&lang=de", headers={"Accept": "text/html"})
    assert alone.get_data(as_text=True).strip() in whole.get_data(as_text=True)


def test_sections_about_a_model_still_need_one(client):
    answer = client.get("/v1/fragments/memory?gpu=rtx-4090")
    assert answer.status_code == 422
    assert [error["parameter"] for error in answer.json["errors"]] == ["model"]


def test_the_facts_are_those_of_the_card():
    """NVIDIA's published figures of the RTX 4090, and the driver's 24,564 MiB."""
    found = data("accelerator")
    assert found["memory"]["bytes"] == 24_564 * 2**20
    card = found["facts"]
    assert (card["memory_bandwidth_gbs"], card["tdp_watts"], card["compute_capability"]) == (1008.0, 450, 8.9)
    assert (card["fp16_tflops"], card["fp4_tflops"]) == (165.2, None)
    assert {"llama.cpp", "vllm"} <= {row["engine"] for row in found["engines"]}


def test_the_models_are_those_of_the_plan(client):
    """The same models, formats and engines in the same order as `/v1/plan?gpu=…` ranks them."""
    plan = client.get("/v1/plan?gpu=rtx-4090").json
    section = data("models")
    keys = ("place", "model", "quantization", "engine", "verdict")
    assert [[row[key] for key in keys] for row in section["rows"]] == [
        [item[key] for key in keys] for item in plan["items"]
    ]
    assert section["fitting"] == plan["total"] == len(section["rows"])


def test_more_cards_never_run_fewer_models():
    """One, two and four of them, as many as a machine holds; the first row is the section of models."""
    rows = data("memory-tiers")["rows"]
    assert [row["gpu_count"] for row in rows] == [1, 2, 4]
    fitting = [row["fitting"] for row in rows]
    assert fitting == sorted(fitting)
    assert fitting[0] == data("models")["fitting"]
    assert [row["memory"]["bytes"] for row in rows] == [n * 24_564 * 2**20 for n in (1, 2, 4)]


def test_the_offers_are_those_of_the_catalog():
    """Every offer once; the cheapest current one is dated, dependable, and cheapest per GPU."""
    catalog = facts()
    known = [offer for offer in catalog.costs.offers if offer.gpu == "h100-80gb-sxm"]
    found = data("cloud", "h100-80gb-sxm")
    assert {row["id"] for row in found["rows"]} == {offer.id for offer in known}
    plain = [o for o in known if o.current and o.commitment not in ("spot", "reserved")]
    assert found["cheapest_current"]["usd_per_gpu_hour"] == min(o.usd_per_gpu_hour for o in plain)


def test_the_measurements_are_counted_all_and_shown_in_part(client):
    """The total is that of `/v1/measurements`; of each model at most two records stand in the table."""
    total = client.get("/v1/measurements?gpu=h100-80gb-sxm&limit=1").json["total"]
    found = data("measurements", "h100-80gb-sxm")
    assert found["total"] == total
    shown = [row["model_name"] for row in found["rows"]]
    assert len(set(shown)) == found["models"]
    assert max(shown.count(name) for name in shown) <= 2


@pytest.mark.parametrize("gpu", sorted(facts().gpus))
def test_every_accelerator_has_a_report_in_every_language(gpu):
    """The small sections; those that plan are rendered for some accelerators below."""
    catalog = facts()
    for name in ("accelerator", "cloud", "measurements"):
        for tag in LANGUAGES:
            for kind in ("text/html", "text/markdown"):
                text = render(name, None, catalog, tag, kind, catalog.gpus[gpu]).decode()
                assert "%(" not in text
                assert not re.search(r"\bNone\b(?! of)", text)


@pytest.mark.parametrize("gpu", ["rtx-3060-12gb", "macbook-pro-m4-max-128gb", "b200-180gb"])
def test_planned_sections_render_in_every_language(gpu):
    catalog = facts()
    for name in ("models", "memory-tiers"):
        for tag in LANGUAGES:
            text = render(name, None, catalog, tag, "text/html", catalog.gpus[gpu]).decode()
            assert "%(" not in text


def test_the_page_stands_at_a_stable_address(client):
    """Title, description and canonical address name the card, whatever alias was asked for."""
    text = client.get("/report?gpu=4090&lang=de").get_data(as_text=True)
    assert "<title>RTX 4090 (24GB): welche Sprachmodelle" in text
    assert '<link rel="canonical" href="/report?gpu=rtx-4090&amp;lang=de">' in text
    assert 'name="description" content="Welche Open-Weight-Modelle auf RTX 4090' in text
    assert text.count("<section ") == len(NAMES)


def test_a_described_accelerator_has_a_report(client):
    """A card of the caller's own: its numbers, the models that it runs, no offers and no measurements."""
    spec = {"name": "Prototype", "memory_gib": 47.5, "memory_bandwidth_gbs": 1800, "fp16_tflops": 200}
    report = client.post("/v1/report", json={"gpu_spec": spec, "lang": "en"}).json
    parts = {part["section"]: part for part in report["sections"]}
    assert "described" in parts["accelerator"]["sentences"][0]
    assert parts["models"]["fitting"] > 0
    assert parts["cloud"]["total"] == parts["measurements"]["total"] == 0


def test_a_model_alone_and_nothing_at_all_are_as_before(client):
    assert client.get("/v1/report?model=qwen3-8b").json["sections"][0]["section"] == "about"
    missing = client.get("/v1/report")
    assert missing.status_code == 422
    assert [error["parameter"] for error in missing.json["errors"]] == ["model"]


def test_the_section_about_the_card_is_there_with_a_model_too(client):
    found = client.get("/v1/fragments/accelerator?model=qwen3-8b&gpu=rtx-4090").json
    assert found["gpu"]["id"] == "rtx-4090"
    assert "accelerator" in SECTIONS
