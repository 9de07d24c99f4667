"""Clients that stop in the middle: they lose their connection, and nobody else waits for them for long."""

import shutil
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from service.settings import Settings
from tests.integration.test_gunicorn import Server

THREADS = 2
SHIPPED, SHORT = "_STALLED_SECONDS = 10\n", "_STALLED_SECONDS = 2\n"
BEGUN = b"POST /v1/sizing HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
STALLED = {
    "in the headers": b"GET /v1/models HTTP/1.1\r\nHost: x\r\nX-Slow: ",
    "in the body": BEGUN + b'Content-Length: 100\r\n\r\n{"model": ',
    "in a chunk": BEGUN + b"Transfer-Encoding: chunked\r\n\r\n40\r\n{",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The shipped configuration, but for the seconds that it waits: two of them show what ten do."""
    folder = tmp_path_factory.mktemp("config") / "config"
    shutil.copytree(Settings().config_path, folder)
    configuration = folder / "gunicorn.conf.py"
    text = configuration.read_text(encoding="utf-8")
    assert text.count(SHIPPED) == 1, "as docs/operations.md says"
    configuration.write_text(text.replace(SHIPPED, SHORT), encoding="utf-8")
    options = {"WEB_CONCURRENCY": "1", "THREADS": str(THREADS), "WARM_UP_SECONDS": "0"}
    running = Server(tmp_path_factory.mktemp("home"), CONFIG_PATH=str(folder), **options)
    yield running
    running.stop()


@pytest.mark.parametrize("where", STALLED)
def test_stalled_requests_do_not_stop_the_service(server: Server, where: str) -> None:
    """With every thread taken by a stalled request the next one is answered; the stalled ones are closed."""
    with ExitStack() as stack:
        stalled = [
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            for _ in range(2 * THREADS)
        ]
        for connection in stalled:
            connection.sendall(STALLED[where])
        assert server.get("/health/live")[0] == 200  # within the client's own 30 seconds
        for connection in stalled:
            connection.settimeout(60)
            answer = connection.recv(65_536)
            assert not answer or answer.startswith(b"HTTP/1.1 400")
