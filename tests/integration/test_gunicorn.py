"""The service as it is deployed: gunicorn with the configuration that is shipped."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
QUESTION = "/v1/sizing?model=qwen3-8b&gpu=rtx-4090"
START_SECONDS = 60
STOP_SECONDS = 30


class Server:
    """A running gunicorn, its port, and what it wrote."""

    def __init__(self, home: Path, **environment: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.log = home / "log"
        settings = {"PORT": str(self.port), "WEB_CONCURRENCY": "2", "HOME": str(home), **environment}
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "service.cli", "serve"],
                cwd=ROOT,
                env={"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1", **settings},
                stdout=log,
                stderr=log,
            )
        self._wait()

    def _wait(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            try:
                if self.get("/health/ready")[0] == 200:
                    return
            except OSError:
                time.sleep(0.1)
        self.process.kill()
        pytest.fail(self.log.read_text(encoding="utf-8"))

    def send(self, method: str, path: str, body: bytes | Iterator[bytes] | None = None, **headers: str):
        """Status, headers and body of one request on a connection of its own."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            sent = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, sent, encode_chunked=body is not None)
            answer = connection.getresponse()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def get(self, path: str, **headers: str):
        """A GET."""
        return self.send("GET", path, **headers)

    def stop(self) -> int:
        """Ask for a graceful end; the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=STOP_SECONDS)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = Server(tmp_path_factory.mktemp("home"))
    yield running
    running.stop()


def test_answers_the_core_question(server):
    """A sizing travels over a real connection with its validators, and is revalidated with them."""
    status, headers, body = server.get(QUESTION)
    assert status == 200
    assert headers["content-type"] == "application/json"
    assert json.loads(body)["model"]["id"] == "qwen3-8b"
    assert server.get(QUESTION, If_None_Match=headers["etag"])[0] == 304


def test_chunked_bodies_are_read_and_bounded(server):
    """A body without Content-Length is read, and refused beyond the limit."""
    question = json.dumps({"model": "qwen3-8b", "gpu": "rtx-4090"}).encode()
    json_type = {"Content_Type": "application/json"}
    assert server.send("POST", "/v1/sizing", iter([question]), **json_type)[0] == 200
    assert server.send("POST", "/v1/sizing", iter([b" " * 2**20, question]), **json_type)[0] == 413


def test_second_answer_comes_from_memory(server):
    """A worker answers again without computing: the same bytes, and it says so."""
    path = "/v1/sizing?model=qwen3-14b&gpu=rtx-4090"
    answers = [server.get(path) for _ in range(6)]  # two workers, each with a memory of its own
    assert {headers["x-cache"] for _, headers, _ in answers} == {"miss", "hit-memory"}
    assert len({body for _, _, body in answers}) == 1
    assert len({headers["x-request-id"] for _, headers, _ in answers}) == 6


@pytest.mark.parametrize("length", [8100, 20_000])
def test_long_addresses_are_414(server, length):
    """An address that is too long is a 414, whether the service or the server notices."""
    assert server.get("/v1/models?q=" + "x" * length)[0] == 414


def test_nothing_is_written_below_home(server):
    """No control socket and no other file appears in the home folder, which may be read-only."""
    assert [path.name for path in server.log.parent.iterdir()] == ["log"]


def test_ends_gracefully_and_cleans_up(tmp_path):
    """SIGTERM ends the server with status 0 and leaves no folder of metrics behind."""
    running = Server(tmp_path, WEB_CONCURRENCY="1")
    own = f"sizing-metrics-{running.process.pid}-"
    shared = Path("/dev/shm")
    assert running.stop() == 0
    assert not list(shared.glob(f"{own}*"))


def test_ready_without_the_shared_cache(tmp_path):
    """With Redis configured but gone the service is ready, answers, and says what is missing."""
    running = Server(tmp_path, REDIS_URL="redis://127.0.0.1:1/0", WEB_CONCURRENCY="1")
    try:
        status, _, body = running.get("/health/ready")
        assert status == 200
        assert json.loads(body)["cache"] == {"backend": "redis", "available": False}
        assert running.get(QUESTION)[0] == 200
    finally:
        running.stop()


def test_wrong_setting_stops_the_start_with_a_clear_message(tmp_path):
    """A wrong variable is named, and the server does not start."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PORT": "http"}
    command = [sys.executable, "-m", "service.cli", "serve"]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert "PORT: Not a valid integer." in done.stderr
    assert "Traceback" not in done.stderr
