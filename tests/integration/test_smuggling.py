"""Requests that two readers could understand differently are refused whole, by service and gateway."""

import json
import re
import socket
from collections.abc import Iterator

import pytest

from tests.integration.test_gateway import NGINX, Gateway
from tests.integration.test_gunicorn import Server
from tests.integration.uploading import ask, new_key, stored
from tests.uploads import MEASUREMENTS, ROW

HIDDEN = b"GET /v1/models/hidden-request HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
BODY = json.dumps(ROW).encode()
CHUNKED = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
LENGTH = b"Content-Length: %d"
TE = b"Transfer-Encoding: "
# Headers of a POST, and what follows them: a length that not everybody reads as the same.
AMBIGUOUS = {
    "length and chunks": ([LENGTH % len(CHUNKED), TE + b"chunked"], CHUNKED + HIDDEN),
    "length of nothing and chunks": ([LENGTH % 0, TE + b"chunked"], CHUNKED + HIDDEN),
    "two lengths": ([LENGTH % len(BODY), LENGTH % (len(BODY) + len(HIDDEN))], BODY + HIDDEN),
    "a list of lengths": ([b"Content-Length: %d, %d" % (len(BODY), 5)], BODY + HIDDEN),
    "a length with a sign": ([b"Content-Length: +%d" % len(BODY)], BODY + HIDDEN),
    "a negative length": ([b"Content-Length: -1"], BODY + HIDDEN),
    "a length in other digits": (["Content-Length: ٣".encode()], BODY + HIDDEN),
    "a length with an underscore": ([b"Content-Length: 1_0"], BODY + HIDDEN),
    "a blank before the colon": ([LENGTH % 5, b"Transfer-Encoding : chunked"], CHUNKED + HIDDEN),
    "a blank before the name": ([LENGTH % 5, b" Transfer-Encoding: chunked"], CHUNKED + HIDDEN),
    "another coding": ([TE + b"xchunked"], CHUNKED + HIDDEN),
    "chunked twice": ([TE + b"chunked", TE + b"chunked"], CHUNKED + HIDDEN),
    "chunked and then not": ([TE + b"chunked, identity"], CHUNKED + HIDDEN),
    "a vertical tab": ([TE + b"\x0bchunked"], CHUNKED + HIDDEN),
    "chunks of an odd size": ([TE + b"chunked"], b"0x%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY) + HIDDEN),
    "chunks of a negative size": ([TE + b"chunked"], b"-1\r\n%s\r\n0\r\n\r\n" % BODY + HIDDEN),
    "NUL in a header": ([LENGTH % len(BODY), b"X-A: a\0b"], BODY + HIDDEN),
    "a bare return in a header": ([LENGTH % len(BODY), b"X-A: a\r" + TE + b"chunked"], BODY + HIDDEN),
}
# What both read alike, with a second request behind it that is one.
PLAIN = {
    "length": ([LENGTH % len(BODY)], BODY),
    "chunks": ([TE + b"chunked"], CHUNKED),
    "an underscore that is no hyphen": (
        [LENGTH % len(BODY), b"Content_Length: 5", b"Transfer_Encoding: chunked"],
        BODY,
    ),
}


class Site:
    """A service with its key, and a gateway before it where there is an nginx."""

    def __init__(self, server: Server, gateway: Gateway | None, submitter: str, reviewer: str) -> None:
        self.server, self.gateway = server, gateway
        self.submitter, self.reviewer = submitter, reviewer

    def port(self, way: str) -> int:
        if way == "service":
            return self.server.port
        if self.gateway is None:
            pytest.skip("nginx is not installed")
        return self.gateway.port


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("home")
    state = {"STATE_PATH": str(folder / "state"), "DATABASE_URL": ""}
    keys = new_key("submit", **state), new_key("review", **state)
    options = {"WEB_CONCURRENCY": "1", "WARM_UP_SECONDS": "0", "TRUSTED_PROXIES": "1"}
    server = Server(folder, RATE_LIMIT_WRITES="off", **options, **state)
    gateway = None if NGINX is None else Gateway(tmp_path_factory.mktemp("nginx"), server.port, server.port)
    yield Site(server, gateway, *keys)
    if gateway is not None:
        gateway.stop()
    server.stop()


def statuses(port: int, key: str, headers: list[bytes], rest: bytes) -> list[int]:
    """The statuses of all answers that come back on a connection before it is closed or silent."""
    first = [b"POST /v1/measurements HTTP/1.1", b"Host: a", b"Content-Type: application/json"]
    first += [b"Authorization: Bearer " + key.encode(), *headers]
    found = b""
    with socket.create_connection(("127.0.0.1", port), 5) as connection:
        connection.settimeout(10)
        connection.sendall(b"\r\n".join(first) + b"\r\n\r\n" + rest)
        try:
            while piece := connection.recv(65_536):
                found += piece
        except (TimeoutError, ConnectionResetError):
            pass
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", found)]


@pytest.mark.parametrize("way", ["service", "gateway"])
@pytest.mark.parametrize("what", AMBIGUOUS)
def test_what_is_ambiguous_is_refused_whole(site: Site, way: str, what: str) -> None:
    """One refusal, nothing stored, and what hides behind the request is never answered."""
    before = len(stored(site.server, site.reviewer))
    found = statuses(site.port(way), site.submitter, *AMBIGUOUS[what])
    assert len(found) <= 1
    assert set(found) <= {400, 501}
    assert len(stored(site.server, site.reviewer)) == before


@pytest.mark.parametrize("way", ["service", "gateway"])
@pytest.mark.parametrize("what", PLAIN)
def test_what_is_clear_is_answered_in_turn(site: Site, way: str, what: str) -> None:
    """The same body with one length: stored, and the request behind it is answered as what it is."""
    before = len(stored(site.server, site.reviewer))
    headers, body = PLAIN[what]
    assert statuses(site.port(way), site.submitter, headers, body + HIDDEN) == [201, 404]
    assert len(stored(site.server, site.reviewer)) == before + 1


@pytest.mark.parametrize("kind", ["application/json", "text/csv", "application/octet-stream"])
def test_chunks_without_end_are_refused_at_the_limit(site: Site, kind: str) -> None:
    """A body without a length is read up to its limit, and then refused, whatever it is said to be."""
    limit = 2**20 if kind != "application/octet-stream" else 2**24
    path = MEASUREMENTS if kind != "application/octet-stream" else "/v1/models/inspect"
    pieces = (b" " * 2**16 for _ in range(limit // 2**16 + 1))
    status, _, body = site.server.send(
        "POST", path, pieces, Content_Type=kind, Authorization=f"Bearer {site.submitter}"
    )
    assert (status, json.loads(body)["type"]) == (413, "/problems/payload-too-large")
    assert ask(site.server, "GET", "/health/live")[0] == 200


@pytest.mark.parametrize("key", ["", "sizing_000000000000_" + "a" * 43])
def test_a_stranger_is_told_so_before_the_body_is_read(site: Site, key: str) -> None:
    """Who has no key is refused while the body is still to come."""
    assert statuses(site.server.port, key, [LENGTH % 500_000, b"Connection: close"], b"{") == [401]
