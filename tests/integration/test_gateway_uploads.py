"""Uploads through a real nginx: keys pass, nothing private is kept, and what is published comes through."""

import json
import socket
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.integration.test_gateway import NGINX, Gateway
from tests.integration.test_gunicorn import Server
from tests.integration.uploading import ask, eventually, new_key
from tests.uploads import MEASUREMENTS, ROW

pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
SIZING = "/v1/sizing?model=qwen3-8b&gpu=rtx-4090&engine=llama.cpp"


@dataclass(frozen=True)
class Site:
    """A gateway before two services of one database, and a key of each scope."""

    gateway: Gateway
    submitter: str
    reviewer: str

    def ask(self, method: str, path: str, key: str = "", body: object = None, **headers: str):
        return ask(self.gateway, method, path, key, body, **headers)

    def stored(self) -> str:
        status, _, found = self.ask("POST", MEASUREMENTS, self.submitter, ROW)
        assert status == 201
        return found["id"]

    def review(self, name: str, status: str, match: str = "*"):
        return self.ask("PATCH", f"{MEASUREMENTS}/{name}", self.reviewer, {"status": status}, If_Match=match)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    state = {"STATE_PATH": str(tmp_path_factory.mktemp("state")), "DATABASE_URL": ""}
    # An answer is good for a second, and then is given while it is asked for again.
    settings = {"CACHE_SHARED_MAX_AGE_SECONDS": "1", "CACHE_STALE_SECONDS": "600", "WEB_CONCURRENCY": "1"}
    settings |= {"WARM_UP_SECONDS": "0", "TRUSTED_PROXIES": "1", "RATE_LIMIT_WRITES": "off", **state}
    keys = new_key("submit", **state), new_key("review", **state)
    running = [Server(tmp_path_factory.mktemp("home"), **settings) for _ in range(2)]
    gateway = Gateway(tmp_path_factory.mktemp("nginx"), *(server.port for server in running))
    yield Site(gateway, *keys)
    gateway.stop()
    for server in running:
        server.stop()


def test_keys_pass_and_writes_are_not_kept(site: Site) -> None:
    """Without a key 401 with how to send one; with it 201, each time anew; a repetition is told apart."""
    for _ in range(2):
        status, headers, found = site.ask("POST", MEASUREMENTS, "", ROW)
        assert (status, found["type"]) == (401, "/problems/key-required")
        assert headers["www-authenticate"].startswith("Bearer")
        assert "x-gateway-cache" not in headers
    assert site.stored() != site.stored()
    answers = [site.ask("POST", MEASUREMENTS, site.submitter, ROW, Idempotency_Key="run") for _ in range(2)]
    assert [status for status, _, _ in answers] == [201, 201]
    assert answers[0][2] == answers[1][2]
    assert ["idempotency-replayed" in headers for _, headers, _ in answers] == [False, True]
    status, headers, _ = site.ask("POST", MEASUREMENTS, site.reviewer, ROW)
    assert (status, "scope" in headers["www-authenticate"]) == (403, True)


def test_what_is_private_is_never_given_to_others(site: Site) -> None:
    """A pending row is seen by its submitter, however often, and by nobody without a key."""
    path = f"{MEASUREMENTS}/{site.stored()}"
    for _ in range(3):
        status, headers, _ = site.ask("GET", path, site.submitter)
        assert (status, headers["cache-control"]) == (200, "private, no-store")
        assert headers["x-gateway-cache"] == "BYPASS"
        assert site.ask("GET", path)[0] == 404
        status, _, found = site.ask("GET", f"{MEASUREMENTS}?status=pending", site.reviewer)
        assert (status, found["total"] > 0) == (200, True)
        assert site.ask("GET", f"{MEASUREMENTS}?status=pending")[0] == 401


def test_a_reviewer_never_gets_an_answer_that_was_kept(site: Site) -> None:
    """The version that a review has to name is the present one, whatever others are given."""
    name = site.stored()
    path = f"{MEASUREMENTS}/{name}"
    assert site.review(name, "published", site.ask("GET", path, site.reviewer)[1]["etag"])[0] == 200
    eventually(lambda: site.ask("GET", path)[0] == 200)
    tag = site.ask("GET", path, site.reviewer)[1]["etag"]
    assert tag.startswith('"2-')
    assert site.review(name, "withdrawn", tag)[0] == 200
    assert site.ask("GET", path, site.reviewer)[1]["etag"].startswith('"3-')
    eventually(lambda: site.ask("GET", path)[0] == 404)


def test_a_published_row_is_shown_after_revalidation(site: Site) -> None:
    """A kept answer is asked for again when its time is over; then it holds the row, and later not."""

    def shown() -> list[str]:
        return [row["id"] for row in json.loads(site.gateway.get(SIZING)[2])["measured"]]

    name = site.stored()
    assert name not in shown()
    assert site.review(name, "published")[0] == 200
    eventually(lambda: name in shown())
    hits = {site.gateway.get(SIZING)[1]["x-gateway-cache"] for _ in range(20)}
    assert "HIT" in hits
    assert site.review(name, "withdrawn")[0] == 200
    eventually(lambda: name not in shown())


def test_a_body_that_no_service_takes_ends_at_the_gateway(site: Site) -> None:
    """Its announced length is enough for a 413 problem, before a byte of it was sent."""
    lines = [f"POST {MEASUREMENTS} HTTP/1.1", "Host: sizing", "Content-Length: 18000000", "", ""]
    with socket.create_connection(("127.0.0.1", site.gateway.port), timeout=10) as connection:
        connection.sendall("\r\n".join(lines).encode())
        answer = b""
        while part := connection.recv(65_536):
            answer += part
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 413 ")
    assert b"Content-Type: application/problem+json" in head
    assert json.loads(body)["type"] == "/problems/payload-too-large"
