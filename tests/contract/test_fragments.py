"""Report fragments: what they say, and that their HTML and Markdown are safe to embed."""

import json
import re
from collections.abc import Iterator
from gettext import NullTranslations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from service.core.sizing import Note, Sizing, Verdict
from service.errors import UnknownSection
from service.i18n import LANGUAGES, Voice, content_language, voice
from service.render.fragments import SECTIONS, render, render_with
from service.render.markdown import code, escape
from tests.contract import fragment_cases
from tests.contract.fragment_cases import facts, fragment, sized
from tests.unit.factories import GIB, make_gpu, make_model, make_plan, make_scenario, make_sizing

ROOT = Path(__file__).parents[2]
NBSP = "\u00a0"
AVAILABLE = (*fragment_cases.SECTIONS, "gpus", "models")
SCENARIOS = tuple(fragment_cases.SCENARIOS)
SVG = {"svg", "title", "desc", "rect", "line", "polyline", "polygon", "circle", "text"}
# Geometry and plain colors of a chart; nothing that runs, loads or names anything.
DRAWN = {
    "role",
    "viewBox",
    "width",
    "height",
    "x",
    "y",
    "x1",
    "y1",
    "x2",
    "y2",
    "cx",
    "cy",
    "r",
    "points",
    "fill",
    "fill-opacity",
    "stroke",
    "stroke-width",
    "stroke-opacity",
    "stroke-dasharray",
    "text-anchor",
    "font-size",
}
HOSTILE = 'Bad <script>alert("1")</script> & | *x* _y_ `z` [a](javascript:b)\n# head'


def as_json(sizing: Sizing | None, section: str, language: str = "en") -> dict[str, Any]:
    return dict(json.loads(render(section, sizing, facts(), language, "application/json")))


def as_html(sizing: Sizing | None, section: str, language: str = "en") -> str:
    return render(section, sizing, facts(), language, "text/html").decode()


def as_markdown(sizing: Sizing | None, section: str, language: str = "en") -> str:
    return render(section, sizing, facts(), language, "text/markdown").decode()


def texts(html: str) -> list[str]:
    """The visible pieces of text, as written."""
    return [text for text in ElementTree.fromstring(html).itertext() if text.strip()]


@pytest.mark.parametrize(
    ("path", "case"),
    [(path, case) for path, *case in fragment_cases.cases()],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_fragment_is_as_it_was_reviewed(path: Path, case: list[str]):
    """`python -m tests.contract.fragment_cases` writes the files anew; review the difference."""
    assert fragment(*case) == path.read_text(encoding="utf-8")


def test_kimi_k31_pro_needs_what_its_architecture_says():
    """24 layers x (576 + 128) x 2 B a token; 69 layers x (110,592 + 1,572,864) x 4 B of state a sequence."""
    answer = as_json(sized("kimi"), "memory")
    assert answer["kv_bytes_per_token"] == 24 * (576 + 128) * 2 == 33_792
    assert answer["state_bytes_per_sequence"] == 69 * (110_592 + 1_572_864) * 4 == 464_633_856
    assert answer["memory"]["kv_cache"] == {"bytes": 33_792 * 8192, "gib": 0.26}
    # llama-quantize --dry-run writes 1,566.2 GiB, of which the token embedding stays in system RAM.
    held = answer["memory"]["weights"]["bytes"] + answer["memory"]["host"]["bytes"]
    assert held / GIB == pytest.approx(1566.2, rel=0.001)


@pytest.mark.parametrize(
    ("language", "per_token", "state", "verdict"),
    [
        ("de", "33.792", "464.633.856", "passt nicht"),
        ("zh", "33,792", "464,633,856", "装不下"),
        ("en", "33,792", "464,633,856", "does not fit"),
    ],
)
def test_figures_are_written_in_the_language(language: str, per_token: str, state: str, verdict: str):
    memory = texts(fragment("kimi", "memory", language, "text/html"))
    assert {per_token, state} <= {*memory}
    assert verdict in texts(fragment("kimi", "summary", language, "text/html"))


def test_llama_31_8b_keeps_128_kib_a_token():
    """32 layers x 8 KV heads x 128 x 2 (K and V) x 2 B; bf16 weights of 8,030,261,248 parameters."""
    answer = as_json(sized("llama"), "memory")
    assert answer["kv_bytes_per_token"] == 32 * 8 * 128 * 2 * 2 == 131_072
    assert answer["memory"]["weights"]["bytes"] == pytest.approx(2 * 8_030_261_248, rel=0.001)
    assert as_json(sized("llama"), "summary")["fit"]["verdict"] == "fits"


def test_what_does_not_fit_has_no_speed_and_no_price():
    """Prices of `cloud` and `recommendations` belong to other hardware, which runs it."""
    for section in AVAILABLE:
        if section in ("cloud", "recommendations"):
            continue
        shown = " ".join(texts(fragment("kimi", section, "en", "text/html")))
        assert "tok/s" not in shown
        assert "$" not in shown


def test_the_context_table_grows_by_the_bytes_of_a_token():
    rows = as_json(sized("kimi"), "context")["rows"]
    assert [row["context_tokens"] for row in rows] == [2**power for power in (12, 13, 14, 15, 16, 17, 18, 20)]
    for row in rows:
        assert row["kv_cache"]["bytes"] == 33_792 * row["context_tokens"]
        assert row["recurrent_state"]["bytes"] == 464_633_856


def test_formats_are_compared_by_their_own_bytes():
    """By llama.cpp's recipe; the published mixed MXFP4 checkpoint is 1,452.8 GiB, smaller than q4_k_m."""
    rows = {row["quantization"]: row for row in as_json(sized("kimi"), "quantizations")["rows"]}
    for name, expected in {
        "q8_0": 2752.0,
        "q6_k": 2125.3,
        "q5_k_m": 1837.2,
        "q4_k_m": 1566.2,
        "q2_k": 939.6,
    }.items():
        assert rows[name]["weights"]["gib"] == pytest.approx(expected, rel=0.001)
    assert rows["native"]["weights"]["gib"] == pytest.approx(1452.8, rel=0.002)
    assert rows["native"]["engine"] != "llama.cpp"
    assert [row["selected"] for row in rows.values()].count(True) == 1
    assert all(row["engine"] != "mlx" for row in rows.values())  # no MLX on this accelerator


def test_the_sections_are_those_of_the_contract():
    with_gpu = [
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
    alone = [
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
    assert list(SECTIONS)[: len(with_gpu)] == with_gpu
    of_gpu = ["accelerator", "models", "memory-tiers", "cloud", "measurements"]
    assert {*SECTIONS} == {*with_gpu, *alone, *of_gpu}
    assert {name for name, section in SECTIONS.items() if section.compute_of_gpu} == {*of_gpu}
    assert {name for name, section in SECTIONS.items() if not section.needs_gpu} == {*alone}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("section", SECTIONS)
def test_every_known_section_answers(section: str, language: str):
    """With a scenario or without a GPU; where it has nothing to say, one sentence says why."""
    for sizing in (sized("llama"), None):
        answer = as_json(sizing, section, language)
        assert answer["section"] == section
        assert answer["language"] == content_language(language)
        assert answer["title"]
        assert answer["sentences"]
        assert answer["available"] is (SECTIONS[section].available and sizing is not None)
        html = ElementTree.fromstring(as_html(sizing, section, language))
        assert html.attrib == {"class": f"sizing sizing-{section}", "lang": content_language(language)}
        assert as_markdown(sizing, section, language).startswith("## ")


def test_an_unknown_section_is_an_error():
    with pytest.raises(UnknownSection):
        render("sumary", sized("llama"), None, "en", "text/html")


@pytest.mark.parametrize("section", AVAILABLE)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_html_is_well_formed_and_inert(scenario: str, section: str):
    """One section; no script, no event, no style, no identifiers; captions and scopes on every table."""
    root = ElementTree.fromstring(fragment(scenario, section, "de", "text/html"))
    documented = set(
        re.findall(r"`\.?(sizing[a-z_-]*)`", (ROOT / "docs" / "fragments.md").read_text(encoding="utf-8"))
    )
    assert root.tag == "section"
    for element in root.iter():
        assert element.tag not in {"script", "style", "link", "iframe", "object", "img", "a", "form"}
        assert {*element.attrib} <= ({"class"} | DRAWN if element.tag in SVG else {"class", "lang", "scope"})
        assert {*element.get("class", "").split()} <= documented
    for chart in root.iter("svg"):
        assert [element.tag for element in chart[:2]] == ["title", "desc"]
        assert all((element.text or "").strip() for element in chart[:2])
        assert root.find("table") is not None
    for table in root.iter("table"):
        assert table[0].tag == "caption"
        assert (table[0].text or "").strip()
        assert all(header.get("scope") in {"row", "col"} for header in table.iter("th"))
        widths = {len(row) for row in table.iter("tr")}
        assert len(widths) == 1


def numbers(value: Any) -> Iterator[float]:
    if isinstance(value, bool):
        return
    if isinstance(value, int | float):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from numbers(item)


def strings(value: Any) -> Iterator[str]:
    """Names, ids and sources of the data; not what was said about it."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, item in value.items():
            if name not in {"sentences", "message"} and (name != "title" or not isinstance(item, str)):
                yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def without(text: str, known: set[str]) -> str:
    for name in sorted(known, key=len, reverse=True):
        text = text.replace(name, " ")
    return text


@pytest.mark.parametrize("section", AVAILABLE)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_number_of_the_html_is_in_the_json(scenario: str, section: str):
    """Bytes shown as GiB, ratios as percent, counts in short words: the same numbers, rounded for print."""
    answer = json.loads(fragment(scenario, section, "en", "application/json"))
    known = [*numbers(answer)]
    # A formula that is no more than a short number is checked like every other number.
    names = {text for text in strings(answer) if re.search(r"\d", text) and not text.isdigit()}
    names |= dates(answer)
    scales = (1, 100, 1 / GIB, 1 / 1024, 1 / 2**20, 1e-6, 1e-9, 1e-12)
    shown = []
    for text in texts(fragment(scenario, section, "en", "text/html")):
        shown += re.findall(r"-?\d[\d,]*(?:\.\d+)?", without(text, names))
    # What does not fit has no speed; the numbers of a command are part of its text, which the JSON has whole.
    assert len(shown) > 5 or (scenario, section) in {("kimi", "speed"), ("llama", "commands")}
    for text in shown:
        digits = len(text.partition(".")[2])
        value = float(text.replace(",", ""))
        assert any(
            abs(value - number * scale) <= 0.5 * 10**-digits + 1e-9 for number in known for scale in scales
        ), text


def dates(answer: Any) -> set[str]:
    """Days and months of the JSON as a page writes them."""
    days = {text for text in strings(answer) if re.fullmatch(r"\d{4}-[01]\d(-\d{2})?", text)}
    return {voice("en").period(day) for day in days}


def hostile() -> Sizing:
    scenario = make_scenario(model=make_model(name=HOSTILE), gpu=make_gpu(name=HOSTILE))
    note = Note("engine_not_on_gpu", {"engine": HOSTILE, "gpu": HOSTILE})
    return make_sizing(scenario=scenario, warnings=(note,))


@pytest.mark.parametrize("section", ["summary", "scenario", "memory"])
def test_a_hostile_name_is_only_text_in_html(section: str):
    html = as_html(hostile(), section)
    root = ElementTree.fromstring(html)
    assert root.find(".//script") is None
    assert "<script" not in html
    if section != "memory":
        assert any('<script>alert("1")</script> & | *x*' in text for text in root.itertext())


@pytest.mark.parametrize("section", ["summary", "scenario"])
def test_a_hostile_name_is_only_text_in_markdown(section: str):
    """No line starts with it as a heading, no cell ends early, no markup or HTML is left unescaped."""
    markdown = as_markdown(hostile(), section)
    assert not re.search(r"(?<!\\)<script", markdown)
    assert not re.search(r"(?<!\\)\[a", markdown)
    assert not re.search(r"(?<!\\)\*x", markdown)
    assert [line for line in markdown.splitlines() if line.startswith("#")] == [markdown.splitlines()[0]]
    table = [line for line in markdown.splitlines() if line.startswith("|")]
    columns = [len(re.findall(r"(?<!\\)\|", line)) for line in table]
    assert len(set(columns)) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("q4_k_m", r"q4\_k\_m"),
        ("a|b", r"a\|b"),
        ("<b>&amp;", r"\<b\>\&amp;"),
        ("- item", r"\- item"),
        ("-1,50 GiB", "-1,50 GiB"),
        ("1. item", r"1\. item"),
        ("1.566,20 GiB", "1.566,20 GiB"),
        ("a\r\n\r\n# b", r"a \# b"),
        (f"1{NBSP}GiB", f"1{NBSP}GiB"),
        ("\\`", "\\\\\\`"),
    ],
)
def test_markdown_is_escaped(text: str, expected: str):
    assert escape(text) == expected


def test_controls_and_turned_text_are_left_out():
    """Neither can stand in markup; a right-to-left override would turn the rest of the line."""
    name = "a\x00b\x1b[31m\u202ec"
    sizing = make_sizing(scenario=make_scenario(model=make_model(name=name)))
    assert any("ab[31mc" in text for text in texts(as_html(sizing, "summary")))
    assert escape(name) == r"ab\[31mc"


def test_code_spans_hold_backticks():
    assert code("q4_k_m") == "`q4_k_m`"
    assert code("a`b") == "``a`b``"
    assert code("`") == "`` ` ``"


class Pseudo(NullTranslations):
    """A language in which every translated text is bracketed."""

    def gettext(self, message: str) -> str:
        return f"⟦{message}⟧"

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return f"⟦{msgid1 if n == 1 else msgid2}⟧"


def pseudo_cases() -> Iterator[tuple[str, Sizing]]:
    reasons = (Note("total_exceeds_usable", {"needed": 21 * GIB, "usable": 20 * GIB, "missing": GIB}),)
    for section in AVAILABLE:
        yield section, sized("kimi")
        yield section, sized("llama")
    for verdict in Verdict:
        shortage = reasons if verdict is Verdict.DOES_NOT_FIT else (Note("engine_not_modelled"),)
        yield "summary", make_sizing(verdict=verdict, reasons=shortage)
    yield "memory", make_sizing(plan=make_plan(kv_bytes_per_token=0, kv_window_bytes_per_sequence=4096))


@pytest.mark.parametrize(("section", "sizing"), list(pseudo_cases()))
def test_nothing_is_said_without_a_translation(section: str, sizing: Sizing):
    """In a made-up language, all that stands outside its brackets is data, numbers and unit symbols."""
    voice = Voice(LANGUAGES["en"], Pseudo())
    answer = json.loads(render_with(voice, section, sizing, facts(), "application/json"))
    known = set(strings(answer)) | dates(answer)
    for media_type in ("text/html", "text/markdown"):
        written = render_with(voice, section, sizing, facts(), media_type).decode()
        pieces = texts(written) if media_type == "text/html" else [re.sub(r"\\(.)", r"\1", written)]
        for piece in pieces:
            outside = without(piece, {name for name in known if "⟦" not in name and len(name) > 4})
            while "⟦" in outside:  # a sentence may name a translated thing
                outside = re.sub(r"⟦[^⟦⟧]*⟧", " ", outside)
            words = re.findall(r"[^\W\d_]{2,}", without(outside, known))
            assert {*words} <= {"GiB", "sh"}, piece  # a code block names its language


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        (
            "de",
            f"Das passt auf 1{NBSP}×{NBSP}Card 24GB: Von 20,00{NBSP}GiB nutzbarem GPU-Speicher werden "
            f"14,00{NBSP}GiB benötigt, das entspricht einer Auslastung von 70,0{NBSP}%; "
            f"die Reserve beträgt 6,00{NBSP}GiB.",
        ),
        (
            "zh",
            "1 × Card 24GB 装得下：占用最高的 GPU 需要 14.00 GiB，可用显存为 20.00 GiB，"
            "占用率 70.0%，余量 6.00 GiB。",
        ),
        (
            "en",
            "This fits on one Card 24GB: 14.00 GiB of 20.00 GiB usable GPU memory is needed, "
            "a utilization of 70.0%; the headroom is 6.00 GiB.",
        ),
    ],
)
def test_the_summary_says_the_verdict(language: str, expected: str):
    assert expected in as_json(make_sizing(), "summary", language)["sentences"]
    assert expected in "".join(texts(as_html(make_sizing(), "summary", language)))


def test_warnings_carry_their_sentence():
    warnings = as_json(make_sizing(), "summary", "de")["warnings"]
    assert warnings == [
        {
            "code": "estimated_native_weights",
            "parameters": {},
            "message": "Die Größe der Originalgewichte wurde nirgends veröffentlicht; sie ist berechnet.",
        }
    ]


def test_an_unknown_memory_has_no_figures_of_fit():
    sizing = make_sizing(
        verdict=Verdict.UNKNOWN,
        headroom_bytes=None,
        utilization=None,
        plan=make_plan(usable_bytes=None),
        reasons=(Note("memory_unknown", {"gpu": "Card"}),),
    )
    answer = as_json(sizing, "summary")
    assert answer["fit"]["usable"] is None
    assert "The memory of Card is not known." in answer["sentences"]
    assert "–" in texts(as_html(sizing, "summary"))


def test_the_style_sheet_is_optional_and_complete():
    """Only documented classes, a dark scheme, and print."""
    css = (ROOT / "service" / "render" / "assets" / "report.css").read_text(encoding="utf-8")
    documented = (ROOT / "docs" / "fragments.md").read_text(encoding="utf-8")
    for name in set(re.findall(r"\.(sizing[a-z_-]*)", css)):
        assert name in documented
    assert "light-dark(" in css
    assert "@media print" in css
