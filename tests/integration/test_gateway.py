"""The gateway's configuration on a real nginx, before real services; skipped where there is no nginx."""

import json
import os
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.integration.conftest import free_port
from tests.integration.test_gunicorn import ROOT, Server

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
QUESTION = "/v1/fragments/memory?model=qwen3-8b&gpu=rtx-4090"


class Gateway:
    """An nginx with the shipped configuration; only ports and folders are the test's."""

    def __init__(self, folder: Path, *ports: int) -> None:
        self.port = free_port()
        text = (ROOT / "config/gateway/nginx.conf").read_text(encoding="utf-8")
        for number, port in enumerate(ports, 1):
            text = text.replace(f"service-{number}:8000", f"127.0.0.1:{port}")
        text = text.replace("listen 8080 reuseport", f"listen 127.0.0.1:{self.port}")
        text = text.replace("/tmp/nginx", f"{folder}/nginx").replace("/dev/stderr", f"{folder}/error.log")
        self.file = folder / "nginx.conf"
        self.file.write_text(text, encoding="utf-8")
        # Run by root, nginx would give its workers a user that may not enter the test's folder.
        options = "daemon off;" + (" user root;" if os.getuid() == 0 else "")
        command = [NGINX, "-c", str(self.file), "-p", str(folder), "-g", options]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(100):
            try:
                assert self.get("/gateway/live")[0] == 200
                return
            except OSError:
                assert self.process.poll() is None, (folder / "error.log").read_text()
                time.sleep(0.05)
        raise AssertionError("nginx does not answer")

    def send(self, method: str, path: str, body: bytes | None = None, **headers: str):
        """Status, headers and body of one request."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            sent = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def get(self, path: str, **headers: str):
        """A GET."""
        return self.send("GET", path, **headers)

    def stop(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait(10)


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Server]]:
    settings = {"WEB_CONCURRENCY": "1", "WARM_UP_SECONDS": "0", "TRUSTED_PROXIES": "1"}
    running = [Server(tmp_path_factory.mktemp("home"), **settings) for _ in range(2)]
    yield running
    for server in running:
        server.stop()


@pytest.fixture(scope="module")
def gateway(services: list[Server], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    running = Gateway(tmp_path_factory.mktemp("nginx"), *(server.port for server in services))
    yield running
    running.stop()


def test_the_second_answer_is_the_gateways(gateway: Gateway) -> None:
    """A repeated question is answered by the gateway with the same bytes, and a request ID of its own."""
    first, second = gateway.get(QUESTION), gateway.get(QUESTION)
    assert (first[0], second[0]) == (200, 200)
    assert (first[1]["x-gateway-cache"], second[1]["x-gateway-cache"]) == ("MISS", "HIT")
    assert first[2] == second[2]
    assert first[1]["etag"] == second[1]["etag"]
    assert first[1]["x-request-id"] != second[1]["x-request-id"]


def test_the_gateway_revalidates_for_clients(gateway: Gateway) -> None:
    """A client that has the answer gets 304 from the gateway."""
    etag = gateway.get(QUESTION + "&context_tokens=4096")[1]["etag"]
    status, headers, body = gateway.get(QUESTION + "&context_tokens=4096", If_None_Match=etag)
    assert (status, body, headers["x-gateway-cache"]) == (304, b"", "HIT")


def test_language_representation_and_encoding_are_kept_apart(gateway: Gateway) -> None:
    """What the service negotiates is what the gateway gives, cold and kept."""
    path = QUESTION + "&context_tokens=16384"
    wanted = {
        ("de-DE,de;q=0.9", "text/html", ""): ("de", "text/html", None),
        ("zh-CN,zh;q=0.9", "text/html", "gzip, deflate, br"): ("zh-Hans", "text/html", "br"),
        ("fr,de;q=0.5", "application/json", "gzip"): ("de", "application/json", "gzip"),
        ("de", "application/json", "zstd, gzip"): ("de", "application/json", "zstd"),
        ("de;q=0.1, en", "text/markdown", "gzip;q=0"): ("en", "text/markdown", None),
    }
    for _ in range(2):
        tags = set()
        for (language, accept, coding), (spoken, media_type, encoding) in wanted.items():
            sent = {"Accept_Language": language, "Accept": accept, "Accept_Encoding": coding}
            status, headers, _body = gateway.get(path, **sent)
            assert status == 200
            assert headers["content-language"] == spoken
            assert headers["content-type"].split(";")[0] == media_type
            assert headers.get("content-encoding") == encoding
            tags.add(headers["etag"])
        assert len(tags) == len(wanted)


def test_many_browsers_share_one_answer(gateway: Gateway) -> None:
    """Regions and orders of encodings that mean the same find what is kept."""
    path = QUESTION + "&context_tokens=2048"
    browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
    sent = [("de-DE,de;q=0.9", "gzip, deflate, br, zstd"), ("de-AT,en;q=0.2", "br, gzip"), ("de", "br")]
    seen = [
        gateway.get(path, Accept=browser, Accept_Language=language, Accept_Encoding=coding)[1]
        for language, coding in sent
    ]
    assert [headers["x-gateway-cache"] for headers in seen] == ["MISS", "HIT", "HIT"]


def test_concurrent_cold_requests_reach_a_service_once(gateway: Gateway) -> None:
    """proxy_cache_lock: thirty-two who ask at once cost one computation."""
    path = "/v1/report?model=qwen3-14b&gpu=rtx-4090&context_tokens=12000"
    with ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(lambda _: gateway.get(path), range(32)))
    assert {status for status, _, _ in answers} == {200}
    assert len({body for _, _, body in answers}) == 1
    assert Counter(headers["x-gateway-cache"] for _, headers, _ in answers)["MISS"] == 1


def test_problems_probes_and_posts_are_not_kept(gateway: Gateway) -> None:
    """What is wrong, of the moment, or posted goes to a service each time; metrics stay inside."""
    for _ in range(2):
        status, headers, _ = gateway.get("/v1/sizing?model=nothing&gpu=rtx-4090")
        assert (status, headers["x-gateway-cache"]) == (404, "MISS")
        assert gateway.get("/health/ready")[0] == 200
        question = json.dumps({"model": "qwen3-8b", "gpu": "rtx-4090"}).encode()
        status, headers, _ = gateway.send("POST", "/v1/sizing", question, Content_Type="application/json")
        assert status == 200
        assert headers.get("x-gateway-cache") != "HIT"
    assert gateway.get("/metrics")[0] == 403


def test_a_flood_from_one_address_is_slowed_down(services: list[Server], tmp_path: Path) -> None:
    """Beyond rate and burst a caller gets a 429 problem that says when to come back."""
    gateway = Gateway(tmp_path, *(server.port for server in services))
    try:
        answers = [gateway.get("/v1/languages") for _ in range(400)]
        refused = [answer for answer in answers if answer[0] == 429]
        assert refused, "four hundred at once are not too many"
        assert sum(status == 200 for status, _, _ in answers) >= 100
        _, headers, body = refused[0]
        assert headers["content-type"] == "application/problem+json"
        assert headers["retry-after"] == "1"
        assert json.loads(body)["type"] == "/problems/too-many-requests"
    finally:
        gateway.stop()


def test_answers_go_on_when_services_end(tmp_path_factory: pytest.TempPathFactory) -> None:
    """One service less is not noticed; without any, what is kept is answered although it is stale."""
    settings = {"WEB_CONCURRENCY": "1", "WARM_UP_SECONDS": "0", "CACHE_SHARED_MAX_AGE_SECONDS": "1"}
    settings["CACHE_STALE_SECONDS"] = "0"  # so that only proxy_cache_use_stale can be the reason
    running = [Server(tmp_path_factory.mktemp("home"), **settings) for _ in range(2)]
    gateway = Gateway(tmp_path_factory.mktemp("nginx"), *(server.port for server in running))
    try:
        kept = gateway.get(QUESTION)
        assert kept[0] == 200
        running[0].stop()
        for number in range(6):
            assert gateway.get(f"{QUESTION}&context_tokens={4096 + number}")[0] == 200
        running[1].stop()
        time.sleep(2.1)
        assert gateway.get(f"{QUESTION}&context_tokens=9999")[0] == 502, "no service is left"
        for _ in range(2):
            status, headers, body = gateway.get(QUESTION)
            assert (status, headers["x-gateway-cache"], body) == (200, "STALE", kept[2])
    finally:
        gateway.stop()
        for server in running:
            server.process.kill()
