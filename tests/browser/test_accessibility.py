"""The rules of axe-core, which cover what can be checked of WCAG by machine."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browser.test_configurator import opened, settled
from tests.browser.test_embed import ELEMENT, visited

QUESTION = "model=llama-3.3-70b-instruct&gpu=h100-80gb-sxm"


def violations(page) -> list[str]:
    """Each broken rule with the first element that breaks it."""
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [f"{rule['id']}: {rule['nodes'][0]['html'][:200]}" for rule in found]


@pytest.mark.parametrize(("lang", "scheme"), [("de", "light"), ("zh", "dark")])
def test_the_configurator_is_accessible(page, service, lang, scheme):
    page.emulate_media(color_scheme=scheme)
    second = "&b_model=qwen3-8b&b_gpu=rtx-4090" if lang == "de" else ""
    opened(page, service, f"{QUESTION}&lang={lang}{second}")
    settled(page, "b" if second else "a")
    assert violations(page) == []


def test_suggestions_are_accessible(page, service):
    """A scenario that does not fit, with the buttons that would change it, on a dark page."""
    page.emulate_media(color_scheme="dark")
    opened(page, service, "model=llama-3.3-70b-instruct&gpu=rtx-4090&quantization=q8_0&lang=zh")
    page.locator("#pane-a .web-suggestions button").first.wait_for()
    settled(page)
    assert violations(page) == []


@pytest.mark.parametrize(
    ("query", "scheme"),
    [(QUESTION, "dark"), ("model=qwen3-8b", "light"), ("gpu=rtx-4090&currency=EUR", "dark")],
)
def test_the_report_is_accessible(page, service, query, scheme):
    page.emulate_media(color_scheme=scheme)
    page.goto(f"{service}/report?{query}&lang=de")
    assert violations(page) == []


def test_the_element_is_accessible(page, foreign_site, service):
    element = visited(page, foreign_site, service, ELEMENT.format(more=""))
    element.locator("article").wait_for()
    assert violations(page) == []
