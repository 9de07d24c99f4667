"""The custom element on a page of another origin with a strict policy of its own."""

import re

from playwright.sync_api import expect

PAGE = """<!doctype html>
<html lang="{lang}"><head><meta charset="utf-8"><title>Elsewhere</title><link rel="icon" href="data:,">
<link rel="stylesheet" href="site.css"><script type="module" src="{service}/embed.js"></script></head>
<body><main><h1>Elsewhere</h1>{body}</main></body></html>"""
STYLE = "llm-sizing { --sizing-theme-text: rgb(1, 2, 3); } .sizing-text { color: rgb(200, 0, 0); }"
ELEMENT = '<llm-sizing model="kimi-k3.1-pro" gpu="h20-141gb" quantization="q4_k_m" {more}></llm-sizing>'


def visited(page, foreign_site, service, body, lang="en"):
    folder, address = foreign_site
    (folder / "index.html").write_text(PAGE.format(lang=lang, service=service, body=body), encoding="utf-8")
    (folder / "site.css").write_text(STYLE, encoding="utf-8")
    page.goto(f"{address}/index.html")
    return page.locator("llm-sizing")


def test_sections_are_shown_in_their_order_and_language(page, foreign_site, service):
    """The sections that the attribute names, in Chinese, with nothing blocked by the page's policy."""
    element = visited(
        page, foreign_site, service, ELEMENT.format(more='sections="memory summary" lang="zh-CN"')
    )
    sections = element.locator("section.sizing")
    expect(sections).to_have_count(2)
    assert "sizing-memory" in sections.first.get_attribute("class")
    assert sections.first.get_attribute("lang") == "zh-Hans"
    assert "1,566." in sections.first.inner_text()


def test_the_look_follows_the_custom_properties_only(page, foreign_site, service):
    """A custom property reaches into the shadow tree; the page's own rules do not."""
    element = visited(page, foreign_site, service, ELEMENT.format(more='sections="summary"'))
    text = element.locator("p.sizing-text").first
    expect(text).to_have_css("color", "rgb(1, 2, 3)")
    expect(element.locator("table")).to_have_css("border-collapse", "collapse")  # report.css has arrived


def test_nothing_becomes_global(page, foreign_site, service):
    """The page's global names are the same with and without the element."""
    visited(page, foreign_site, service, "")
    names = "Object.getOwnPropertyNames(window).sort()"
    page.wait_for_function("() => Boolean(customElements.get('llm-sizing'))")
    after = page.evaluate(names)
    page.goto(f"{foreign_site[1]}/site.css")
    assert set(after) - set(page.evaluate(names)) == set()


def test_the_language_is_that_of_the_page(page, foreign_site, service):
    """Without an attribute of its own the element speaks the language that surrounds it."""
    element = visited(page, foreign_site, service, ELEMENT.format(more='sections="memory"'), "de-AT")
    expect(element.locator("section.sizing")).to_have_attribute("lang", "de")
    assert "1.566," in element.locator("section.sizing").inner_text()


def test_a_changed_attribute_loads_anew(page, foreign_site, service):
    """Several attributes that change together are one question; without `sections` it is the whole report."""
    element = visited(page, foreign_site, service, ELEMENT.format(more='sections="summary"'))
    expect(element.locator("section.sizing")).to_have_count(1)
    element.evaluate(
        "e => { e.setAttribute('model', 'qwen3-8b'); e.setAttribute('gpu-count', '2');"
        " e.removeAttribute('sections') }"
    )
    expect(element.locator("article.sizing-report")).to_have_count(1)
    assert "2 × H20" in element.locator(".sizing-summary").inner_text()


def test_progress_is_shown_while_loading(page, foreign_site, service):
    """Until the answer comes there is a progress bar with a name in the language."""
    page.route("**/v1/fragments/**", lambda route: None)  # never answered
    element = visited(page, foreign_site, service, ELEMENT.format(more='sections="summary memory" lang="de"'))
    expect(element.get_by_role("progressbar", name="Wird geladen …")).to_be_visible()
    assert element.locator("[role=status]").count() == 1


def test_an_error_is_said_in_the_language(page, foreign_site, service, complaints):
    """What the service refuses is explained by its own sentence."""
    body = '<llm-sizing model="no-such-model" gpu="rtx-4090" sections="summary" lang="de"></llm-sizing>'
    element = visited(page, foreign_site, service, body)
    alert = element.get_by_role("alert")
    expect(alert).to_contain_text("Die Antwort konnte nicht geladen werden.")
    assert "no-such-model" in alert.inner_text()
    assert all("404" in said for said in complaints)
    complaints.clear()


def test_an_unreachable_service_is_said_too(page, foreign_site, service, complaints):
    page.route("**/v1/fragments/**", lambda route: route.abort())
    element = visited(page, foreign_site, service, ELEMENT.format(more='sections="summary" lang="zh"'))
    expect(element.get_by_role("alert")).to_contain_text("无法加载结果。")
    complaints.clear()


def test_the_element_is_as_dark_as_its_page(page, foreign_site, service):
    """On a page without a dark look the text stays dark, whatever the visitor's system prefers."""
    page.emulate_media(color_scheme="dark")
    folder, site = foreign_site
    body = ELEMENT.format(more='sections="memory"')
    reds = {}
    for name, scheme in (("day", "light"), ("both", "light dark")):
        (folder / f"{name}.css").write_text(f":root {{ color-scheme: {scheme} }}", encoding="utf-8")
        text = PAGE.format(lang="en", service=service, body=body).replace("site.css", f"{name}.css")
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
        page.goto(f"{site}/{name}.html")
        element = page.locator("llm-sizing")
        expect(element.locator("table").first).to_have_css(
            "border-collapse", "collapse"
        )  # the style is there
        color = element.locator("caption").first.evaluate("e => getComputedStyle(e).color")
        reds[name] = int(re.search(r"\d+", color)[0])
    assert reds["day"] < 128 < reds["both"]
