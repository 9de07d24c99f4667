"""What would make a scenario fit, as buttons that set the form; currencies; Trusted Types."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import watched
from tests.browser.test_configurator import STATUS, address, opened, settled

TOO_LARGE = "model=llama-3.3-70b-instruct&gpu=rtx-4090&quantization=q8_0&lang=en"
BUTTONS = "#pane-a .web-suggestions button"


def test_nothing_is_suggested_where_it_fits(page, service):
    opened(page, service)
    expect(page.locator("#pane-a .web-suggestions")).to_be_hidden()


@pytest.mark.parametrize("parameter", ["quantization", "gpu_count", "gpu"])
def test_each_suggestion_alone_makes_it_fit(page, service, parameter):
    """One click sets the fields; the answer fits, the address holds it, and the field has the focus."""
    opened(page, service, TOO_LARGE)
    expect(page.locator(STATUS)).to_have_text("Verdict: does not fit")
    page.click(f"{BUTTONS}[data-parameter={parameter}]")
    expect(page.locator(STATUS)).to_have_text("Verdict: fits")
    expect(page.locator(f"#a-{parameter}")).to_be_focused()
    settled(page)
    expect(page.locator("#pane-a .web-suggestions")).to_be_hidden()
    before = {"model": "llama-3.3-70b-instruct", "gpu": "rtx-4090", "quantization": "q8_0", "gpu_count": None}
    changed = {name for name, value in before.items() if address(page).get(name) != value}
    assert changed == {parameter}


def test_a_shorter_context_and_fewer_sequences_are_suggested(page, service):
    """Qwen3 8B as published on a card of 24 GB: 131,072 tokens for eight users at once are too much."""
    query = "model=qwen3-8b&gpu=rtx-4090&quantization=q8_0&context_tokens=32768&concurrent_sequences=8"
    opened(page, service, f"{query}&prompt_tokens=30000&lang=en")
    expect(page.locator(STATUS)).to_have_text("Verdict: does not fit")
    offered = page.locator(BUTTONS).evaluate_all("buttons => buttons.map(b => b.dataset.parameter)")
    assert {"context_tokens", "concurrent_sequences"} <= set(offered)
    page.click(f"{BUTTONS}[data-parameter=context_tokens]")
    expect(page.locator(STATUS)).not_to_have_text("Verdict: does not fit")
    settled(page)
    assert int(address(page)["context_tokens"]) < 32768
    assert "prompt_tokens" not in address(page)  # 30,000 tokens no longer fit the context


def test_suggestions_are_translated_and_large_enough_to_touch(browser, service, complaints):
    context = browser.new_context(viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
    page = watched(context.new_page(), complaints)
    opened(page, service, TOO_LARGE.replace("lang=en", "lang=de"))
    button = page.locator(BUTTONS).first
    expect(button).to_contain_text("statt")
    assert button.bounding_box()["height"] >= 40
    button.tap()
    expect(page.locator(STATUS)).not_to_contain_text("passt nicht")
    context.close()
    assert complaints == []


def test_the_currency_is_part_of_the_address(page, service):
    """Prices change to euros with a sentence on the rate, in both scenarios."""
    opened(page, service, "model=qwen3-8b&gpu=rtx-4090&b_model=qwen3-8b&b_gpu=rtx-3090&lang=de")
    settled(page, "b")
    page.select_option("#a-currency", "EUR")
    for side in "ab":
        cloud = page.locator(f"#pane-{side} [data-section=cloud]")
        expect(cloud).to_contain_text("€")
        expect(cloud).to_contain_text("30.10.2026")
    settled(page)
    settled(page, "b")
    assert address(page)["currency"] == address(page)["b_currency"] == "EUR"
    page.select_option("#b-currency", "")
    expect(page.locator("#pane-a [data-section=cloud]")).not_to_contain_text("€")
    settled(page)
    settled(page, "b")
    assert "currency" not in address(page)


def test_the_page_demands_trusted_types(page, service, complaints):
    """Text becomes markup only under the policy of the page; anything else is refused by the browser."""
    opened(page, service)
    refused = page.evaluate(
        "() => { try { document.createElement('p').innerHTML = '<b>x</b>'; return false }"
        " catch (error) { return error instanceof TypeError } }"
    )
    assert refused
    complaints.clear()  # of the browser, about the attempt
    allowed = page.evaluate("document.querySelectorAll('#pane-a section.sizing').length")
    assert allowed > 5


def test_the_element_works_where_trusted_types_are_demanded(browser, service, foreign_site, complaints):
    """A foreign page with a policy of its own only has to name the element's policy."""
    folder, site = foreign_site
    rules = (
        f"default-src 'none'; style-src 'self'; script-src {service}; connect-src {service}; "
        "require-trusted-types-for 'script'; trusted-types llm-sizing"
    )
    (folder / "typed.html").write_text(
        f'<!doctype html><html lang="en"><head><title>Typed</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{rules}"><link rel="icon" href="data:,">'
        f'<script type="module" src="{service}/embed.js"></script></head><body>'
        '<llm-sizing model="qwen3-8b" gpu="rtx-4090" sections="cloud" currency="EUR"></llm-sizing>'
    )
    context = browser.new_context()
    page = watched(context.new_page(), complaints)
    page.goto(f"{site}/typed.html")
    expect(page.locator("llm-sizing section.sizing")).to_contain_text("€")
    context.close()
    complaints[:] = [said for said in complaints if "data:," not in said]  # the icon, which the policy stops
    assert complaints == []
