"""The whole report: its sections, their order, its page, and the addresses that lead to it."""

import re
from xml.etree import ElementTree

import pytest

from service.app import create_app
from service.render.registry import SECTIONS
from service.settings import Settings

QUESTION = "model=qwen3-8b&gpu=rtx-4090"
# Order of a report, as the API promises it; a report holds those that this version computes.
ON_GPU = [
    "summary",
    "scenario",
    "memory",
    "speed",
    "recommendations",
    "commands",
    "cloud",
    "finetuning",
    "diagnosis",
    "context",
    "quantizations",
    "measurements",
    "derivation",
    "faq",
    "gpus",
    "models",
]
OF_MODEL = [
    "about",
    "measurements",
    "estimates",
    "architecture",
    "context",
    "memory-tiers",
    "quantizations",
    "commands",
    "tips",
]
PUBLIC = "https://sizing.example.org"


def parts(client, query):
    return client.get(f"/v1/report?{query}", headers={"Accept": "application/json"}).json["sections"]


def test_sections_come_in_the_promised_order(client):
    """On a GPU: every section that is computed, once, in order."""
    names = [part["section"] for part in parts(client, QUESTION)]
    assert names == [name for name in ON_GPU if SECTIONS[name].available]
    assert len(names) >= 10


def test_a_model_alone_has_its_own_order(client):
    """Without a GPU: only sections that have something to say about a model."""
    found = parts(client, "model=qwen3-8b")
    names = [part["section"] for part in found]
    assert names == [name for name in OF_MODEL if name in names]
    assert names
    assert all(part["available"] for part in found)


@pytest.mark.parametrize("accept", ["application/json", "text/html", "text/markdown"])
def test_a_report_is_its_fragments(client, accept):
    """Each section is the same as when it is asked for by itself, so no two can disagree."""
    headers = {"Accept": accept}
    whole = client.get(f"/v1/report?{QUESTION}&lang=de", headers=headers)
    assert whole.mimetype == accept
    assert whole.headers["Content-Language"] == "de"
    text = whole.get_data(as_text=True)
    for name in ("summary", "memory", "quantizations"):
        alone = client.get(f"/v1/fragments/{name}?{QUESTION}&lang=de", headers=headers)
        assert alone.get_data(as_text=True).strip() in text


def test_the_html_is_one_article(client):
    """One element with its language; sections are its only children."""
    html = client.get(f"/v1/report?{QUESTION}&lang=zh", headers={"Accept": "text/html"}).get_data(
        as_text=True
    )
    root = ElementTree.fromstring(html)
    assert (root.tag, root.get("class"), root.get("lang")) == ("article", "sizing-report", "zh-Hans")
    assert {child.tag for child in root} == {"section"}


def test_a_described_model_is_reported_too(client):
    """A POST answers as the GET of the same scenario does, and is never stored."""
    body = {"model": "qwen3-8b", "gpu": "rtx-4090", "lang": "de"}
    posted = client.post("/v1/report", json=body)
    assert posted.json == client.get(f"/v1/report?{QUESTION}&lang=de").json
    assert posted.headers["Cache-Control"] == "no-store"


def test_reports_are_kept_like_fragments(client):
    """A second request is answered from memory, and revalidated by its ETag."""
    first = client.get(f"/v1/report?{QUESTION}&lang=zh")
    again = client.get(f"/v1/report?{QUESTION}&lang=zh")
    assert again.headers["X-Cache"] == "hit-memory"
    tag = {"If-None-Match": first.headers["ETag"]}
    assert client.get(f"/v1/report?{QUESTION}&lang=zh", headers=tag).status_code == 304


def links(text, relation):
    return [
        dict(re.findall(r'(\w+)="([^"]*)"', tag))
        for tag in re.findall(rf'<link rel="{relation}"[^>]*>', text)
    ]


def test_the_page_has_a_head_for_search_engines():
    """Title, description, one canonical address for all scenarios of the pair, and every language."""
    client = create_app(Settings(public_url=PUBLIC)).test_client()
    text = client.get(f"/report?{QUESTION}&context_tokens=4096&lang=de").get_data(as_text=True)
    assert "<title>Qwen3 8B auf RTX 4090" in text
    assert 'name="description" content="Im Format q4_k_m' in text
    address = f"{PUBLIC}/report?model=qwen3-8b&amp;gpu=rtx-4090"
    assert [link["href"] for link in links(text, "canonical")] == [f"{address}&amp;lang=de"]
    alternates = {link["hreflang"]: link["href"] for link in links(text, "alternate")}
    assert alternates == {
        "de": f"{address}&amp;lang=de",
        "zh-Hans": f"{address}&amp;lang=zh",
        "en": f"{address}&amp;lang=en",
        "x-default": address,
    }


def test_the_page_holds_the_report(client):
    """The page's article is the fragment; an alias leads to the address of the id."""
    text = client.get("/report?model=Qwen/Qwen3-8B&gpu=rtx-4090&lang=en").get_data(as_text=True)
    fragment = client.get(f"/v1/report?{QUESTION}&lang=en", headers={"Accept": "text/html"})
    assert re.sub(r"\s", "", fragment.get_data(as_text=True)) in re.sub(r"\s", "", text)
    assert re.findall("<script[^>]*>", text) == ['<script type="module" src="/assets/web/report.js">']
    assert links(text, "canonical")[0]["href"] == "/report?model=qwen3-8b&amp;gpu=rtx-4090&amp;lang=en"


def test_the_languages_of_a_page_keep_the_scenario(client):
    """Links to the other languages lead to the same scenario."""
    text = client.get(f"/report?{QUESTION}&context_tokens=4096&lang=en").get_data(as_text=True)
    nav = re.findall(r'<a href="([^"]+)" hreflang="([^"]+)"', text)
    assert [tag for _, tag in nav] == ["de", "zh-Hans", "en"]
    for href, tag in nav:
        answer = client.get(href.replace("&amp;", "&"))
        assert answer.headers["Content-Language"] == tag
        assert "context_tokens=4096" in href


@pytest.mark.parametrize("path", ["/report", "/"])
def test_empty_fields_of_a_form_are_left_out_of_the_address(client, path):
    """A form sends its empty fields; the page moves to the address without them."""
    answer = client.get(f"{path}?model=qwen3-8b&quantization=&gpu=rtx-4090&context_tokens=+")
    assert answer.status_code == 302
    assert answer.headers["Location"] == f"{path}?{QUESTION}"
    assert client.get(f"{path}?{QUESTION}&quantisation=q4_k_m").status_code == 422
    assert client.get(f"{path}?model=no-such-model&gpu=rtx-4090").status_code == 404


def test_the_sitemap_lists_every_page_once(catalog):
    """The start, models and accelerators alone, and each pair, in three languages; few enough for a file."""
    client = create_app(Settings(public_url=PUBLIC)).test_client()
    answer = client.get("/sitemap.xml")
    assert answer.mimetype == "application/xml"
    space = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
    found = [place.text for place in ElementTree.fromstring(answer.data).iter(f"{space}loc")]
    pages = 1 + len(catalog.models) + len(catalog.gpus) + len(catalog.models) * len(catalog.gpus)
    assert len(found) == len(set(found)) == pages * 3 <= 50_000
    assert f"{PUBLIC}/report?gpu=rtx-4090&lang=de" in found
    assert f"{PUBLIC}/report?{QUESTION}&lang=zh" in found
    for address in found[:6]:
        assert client.get(address.removeprefix(PUBLIC)).status_code == 200


def test_the_sitemap_links_the_languages_of_each_page():
    """Each entry names all languages of its page, itself included, as the page's own head does."""
    client = create_app(Settings(public_url=PUBLIC)).test_client()
    tree = ElementTree.fromstring(client.get("/sitemap.xml").data)
    space, xhtml = "{http://www.sitemaps.org/schemas/sitemap/0.9}", "{http://www.w3.org/1999/xhtml}"
    entry = next(
        url for url in tree if url.findtext(f"{space}loc") == f"{PUBLIC}/report?gpu=rtx-4090&lang=de"
    )
    named = {link.get("hreflang"): link.get("href") for link in entry.iter(f"{xhtml}link")}
    page = client.get("/report?gpu=rtx-4090&lang=de").get_data(as_text=True)
    assert named == {
        link["hreflang"]: link["href"].replace("&amp;", "&") for link in links(page, "alternate")
    }


def test_crawlers_are_told_where_to_go():
    """robots.txt keeps them from the API and names the sitemap, if there is one."""
    public = create_app(Settings(public_url=PUBLIC)).test_client().get("/robots.txt")
    assert public.mimetype == "text/plain"
    lines = public.get_data(as_text=True).splitlines()
    assert "Disallow: /v1/" in lines
    assert f"Sitemap: {PUBLIC}/sitemap.xml" in lines


def test_without_a_public_address_robots_name_no_sitemap(client):
    assert "Sitemap" not in client.get("/robots.txt").get_data(as_text=True)


@pytest.mark.parametrize("path", ["/docs", "/problems/unknown-model", "/", "/report?gpu=rtx-4090"])
def test_every_page_has_an_icon(client, path):
    """Browsers need not ask for /favicon.ico."""
    assert links(client.get(path).get_data(as_text=True), "icon")[0]["href"] == "/assets/web/icon.svg"


def test_there_is_no_sitemap_without_a_public_address(client):
    """A sitemap with relative addresses would be invalid."""
    assert client.get("/sitemap.xml").status_code == 404
