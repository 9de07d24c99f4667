"""Metrics and logs of two real workers: they add up, and the end of a worker loses nothing."""

import json
import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.measurements.database import Database
from service.measurements.store import Act, submit
from tests.integration.conftest import free_port
from tests.integration.test_gunicorn import Server
from tests.integration.uploading import answering, ask, eventually, new_key
from tests.uploads import MEASUREMENTS, ROW, SUBMISSION, known_key

LISTS = "/v1/engines?limit=1"
ASKED = "/v1/sizing?model=qwen3-8b&gpu=h100"
PATIENCE_SECONDS = 20


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    running = Server(tmp_path, WARM_UP_SECONDS="0")
    yield running
    running.stop()


def metric(server: Server, name: str, **labels: str) -> float:
    """The sum of the samples that have those labels."""
    total = 0.0
    for line in server.get("/metrics")[2].decode().splitlines():
        found = re.fullmatch(rf"{name}(?:\{{(.*)\}})? (\S+)", line)
        if found and all(f'{label}="{value}"' in (found[1] or "") for label, value in labels.items()):
            total += float(found[2])
    return total


def counted(server: Server) -> float:
    """Requests for the lists, whatever their route is called."""
    pattern = r'sizing_http_requests_total\{[^}]*route="/v1/<any[^}]*\} (\S+)'
    return sum(map(float, re.findall(pattern, server.get("/metrics")[2].decode())))


def becomes(read, wanted) -> bool:
    """Whether a value is reached, and is not passed, in a while."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        if (value := read()) == wanted:
            return True
        assert value <= wanted
        time.sleep(0.05)
    return False


def entries(server: Server, request_id: str) -> list[dict]:
    """Log lines of requests with an id that begins so."""
    lines = server.log.read_text(encoding="utf-8").splitlines()
    found = [json.loads(line) for line in lines if line.startswith('{"event":"request"')]
    return [entry for entry in found if entry["request_id"].startswith(request_id)]


def workers(server: Server) -> list[int]:
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
    return [int(pid) for pid in children.read_text(encoding="ascii").split()]


def test_requests_add_up_over_the_workers(server: Server) -> None:
    """Each request is counted once, whichever worker answered it and whichever is asked for the metrics."""
    for _ in range(30):
        assert server.get(LISTS)[0] == 200
    assert becomes(lambda: counted(server), 30)
    time.sleep(0.5)
    assert counted(server) == 30


def test_a_worker_that_ends_takes_nothing_along(server: Server) -> None:
    """What both workers answered right before one of them was ended stays counted, and is in the log."""
    for number in range(40):
        assert server.get(LISTS, X_Request_ID=f"ended-{number}")[0] == 200
    ended = workers(server)[0]
    os.kill(ended, signal.SIGTERM)
    assert becomes(lambda: counted(server), 40)
    assert becomes(lambda: len(entries(server, "ended-")), 40)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while Path(f"/proc/{ended}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert counted(server) == 40


def test_the_last_lines_of_a_server_are_written(tmp_path: Path) -> None:
    """SIGTERM right after an answer: its line is in the log."""
    running = Server(tmp_path, WARM_UP_SECONDS="0")
    for number in range(10):
        running.get(LISTS, X_Request_ID=f"last-{number}")
    assert running.stop() == 0
    assert len(entries(running, "last-")) == 10


def test_levels_and_computations_are_counted(server: Server) -> None:
    """A question is computed by each worker at most, and its hits are told from its misses."""
    question = "/v1/sizing?model=qwen3-8b&gpu=rtx-4090"
    for _ in range(20):
        assert server.get(question)[0] == 200
    assert becomes(lambda: metric(server, "sizing_http_requests_total", route="/v1/sizing", status="200"), 20)
    misses = metric(server, "sizing_http_requests_total", route="/v1/sizing", cache="miss")
    hits = metric(server, "sizing_http_requests_total", route="/v1/sizing", cache="hit-memory")
    assert 1 <= misses <= 2
    assert hits == 20 - misses
    assert metric(server, "sizing_compute_seconds_count", route="/v1/sizing") == misses
    assert metric(server, "sizing_http_request_seconds_count", route="/v1/sizing") == 20


def in_memory(server: Server, name: str) -> float:
    return metric(server, f"sizing_memory_cache_{name}")


def test_the_memory_of_both_workers_is_seen(tmp_path: Path) -> None:
    """What was prepared before the fork counts with each worker, what one answers once; a bound is for each.

    A worker that ends takes its answers along, and what it dropped stays counted.
    """
    bound = 600_000
    server = Server(tmp_path, WARM_UP_SECONDS="2", CACHE_MEMORY_BYTES=str(bound))
    try:
        eventually(lambda: len(workers(server)) == 2)
        both = workers(server)
        for pid in both:
            with answering(server, pid):  # so it has told what it inherited
                assert server.get("/health/live")[0] == 200
        prepared = in_memory(server, "entries")
        assert prepared > 0
        assert prepared % 2 == 0
        inherited = in_memory(server, "bytes") / 2
        assert 0 < inherited <= bound
        for pid in both:
            with answering(server, pid):
                for number in range(150):
                    assert server.get(f"{ASKED}&reserved_memory_bytes={number}")[0] == 200
        assert 1.9 * bound < in_memory(server, "bytes") <= 2 * bound
        dropped = in_memory(server, "evictions_total")
        assert 0 < dropped < 300 + prepared
        ended = workers(server)[0]
        os.kill(ended, signal.SIGKILL)
        eventually(lambda: len(now := workers(server)) == 2 and ended not in now)
        eventually(lambda: 0.9 * bound < in_memory(server, "bytes") <= bound + inherited)
        assert in_memory(server, "evictions_total") == dropped
    finally:
        server.stop()


def test_a_line_names_the_request_and_not_the_caller(server: Server) -> None:
    """Id, method, path, route, status, language, level and duration; no query, no address, no header."""
    path = "/v1/sizing?model=qwen3-8b&gpu=rtx-4090&reserved_memory_bytes=987654321"
    for _ in range(6):
        server.get(path, X_Request_ID="find-me", Accept_Language="de", User_Agent="Secret/1.0")
    assert becomes(lambda: len(entries(server, "find-me")), 6)
    said = entries(server, "find-me")
    assert {entry["cache"] for entry in said} == {"miss", "hit-memory"}
    for entry in said:
        assert (entry["method"], entry["path"], entry["route"]) == ("GET", "/v1/sizing", "/v1/sizing")
        assert (entry["status"], entry["language"]) == (200, "de")
        assert entry["duration_ms"] > 0
        assert not {"987654321", "127.0.0.1", "Secret/1.0"} & set(map(str, entry.values()))
    assert "987654321" not in server.log.read_text(encoding="utf-8")


def database_condition(server: Server) -> set[str]:
    text = server.get("/metrics")[2].decode()
    return set(re.findall(r'^sizing_database_condition\{condition="(\w+)"\} 1\.0$', text, re.M))


def test_the_database_is_seen(tmp_path: Path) -> None:
    """Its condition, when it last answered, what waits for review and, over both workers, connections."""
    state = {"STATE_PATH": str(tmp_path / "state"), "DATABASE_URL": ""}
    database = Database(None, tmp_path / "state")
    submit(database, [SUBMISSION] * 12, Act(known_key(database), time.time()))
    database.close()
    key = new_key("submit", **state)
    running = Server(tmp_path, WARM_UP_SECONDS="0", RATE_LIMIT_WRITES="off", **state)
    try:
        before = time.time()
        eventually(lambda: metric(running, "sizing_uploads_pending") == 12)
        for _ in range(12):
            assert ask(running, "POST", MEASUREMENTS, key, ROW)[0] == 201
        eventually(lambda: metric(running, "sizing_database_answered_timestamp_seconds") > before)
        assert database_condition(running) == {"ok"}
        eventually(lambda: metric(running, "sizing_database_connections_in_use") == 0)
        assert metric(running, "sizing_database_errors_total") == 0
    finally:
        running.stop()


def test_a_database_that_is_gone_is_seen(tmp_path: Path) -> None:
    """Failed questions of both workers add up, and no time of an answer is made up."""
    state = {"DATABASE_URL": f"postgresql://nobody@127.0.0.1:{free_port()}/none"}
    running = Server(tmp_path, WARM_UP_SECONDS="0", **state)
    try:
        first = metric(running, "sizing_database_errors_total", kind="OperationalError")
        eventually(
            lambda: metric(running, "sizing_database_errors_total", kind="OperationalError") >= first + 4
        )
        assert database_condition(running) == {"unavailable"}
        assert metric(running, "sizing_database_connections_in_use") == 0
        assert b"sizing_database_answered" not in running.get("/metrics")[2]
        assert b"sizing_uploads_pending" not in running.get("/metrics")[2]
    finally:
        running.stop()


def test_a_redis_that_is_gone_is_seen(tmp_path: Path) -> None:
    """Failed questions are counted by their error; a process that stopped asking says so."""
    running = Server(tmp_path, REDIS_URL=f"redis://127.0.0.1:{free_port()}/0", WARM_UP_SECONDS="0")
    try:
        for number in range(30):
            path = f"/v1/sizing?model=qwen3-8b&gpu=rtx-4090&reserved_memory_bytes={number}"
            assert running.get(path)[0] == 200
        assert metric(running, "sizing_redis_errors_total", kind="ConnectionError") >= 3
        assert 1 <= metric(running, "sizing_redis_breaker_open") <= 2
    finally:
        running.stop()
