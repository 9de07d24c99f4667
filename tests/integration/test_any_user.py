"""The service as a container runs it: any user, no home, a file system that cannot be written."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.integration.conftest import free_port

ROOT = Path(__file__).parents[2]
USER = 54_321  # has no name, no home and no file here
SECONDS = 90


def as_user(command: list[str]) -> list[str]:
    """The command under USER; it may read all, where the interpreter lies in a folder closed to others."""
    setpriv = shutil.which("setpriv")
    if os.geteuid() != 0 or setpriv is None:
        pytest.skip("only root can become another user, by setpriv of util-linux")
    options = ["--reuid", str(USER), "--regid", str(USER), "--clear-groups", "--no-new-privs"]
    reading = ["--inh-caps", "+dac_read_search", "--ambient-caps", "+dac_read_search"]
    probe = ["-c", f"import sys, flask; sys.exit(sys.version != {sys.version!r})"]
    for how in ([setpriv, *options], [setpriv, *options, *reading]):
        if subprocess.run([*how, sys.executable, *probe], cwd="/", capture_output=True).returncode == 0:
            return [*how, *command]
    pytest.skip("another user cannot run this interpreter")


class Container:
    """A server as USER in a folder that it cannot write, with TMPDIR for what is temporary."""

    def __init__(self, place: Path) -> None:
        self.work, self.scratch = place / "work", place / "scratch"
        self.work.mkdir(mode=0o555)
        self.scratch.mkdir(mode=0o700)
        os.chown(self.scratch, USER, USER)
        self.port = free_port()
        self.log = place / "log"
        environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
            "HOME": "/nonexistent",
            "TMPDIR": str(self.scratch),
            "PORT": str(self.port),
            "WEB_CONCURRENCY": "2",
            "WARM_UP_SECONDS": "0",
        }
        configuration = str(ROOT / "config/gunicorn.conf.py")
        gunicorn = [sys.executable, "-m", "gunicorn", "--config", configuration, "service.wsgi:app"]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                as_user(gunicorn), cwd=self.work, env=environment, stdout=log, stderr=log
            )

    def get(self, path: str) -> int:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        finally:
            connection.close()

    def wait(self) -> None:
        deadline = time.monotonic() + SECONDS
        while self.process.poll() is None and time.monotonic() < deadline:
            try:
                if self.get("/health/ready") == 200:
                    return
            except OSError:
                time.sleep(0.1)
        pytest.fail(self.log.read_text(encoding="utf-8"))


@pytest.fixture
def container() -> Iterator[Container]:
    with tempfile.TemporaryDirectory() as folder:  # not tmp_path, which other users may not enter
        place = Path(folder)
        place.chmod(0o755)
        running = Container(place)
        try:
            running.wait()
            yield running
        finally:
            running.process.kill()
            running.process.wait(30)


def test_any_user_without_a_home_serves_from_a_read_only_folder(container):
    """It answers, its processes have that user, nothing is written where it works, nothing stays behind."""
    assert container.get("/v1/sizing?model=qwen3-8b&gpu=rtx-4090") == 200
    assert container.get("/metrics") == 200
    status = Path(f"/proc/{container.process.pid}/status").read_text()
    assert f"Uid:\t{USER}\t{USER}\t{USER}\t{USER}" in status
    container.process.send_signal(signal.SIGTERM)
    assert container.process.wait(SECONDS) == 0
    assert list(container.work.iterdir()) == []
    assert list(container.scratch.iterdir()) == []
    assert "Traceback" not in container.log.read_text(encoding="utf-8")
