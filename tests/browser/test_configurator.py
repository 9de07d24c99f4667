"""The configurator in a real browser: figures, address, languages, keyboard, phone, comparison, simulator."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import watched

SMALL = "model=qwen3-8b&gpu=rtx-4090&lang=en"
STATUS = "#pane-a .web-status"
SUMMARY = "#pane-a [data-section=summary] .sizing-text"


def settled(page: Page, side: str = "a") -> None:
    """Every section has arrived."""
    expect(page.locator(f"#pane-{side} .web-slots:not([aria-busy]) .sizing").first).to_be_visible()
    expect(page.locator(f"#pane-{side} .web-slots[aria-busy]")).to_have_count(0)


def opened(page: Page, service: str, query: str = SMALL) -> Page:
    page.goto(f"{service}/?{query}")
    settled(page)
    return page


def address(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def test_another_gpu_gives_another_verdict_and_address(page, service):
    """An 8B model in 4-bit fits a card of 24 GB; one of 70B in 16-bit does not, and both are said at once."""
    opened(page, service)
    expect(page.locator(STATUS)).to_have_text("Verdict: fits")
    page.select_option("#a-model", "llama-3.3-70b-instruct")
    page.select_option("#a-quantization", "bf16")
    page.select_option("#a-gpu", "rtx-5090")
    expect(page.locator(STATUS)).to_have_text("Verdict: does not fit")
    expect(page.locator(SUMMARY)).to_contain_text("Llama 3.3 70B")
    assert address(page) == {
        "model": "llama-3.3-70b-instruct",
        "gpu": "rtx-5090",
        "quantization": "bf16",
        "lang": "en",
    }
    settled(page)


def test_the_address_brings_the_scenario_back(page, service):
    """What a shared address says is what the form and the sections show."""
    opened(page, service, f"{SMALL}&context_tokens=16384&concurrent_sequences=3&engine=vllm&vision=false")
    assert page.input_value("#a-context_tokens") == "16384"
    assert page.input_value("#a-engine") == "vllm"
    expect(page.locator(SUMMARY)).to_contain_text("16,384 tokens and 3 concurrent sequences")
    assert address(page)["vision"] == "false"


def test_the_language_switch_keeps_the_scenario(page, service):
    """The German page shows the same scenario, with German numbers."""
    opened(page, service, "model=kimi-k3.1-pro&gpu=h20-141gb&quantization=q4_k_m&lang=en")
    page.fill("#a-context_tokens", "4096")
    expect(page.locator(SUMMARY)).to_contain_text("4,096")
    page.click("a[data-language=de]")
    settled(page)
    assert page.locator("html").get_attribute("lang") == "de"
    expect(page.locator("#pane-a [data-section=memory]")).to_contain_text("1.566,")
    assert address(page)["context_tokens"] == "4096"
    page.click("a[data-language=zh]")
    settled(page)
    assert page.locator("html").get_attribute("lang") == "zh-Hans"
    assert address(page)["gpu"] == "h20-141gb"


def test_a_model_alone_has_its_own_sections(page, service):
    opened(page, service)
    page.select_option("#a-gpu", "")
    expect(page.locator("#pane-a [data-section=summary]")).to_have_count(0)
    settled(page)
    assert "gpu" not in address(page)


def test_what_is_wrong_is_said_at_the_field(service, browser):
    """A layout that the engine refuses is explained in the language, and the field says so."""
    complaints: list[str] = []
    context = browser.new_context()
    page = opened(
        watched(context.new_page(), complaints),
        service,
        "model=qwen3-8b&gpu=rtx-4090&lang=de&engine=vllm&gpu_count=4",
    )
    page.fill("#a-tensor_parallel", "3")
    problem = page.locator("#problem-a")
    expect(problem).to_be_visible()
    assert "tensor_parallel" in problem.inner_text()
    field = page.locator("#a-tensor_parallel")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_attribute("aria-describedby", "problem-a")
    expect(field).to_be_focused()
    page.fill("#a-tensor_parallel", "2")
    expect(problem).to_be_hidden()
    settled(page)
    expect(field).not_to_have_attribute("aria-invalid", "true")
    context.close()
    assert all("422" in said for said in complaints)  # the browser itself reports the refused request


def test_an_engine_limits_the_formats(page, service):
    """Formats that the engine does not load cannot be chosen; a chosen one goes back to the default."""
    opened(page, service, f"{SMALL}&quantization=q4_k_m")
    page.select_option("#a-engine", "vllm")
    assert page.input_value("#a-quantization") == ""
    assert page.locator("#a-quantization option[value=q4_k_m]").is_disabled()
    assert page.locator("#a-quantization option[value=fp8]").is_enabled()
    expect(page).to_have_url(re.compile(r"engine=vllm(?!.*quantization)"))
    settled(page)


def test_two_scenarios_side_by_side(page, service):
    """The second scenario has its own form, its own answer, and its own part of the address."""
    opened(page, service)
    page.click("#compare")
    settled(page, "b")
    page.select_option("#b-gpu", "rtx-3060-12gb")
    expect(page.locator("#pane-b [data-section=summary]")).to_contain_text("RTX 3060")
    settled(page, "b")
    assert address(page)["b_gpu"] == "rtx-3060-12gb"
    assert address(page)["gpu"] == "rtx-4090"
    left, right = page.locator("#pane-a").bounding_box(), page.locator("#pane-b").bounding_box()
    assert left["x"] + left["width"] <= right["x"]
    page.reload()
    settled(page, "b")
    assert page.input_value("#b-gpu") == "rtx-3060-12gb"
    page.click("#compare")
    expect(page.locator("#pane-b")).to_be_hidden()
    assert "b_gpu" not in address(page)


def test_the_simulator_types_at_the_estimated_speed(page, service):
    """It waits, types, stops when asked; it is absent where nothing runs."""
    opened(page, service)
    simulator = page.locator("#pane-a .web-simulator")
    expect(simulator).to_be_visible()
    assert re.search(r"\d", page.locator("#pane-a .web-figures").inner_text())
    page.click("#pane-a .web-run")
    expect(page.locator("#pane-a .web-typed")).to_contain_text("This is how fast")
    page.click("#pane-a .web-run")
    stopped = page.locator("#pane-a .web-typed").inner_text()
    page.wait_for_timeout(300)
    assert page.locator("#pane-a .web-typed").inner_text() == stopped
    page.select_option("#a-model", "kimi-k3.1-pro")
    expect(simulator).to_be_hidden()
    settled(page)


def test_reduced_motion_is_respected(browser: Browser, service, complaints):
    """Who asks for less motion reads the duration instead of watching it."""
    context = browser.new_context(reduced_motion="reduce")
    page = opened(watched(context.new_page(), complaints), service)
    expect(page.locator("#pane-a .web-simulator")).to_be_visible()
    page.click("#pane-a .web-run")
    expect(page.locator("#pane-a .web-typed")).to_contain_text("256 tokens would take about")
    context.close()
    assert complaints == []


def test_the_keyboard_is_enough(page, service):
    """From the first link to the button every control is reached by Tab, and a change keeps the focus."""
    opened(page, service)
    reached = []
    for _ in range(30):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate("document.activeElement.id || document.activeElement.textContent.trim()")
        )
        if reached[-1] == "Open the whole report":
            break
    fields = ("model", "gpu", "gpu_count", "engine", "quantization", "context_tokens", "concurrent_sequences")
    assert ["compare", *(f"a-{name}" for name in fields)] == [
        name for name in reached if name == "compare" or name[2:] in fields
    ]
    page.focus("#a-gpu_count")
    page.keyboard.type("2")
    expect(page.locator(SUMMARY)).to_contain_text("2 × RTX 4090")
    expect(page.locator("#a-gpu_count")).to_be_focused()
    settled(page)


def test_every_control_has_a_name(page, service):
    """A screen reader can say what each control is; the status is announced politely."""
    opened(page, service)
    unnamed = page.evaluate(
        "[...document.querySelectorAll('#pane-a input:not([type=hidden]), #pane-a select')]"
        ".filter(field => !field.labels.length).map(field => field.name)"
    )
    assert unnamed == []
    expect(page.locator(STATUS)).to_have_attribute("aria-live", "polite")
    assert page.locator("main").count() == 1
    assert page.locator("h1").count() == 1


@pytest.mark.parametrize("lang", ["de", "zh", "en"])
def test_a_phone_scrolls_in_one_direction(browser: Browser, service, complaints, lang):
    """At 390 pixels nothing is wider than the screen, on the configurator and on a report."""
    context = browser.new_context(viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
    page = watched(context.new_page(), complaints)
    question = f"model=qwen3-8b&gpu=rtx-4090&lang={lang}"
    opened(page, service, f"{question}&b_model=qwen3-8b&b_gpu=rtx-3090")
    settled(page, "b")
    for path in ("", f"/report?{question}"):
        if path:
            page.goto(f"{service}{path}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    context.close()
    assert complaints == []


def test_without_script_the_form_leads_to_the_report(browser: Browser, service, complaints):
    """A plain form: fields left at their default do not end up in the report's address."""
    context = browser.new_context(java_script_enabled=False)
    page = watched(context.new_page(), complaints)
    page.goto(f"{service}/?{SMALL}")
    page.fill("#a-context_tokens", "4096")
    page.click("#pane-a .web-submit button")
    page.wait_for_url("**/report?**")
    assert address(page) == {"model": "qwen3-8b", "gpu": "rtx-4090", "context_tokens": "4096", "lang": "en"}
    assert "Qwen3 8B" in page.inner_text("h1")
    assert page.locator("article.sizing-report > section.sizing").count() > 5
    context.close()
    assert complaints == []
