"""What a gateway and an orchestrator rely on: a service that is told to end finishes what it has begun."""

import json
import signal
import socket
import time

from tests.integration.test_gunicorn import STOP_SECONDS, Server


def test_a_request_that_has_begun_is_finished_after_sigterm(tmp_path):
    """SIGTERM in the middle of a request: it is answered, and the exit is clean."""
    server = Server(tmp_path, WEB_CONCURRENCY="1", WARM_UP_SECONDS="0")
    body = json.dumps({"model": "qwen3-8b", "gpu": "rtx-4090"}).encode()
    head = "POST /v1/sizing HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    head += f"Content-Length: {len(body)}"
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as begun:
        begun.sendall(f"{head}\r\n\r\n".encode() + body[:10])
        time.sleep(0.5)  # a worker's thread now waits for the rest
        server.process.send_signal(signal.SIGTERM)
        time.sleep(1)  # the worker knows by now
        assert server.process.poll() is None
        begun.sendall(body[10:])
        answered = begun.makefile("rb").read()
    assert answered.startswith(b"HTTP/1.1 200 ")
    assert b'"qwen3-8b"' in answered
    assert server.process.wait(STOP_SECONDS) == 0
