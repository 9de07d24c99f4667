"""A real service and a real browser: gunicorn as deployed, and the Chromium of the operating system."""

import os
import shutil
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.integration.test_gunicorn import Server

PATIENCE_MS = 60_000  # of a busy machine; nothing here is about speed
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("there is no chromium on PATH; set CHROMIUM to one")
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="session")
def service(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running service; not started where there is no browser to ask it."""
    running = Server(tmp_path_factory.mktemp("home"), WEB_CONCURRENCY="1")
    yield f"http://127.0.0.1:{running.port}"
    running.stop()


@pytest.fixture
def complaints() -> list[str]:
    """What the browser complained about: errors of scripts, of the console, of the policy."""
    return []


@pytest.fixture
def page(browser: Browser, complaints: list[str]) -> Iterator[Page]:
    """A page that fails the test when anything on it goes wrong."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    opened = watched(context.new_page(), complaints)
    yield opened
    context.close()
    assert complaints == []


def watched(page: Page, complaints: list[str]) -> Page:
    """The page, its complaints collected; loads from another host count as complaints too."""
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda said: said.type in ("error", "warning") and complaints.append(said.text))

    def local(request) -> None:
        if not request.url.startswith(("http://127.0.0.1:", "http://localhost:", "data:", "blob:")):
            complaints.append(f"loads {request.url}")

    page.on("request", local)
    page.set_default_timeout(PATIENCE_MS)
    return page


class Quiet(SimpleHTTPRequestHandler):
    """Files of a folder, with a strict policy that allows the service's element and nothing else."""

    policy = ""

    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", self.policy)
        super().end_headers()

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def foreign_site(tmp_path: Path, service: str) -> Iterator[tuple[Path, str]]:
    """A site of another origin: its folder and its address."""
    policy = (
        f"default-src 'none'; img-src data:; style-src 'self'; script-src {service}; connect-src {service}"
    )
    handler = type("Handler", (Quiet,), {"policy": policy})
    site = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(tmp_path)))
    thread = Thread(target=site.serve_forever, daemon=True)
    thread.start()
    yield tmp_path, f"http://localhost:{site.server_address[1]}"
    site.shutdown()
    site.server_close()
    thread.join()
