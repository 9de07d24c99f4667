"""Clients that stop in the middle: they lose their connection, and nobody else waits for them for long."""

import socket
from contextlib import ExitStack

import pytest

from tests.integration.test_gunicorn import Server

THREADS = 2
BEGUN = b"POST /v1/sizing HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
STALLED = {
    "in the headers": b"GET /v1/models HTTP/1.1\r\nHost: x\r\nX-Slow: ",
    "in the body": BEGUN + b'Content-Length: 100\r\n\r\n{"model": ',
    "in a chunk": BEGUN + b"Transfer-Encoding: chunked\r\n\r\n40\r\n{",
}


@pytest.mark.parametrize("where", STALLED)
def test_stalled_requests_do_not_stop_the_service(tmp_path, where):
    """With every thread taken by a stalled request the next one is answered; the stalled ones are closed."""
    server = Server(tmp_path, WEB_CONCURRENCY="1", THREADS=str(THREADS), WARM_UP_SECONDS="0")
    try:
        with ExitStack() as stack:
            stalled = [
                stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
                for _ in range(2 * THREADS)
            ]
            for connection in stalled:
                connection.sendall(STALLED[where])
            assert server.get("/health/live")[0] == 200  # within the client's own 30 seconds
            stalled[0].settimeout(60)
            answer = stalled[0].recv(65_536)
            assert not answer or answer.startswith(b"HTTP/1.1 400")
    finally:
        server.stop()
