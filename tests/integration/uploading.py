"""Submissions over real connections, also while workers are killed; used by the tests and by longer runs."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from service.measurements.database import Database
from service.measurements.keys import Scope
from tests.integration.test_gunicorn import ROOT, Server
from tests.uploads import MEASUREMENTS, ROW
from tests.uploads import new_key as make_key

_TRIES = 60
_PAUSE = 0.2


def command(*arguments: str, **environment: str) -> str:
    """The output of a command of `sizing`."""
    done = subprocess.run(
        [sys.executable, "-m", "service.cli", *arguments],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1", **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def new_key(scope: str, **environment: str) -> str:
    """The text of a key in the database of STATE_PATH or DATABASE_URL."""
    database = Database(environment.get("DATABASE_URL") or None, Path(environment["STATE_PATH"]))
    try:
        return make_key(database, frozenset({Scope(scope)}))
    finally:
        database.close()


def ask(server: Server, method: str, path: str, key: str = "", body: object = None, **headers: str):
    """Status, headers and document of one request."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    if key:
        sent["Authorization"] = f"Bearer {key}"
    content = None
    if body is not None:
        content = json.dumps(body).encode()
        sent["Content-Type"] = "application/json"
    connection = HTTPConnection("127.0.0.1", server.port, timeout=30)
    try:
        connection.request(method, path, content, sent)
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, json.loads(text or b"null")
    finally:
        connection.close()


def workers(server: Server) -> list[int]:
    """Process ids of the server's workers."""
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
    return [int(pid) for pid in children.read_text().split()]


@contextmanager
def answering(server: Server, pid: int) -> Iterator[None]:
    """Only that worker answers for as long as the block runs: which one takes a connection is chance."""
    others = [other for other in workers(server) if other != pid]
    for other in others:
        os.kill(other, signal.SIGSTOP)
    try:
        yield
    finally:
        for other in others:
            os.kill(other, signal.SIGCONT)


def submit_until_acknowledged(server: Server, key: str, name: str, body: object) -> Sequence[str]:
    """The ids under which a submission was acknowledged: repeated under its name until there is an answer."""
    pause = threading.Event()
    for _ in range(_TRIES):
        try:
            status, _, found = ask(server, "POST", MEASUREMENTS, key, body, Idempotency_Key=name)
        except (OSError, HTTPException):  # the worker died with the request
            pause.wait(_PAUSE)
            continue
        if status == 201:
            return found["ids"]
        assert status == 503, (status, found)  # busy: nothing was stored
        pause.wait(_PAUSE)
    raise AssertionError(f"{name} was never acknowledged")


def submit_under_fire(
    server: Server,
    key: str,
    total: int,
    kills: int,
    threads: int = 16,
    signals: Sequence[signal.Signals] = (signal.SIGKILL,),
) -> dict[str, str]:
    """Submit `total` measurements at once while `kills` workers are told to end; note -> acknowledged id."""
    acknowledged: dict[str, str] = {}
    done = threading.Event()
    random_numbers = random.Random(20261130)

    def fire() -> None:
        pause = threading.Event()
        for shot in range(1, kills + 1):
            # Spread over the run by its own progress, not by the clock.
            while len(acknowledged) < shot * total // (kills + 1) and not done.is_set():
                pause.wait(0.01)
            running = workers(server)
            if running:
                os.kill(random_numbers.choice(running), random_numbers.choice(signals))

    def submit(number: int) -> None:
        note = f"shot {number}"
        [name] = submit_until_acknowledged(server, key, f"run-{number}", {**ROW, "note": note})
        acknowledged[note] = name

    shooter = threading.Thread(target=fire)
    shooter.start()
    try:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(submit, range(total)))
    finally:
        done.set()
        shooter.join()
    return acknowledged


def eventually(holds: Callable[[], bool], tries: int = 300) -> None:
    """Wait until something holds that another process brings about."""
    pause = threading.Event()
    for _ in range(tries):
        if holds():
            return
        pause.wait(0.1)
    raise AssertionError("it did not come about")


def stored(server: Server, key: str, status: str = "pending") -> list[dict]:
    """All submissions of a status, over all pages."""
    items, cursor = [], ""
    while True:
        path = f"{MEASUREMENTS}?status={status}&limit=500{cursor}"
        found = ask(server, "GET", path, key)[2]
        items += found["items"]
        if found["next_cursor"] is None:
            return items
        cursor = f"&cursor={found['next_cursor']}"
