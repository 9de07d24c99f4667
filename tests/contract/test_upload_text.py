"""What strangers write is shown and never interpreted: in no representation, header or spreadsheet."""

import csv
import re
from html.parser import HTMLParser
from io import StringIO

import pytest

from service.api.documents.measurements_csv import cell
from service.api.submission_fields import SUBMISSION
from service.api.written_text import Line
from tests.uploads import MEASUREMENTS, ROW, Site

QUESTION = {"model": "qwen3-8b", "gpu": "rtx-4090", "engine": "llama.cpp"}
PAYLOADS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'><svg/onload=alert(1)>",
    "</section></article><iframe src=//evil.example>",
    "[click](javascript:alert(1)) ![x](https://evil.example/x.png)",
    "`code` | cell | **bold** <b>\\",
    '=HYPERLINK("https://evil.example";"x")',
    "+cmd|' /C calc'!A0",
    "-2+3+cmd|' /C calc'!A0",
    "@SUM(1+1)*cmd",
    "{{ 7*7 }} {% raw %} ${7*7} %(name)s",
    "&lt;script&gt; &#60;b&#62;",
)
# Free text of one line, and of several; addresses and names of the catalog cannot hold any of this.
LINES = ("interconnect", "engine_version")
PROSE = ("note", "log")
SHOWN = (*LINES, "note")
_ALLOWED_TAGS = re.compile(r"[a-z][a-z0-9]*")


class Elements(HTMLParser):
    """Names and attributes of every element."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """One published measurement for each payload, which stands in every field of free text at once."""
    found = Site(tmp_path_factory.mktemp("site"))
    rows = [{**ROW, **dict.fromkeys((*LINES, *PROSE), payload)} for payload in PAYLOADS]
    receipt = found.submit(*rows)
    assert receipt.status_code == 201, receipt.get_data(as_text=True)
    for name in receipt.json["ids"]:
        assert found.review(name, "published", note="<script>alert(2)</script>").status_code == 200
    return found


def test_every_field_of_text_is_covered():
    """A new field of free text must be added to the payloads here."""
    free = {
        name for name, field in SUBMISSION.items() if type(field) is Line or type(field).__name__ == "Prose"
    }
    assert free == {*LINES, *PROSE, "model", "gpu"}


def test_json_holds_it_as_it_is(site):
    """JSON is data: every payload comes back unchanged, under a type that no browser renders."""
    answer = site.client.get(
        MEASUREMENTS, query_string={"model": "qwen3-8b", "gpu": "rtx-4090", "limit": 500}
    )
    assert answer.mimetype == "application/json"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    found = [item["uploaded"]["submitted"] for item in answer.json["items"] if item["uploaded"]]
    assert [row["note"] for row in found] == list(PAYLOADS)
    assert all(len({row[name] for name in (*LINES, *PROSE)}) == 1 for row in found)


@pytest.mark.parametrize(
    "path", ["/v1/fragments/measurements", "/v1/fragments/speed", "/v1/report", "/report"]
)
@pytest.mark.parametrize("with_gpu", [True, False])
def test_html_shows_it_as_text(site, path, with_gpu):
    """No element, no attribute and no address in the page comes from what was uploaded."""
    if not with_gpu and path.endswith("speed"):
        return
    query = QUESTION if with_gpu else {"model": "qwen3-8b"}
    answer = site.client.get(path, query_string=query, headers={"Accept": "text/html"})
    assert answer.status_code == 200
    text = answer.get_data(as_text=True)
    elements = Elements(text).found
    assert {tag for tag, _ in elements} & {"script", "iframe", "img", "b"} == set() or path == "/report"
    if path == "/report":
        scripts = [attributes for tag, attributes in elements if tag == "script"]
        assert all(attributes.get("src", "").startswith("/") for attributes in scripts)
        assert {tag for tag, _ in elements} & {"iframe", "b"} == set()
    for _, attributes in elements:
        assert not any(name.startswith("on") for name in attributes)
        assert not any(
            "javascript:" in (value or "") or "evil.example" in (value or "") for value in attributes.values()
        )


def test_html_has_every_payload_as_text(site):
    """What is shown of a record is shown whole: escaping loses nothing."""
    answer = site.client.get(
        "/v1/fragments/measurements", query_string=QUESTION, headers={"Accept": "text/html"}
    )

    class Text(HTMLParser):
        text = ""

        def handle_data(self, data):
            self.text += data

    parser = Text()
    parser.feed(answer.get_data(as_text=True))
    shown = re.sub(r"\s+", " ", parser.text)
    for payload in PAYLOADS:
        assert payload in shown, payload


@pytest.mark.parametrize("path", ["/v1/fragments/measurements", "/v1/report"])
def test_markdown_escapes_it(site, path):
    """No link, no image, no code, no HTML: what begins Markdown in a payload is escaped."""
    answer = site.client.get(path, query_string=QUESTION, headers={"Accept": "text/markdown"})
    text = answer.get_data(as_text=True)
    for raw in (
        "<script",
        "<img",
        "<svg/onload",
        "<iframe",
        "](javascript:",
        "](https://evil",
        "**bold**",
        "<b>",
    ):
        assert raw not in text.replace("\\<", "").replace("\\]", "").replace("\\*", ""), raw
    rows = [line for line in text.splitlines() if line.startswith("|") and "example.org/run/1" in line]
    assert len(rows) == len(PAYLOADS)
    assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 1  # a payload opens no cell


def test_svg_has_nothing_of_it(site):
    """Charts are drawn from numbers and names of the catalog."""
    answer = site.client.get("/v1/report", query_string=QUESTION, headers={"Accept": "text/html"})
    charts = re.findall(r"<svg.*?</svg>", answer.get_data(as_text=True), re.S)
    for chart in charts:
        assert "alert" not in chart
        assert "evil.example" not in chart


def test_csv_holds_no_formula(site):
    """A cell that a spreadsheet would compute begins with an apostrophe; quotes keep the rest in its cell."""
    query = {"model": "qwen3-8b", "gpu": "rtx-4090", "limit": 500}
    answer = site.client.get(MEASUREMENTS, query_string=query, headers={"Accept": "text/csv"})
    assert answer.mimetype == "text/csv"
    rows = list(csv.DictReader(StringIO(answer.get_data(as_text=True), newline="")))
    uploaded = [row for row in rows if row["provenance"] == "uploaded"]
    assert len(uploaded) == len(PAYLOADS)
    for row, payload in zip(uploaded, PAYLOADS, strict=True):
        for name in (*LINES, "remark"):
            assert row[name] == (f"'{payload}" if payload[0] in "=+-@" else payload)
        assert not any(value.startswith(("=", "+", "@", "\t", "\r")) for value in row.values())


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *((text, f"'{text}") for text in ("=1", "+1", "-x", "@a", "\tx", "\rx")),
        ("a=1", "a=1"),
        (-1.5, "-1.5"),
        (True, "true"),
        (None, ""),
        ("", ""),
    ],
)
def test_cells(value, expected):
    """Only text is guarded: a negative number stays a number."""
    assert cell(value) == expected


def test_headers_hold_nothing_of_it(site):
    """No answer repeats text of users in a header."""
    name = next(i["id"] for i in site.listed(model="qwen3-8b", gpu="rtx-4090") if i["uploaded"])
    for answer in (
        site.client.get(f"{MEASUREMENTS}/{name}"),
        site.client.get(f"{MEASUREMENTS}/{name}/history", headers=site.reviewer),
        site.client.post(MEASUREMENTS, json={**ROW, "<script>": "\r\nX-Evil: 1"}, headers=site.submitter),
    ):
        assert not re.search(r"script|evil|alert", str(answer.headers), re.I)


def test_problems_repeat_names_as_json_only(site):
    """A field's name in a problem is JSON text, never markup, and cut to a bounded length."""
    name = "<script>" * 100
    answer = site.submit({**ROW, name: 1})
    assert answer.mimetype == "application/problem+json"
    assert all(len(fault["parameter"]) <= 200 for fault in answer.json["errors"])
