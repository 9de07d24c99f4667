"""SIGHUP on a real server: changed facts are taken up, no request is dropped, wrong facts change nothing."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from threading import Event, Thread

import pytest

from tests.integration.test_gunicorn import ROOT, Server
from tests.operators import GPUS, MODEL, OFFERS, example, lay

NEW = "/v1/models/support-8b"
PATHS = ("/v1/sizing?model=qwen3-8b&gpu=rtx-4090", "/v1/gpus?limit=3", "/health/live", "/v1/models/qwen3-14b")
SECONDS = 60


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "catalog"
    path.mkdir()
    return path


@pytest.fixture
def server(tmp_path: Path, folder: Path) -> Iterator[Server]:
    home = tmp_path / "home"
    home.mkdir()
    running = Server(home, CATALOG_PATH=str(folder), WARM_UP_SECONDS="0", GRACEFUL_TIMEOUT_SECONDS="20")
    yield running
    running.stop()


def reload(server: Server) -> None:
    server.process.send_signal(signal.SIGHUP)


def workers(server: Server) -> set[int]:
    """The workers that run now, without those that have ended and wait to be reaped."""
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
    return {int(child) for child in children}


def until(true: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + SECONDS
    while not true():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def reload_and_wait(server: Server) -> None:
    """Until none of the workers of before is left."""
    before = workers(server)
    reload(server)
    until(lambda: not before & workers(server) and len(workers(server)) == 2, "the old workers stay")


def digest(server: Server) -> str:
    return json.loads(server.get("/health/info")[2])["data_digest"]


def ready(server: Server) -> dict:
    status, _, body = server.get("/health/ready")
    assert status == 200
    return json.loads(body)


def facts_are_current(server: Server) -> float:
    return float(re.search(r"^sizing_facts_current (\S+)$", metrics(server), re.M)[1])


def metrics(server: Server) -> str:
    return server.get("/metrics")[2].decode()


class Client(Thread):
    """Asks without a pause until it is stopped; every request that got no answer, or a bad one, is kept."""

    def __init__(self, port: int, *, keep_alive: bool) -> None:
        super().__init__(daemon=True)
        self.port, self.keep_alive = port, keep_alive
        self.answered, self.failed = 0, list[str]()
        self._stop_asking = Event()

    def run(self) -> None:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        while not self._stop_asking.is_set():
            path = PATHS[self.answered % len(PATHS)]
            try:
                connection.request("GET", path, headers={} if self.keep_alive else {"Connection": "close"})
                answer = connection.getresponse()
                body = answer.read()
                if answer.status != 200 or not body.endswith(b"}"):
                    self.failed.append(f"{path}: {answer.status} {body[:100]!r}")
            except (OSError, HTTPException) as error:
                self.failed.append(f"{path}: {error!r}")
                connection.close()
            self.answered += 1
        connection.close()

    def end(self) -> None:
        self._stop_asking.set()
        self.join(SECONDS)


def test_a_reload_takes_up_new_facts_and_drops_no_request(server, folder):
    """Clients on kept and on new connections get every answer while the facts change under them, twice."""
    assert server.get(NEW)[0] == 404
    _, headers, body = server.get("/v1/models")
    first = digest(server)
    clients = [Client(server.port, keep_alive=keep) for keep in (True, True, False, False)]
    for client in clients:
        client.start()
    until(lambda: all(client.answered > 20 for client in clients), "no answers before the reload")
    lay(folder)
    reload_and_wait(server)
    asked = [client.answered for client in clients]
    until(lambda: all(c.answered > n + 20 for c, n in zip(clients, asked, strict=True)), "no answers after")
    second = digest(server)
    lay(folder, {MODEL: example()[MODEL].replace("Support 8B", "Support 8B v2")})
    reload_and_wait(server)
    for client in clients:
        client.end()
    assert [client.failed for client in clients] == [[], [], [], []]
    status, _, body_of_model = server.get(NEW)
    assert (status, json.loads(body_of_model)["name"]) == (200, "Support 8B v2")
    assert json.loads(body_of_model)["provided_by"] == "operator"
    assert len({first, second, digest(server)}) == 3
    # A client that kept an answer of before gets the new one.
    status, fresh, changed = server.get("/v1/models", If_None_Match=headers["etag"])
    assert status == 200
    assert fresh["etag"] != headers["etag"]
    assert changed != body
    assert ready(server)["facts"] == "current"


def test_a_request_that_was_being_sent_is_finished(server, folder):
    """An old worker takes the rest of a body, and answers, after new workers have started."""
    question = json.dumps({"model": "qwen3-8b", "gpu": "rtx-4090"}).encode()
    with closing(HTTPConnection("127.0.0.1", server.port, timeout=30)) as connection:
        connection.putrequest("POST", "/v1/sizing")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", str(len(question)))
        connection.endheaders(question[:10])
        old = workers(server)
        lay(folder)
        reload(server)
        until(lambda: len(workers(server) - old) == 2, "no new workers")
        assert old & workers(server), "the worker that reads the body has ended"
        connection.send(question[10:])
        answer = connection.getresponse()
        body = json.loads(answer.read())
        assert (answer.status, body["model"]["id"]) == (200, "qwen3-8b")
    until(lambda: not old & workers(server), "the old workers stay")
    assert server.get(NEW)[0] == 200
    assert body["versions"]["data_digest"] != digest(server)


def test_wrong_facts_at_a_reload_change_nothing_but_the_state(server, folder):
    """The facts from before are served; log, probe and metric say so until a reload succeeds."""
    lay(folder)
    reload_and_wait(server)
    before = digest(server)
    lay(folder, {GPUS: example()[GPUS].replace("gb: 24", "gb: much")})
    reload_and_wait(server)
    assert digest(server) == before
    assert server.get(NEW)[0] == 200
    state = ready(server)
    assert (state["status"], state["facts"]) == ("degraded", "outdated")
    assert facts_are_current(server) == 0
    lines = server.log.read_text(encoding="utf-8").splitlines()
    [line] = [json.loads(line) for line in lines if '"reload_failed"' in line]
    assert line["level"] == "error"
    assert line["reason"] == f"{folder}/{GPUS}: [rtx-a5000-24gb].memory.gb: must be a whole number"
    lay(folder)
    reload_and_wait(server)
    state = ready(server)
    assert (state["status"], state["facts"]) == ("ok", "current")
    assert facts_are_current(server) == 1
    assert digest(server) == before


def test_a_folder_that_is_gone_at_a_reload_does_not_end_the_server(server, folder):
    """A setting that has become wrong is no reason to stop: the settings from before hold."""
    lay(folder)
    reload_and_wait(server)
    folder.rename(folder.with_name("elsewhere"))
    reload_and_wait(server)
    assert server.get(NEW)[0] == 200
    assert ready(server)["status"] == "degraded"
    assert "CATALOG_PATH: No such folder" in server.log.read_text(encoding="utf-8")
    folder.with_name("elsewhere").rename(folder)
    reload_and_wait(server)
    assert ready(server)["status"] == "ok"


def resident_bytes(server: Server) -> int:
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS"))


def open_files(server: Server) -> int:
    return len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))


def metric_files(server: Server) -> list[Path]:
    return list(Path("/dev/shm").glob(f"sizing-metrics-{server.process.pid}-*/*.db"))


def counted(server: Server) -> float:
    """Requests for the digest so far, of all workers that there ever were."""
    found = re.findall(r'^sizing_http_requests_total\{.*"/health/info".*\} (\S+)$', metrics(server), re.M)
    return sum(map(float, found))


def test_reloading_often_does_not_leak(server, folder):
    """After two reloads, which fill what is kept, five more add no catalog and no open file to the master."""

    def changed(number: int) -> None:
        lay(folder, {OFFERS: example()[OFFERS].replace("0.42", f"0.4{number}"), GPUS: example()[GPUS]})
        reload_and_wait(server)

    for number in range(2):
        changed(number)
        digest(server)
    before, opened = resident_bytes(server), open_files(server)
    for number in range(2, 7):
        changed(number)
        digest(server)
    grown = resident_bytes(server) - before
    assert grown < 12 * 2**20, f"{grown / 2**20:.1f} MiB in five reloads"
    assert open_files(server) == opened
    # Counts of the 16 workers so far: files of the two that run, and one a type for those that ended.
    until(lambda: counted(server) == 7, "a worker took its counts with it")
    assert len(metric_files(server)) < 16


def test_wrong_facts_stop_the_start_with_one_message(tmp_path, folder):
    """File, place and reason; no traceback, and nothing listens."""
    lay(folder, {**example(), GPUS: example()[GPUS].replace("gb: 24", "gb: much")})
    environment = {"CATALOG_PATH": str(folder), "PORT": "0", "HOME": str(tmp_path), "WARM_UP_SECONDS": "0"}
    command = [sys.executable, "-m", "service.cli", "serve"]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode != 0
    assert f"{folder}/{GPUS}: [rtx-a5000-24gb].memory.gb: must be a whole number" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Listening" not in done.stderr
