"""Uploads with real workers on SQLite: shown by all at once, stored once whatever is killed."""

import json
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.integration.test_gunicorn import Server
from tests.integration.uploading import ask, command, eventually, new_key, stored, submit_under_fire, workers
from tests.uploads import MEASUREMENTS, ROW

SIZING = "/v1/sizing?model=qwen3-8b&gpu=rtx-4090&engine=llama.cpp"
SAMPLE = 240
KILLS = 4
LONG = 1_000


@pytest.fixture
def site(tmp_path):
    """A server with two workers, and a key of each scope."""
    state = {"STATE_PATH": str(tmp_path / "state"), "DATABASE_URL": ""}
    server = Server(tmp_path, RATE_LIMIT_WRITES="off", WARM_UP_SECONDS="0", **state)
    yield server, new_key("submit", **state), new_key("review", **state)
    server.stop()


def seen(server, path, times=24):
    """Bodies of many requests, each on a connection of its own, so that both workers answer."""
    with ThreadPoolExecutor(8) as threads:
        return [
            body for status, _, body in threads.map(lambda _: server.get(path), range(times)) if status == 200
        ]


def measured(server):
    return {tuple(row["id"] for row in json.loads(body)["measured"]) for body in seen(server, SIZING)}


def test_a_publication_is_seen_by_every_worker_with_its_next_request(site):
    """Two workers have the old answer in memory; the moment the review is answered neither gives it again."""
    server, submitter, reviewer = site
    assert measured(server) == {()}
    names = []
    for _ in range(3):
        name = ask(server, "POST", MEASUREMENTS, submitter, ROW)[2]["id"]
        assert measured(server) == {tuple(sorted(names))}
        status, _, _ = ask(
            server, "PATCH", f"{MEASUREMENTS}/{name}", reviewer, {"status": "published"}, If_Match="*"
        )
        assert status == 200
        names.append(name)
        assert measured(server) == {tuple(sorted(names))}
    for name in list(names):
        ask(server, "PATCH", f"{MEASUREMENTS}/{name}", reviewer, {"status": "withdrawn"}, If_Match="*")
        names.remove(name)
        assert measured(server) == {tuple(sorted(names))}
    assert len(workers(server)) == 2


def test_a_key_that_is_made_or_revoked_counts_at_once(site):
    """The command line needs no restart of the server."""
    server, submitter, _ = site
    assert ask(server, "POST", MEASUREMENTS, submitter, ROW)[0] == 201
    environment = {"STATE_PATH": str(server.log.parent / "state"), "DATABASE_URL": ""}
    command("keys", "revoke", submitter.split("_")[1], **environment)
    answers = [ask(server, "POST", MEASUREMENTS, submitter, ROW) for _ in range(6)]
    assert {(status, found["type"]) for status, _, found in answers} == {(401, "/problems/key-revoked")}


def reloaded(server):
    """SIGHUP, and wait until the workers are others."""
    before = set(workers(server))
    server.process.send_signal(signal.SIGHUP)
    eventually(lambda: len(workers(server)) == 2 and not before & set(workers(server)))


def test_a_reload_keeps_the_uploads(site):
    """After SIGHUP new workers show what was published, and what is published then, with the next request."""
    server, submitter, reviewer = site
    names = []
    for reload in (False, True):
        if reload:
            reloaded(server)
            assert measured(server) == {tuple(names)}
        name = ask(server, "POST", MEASUREMENTS, submitter, ROW)[2]["id"]
        ask(server, "PATCH", f"{MEASUREMENTS}/{name}", reviewer, {"status": "published"}, If_Match="*")
        names = sorted([*names, name])
        assert measured(server) == {tuple(names)}


def test_the_same_submission_at_the_same_time_is_stored_once(site):
    """Both workers get it sixteen times under one name: one row, one answer."""
    server, submitter, reviewer = site
    with ThreadPoolExecutor(16) as threads:
        answers = list(
            threads.map(
                lambda _: ask(server, "POST", MEASUREMENTS, submitter, ROW, Idempotency_Key="once"), range(16)
            )
        )
    assert {status for status, _, _ in answers} == {201}
    assert len({json.dumps(found) for _, _, found in answers}) == 1
    assert sum("idempotency-replayed" not in headers for _, headers, _ in answers) == 1
    assert len(stored(server, reviewer)) == 1


def test_what_was_acknowledged_is_there_once_whatever_is_killed(site):
    """Workers are killed while they write: each acknowledged submission is there once, and nothing else."""
    server, submitter, reviewer = site
    acknowledged = submit_under_fire(server, submitter, SAMPLE, KILLS)
    rows = stored(server, reviewer)
    assert len(acknowledged) == SAMPLE
    assert {row["uploaded"]["submitted"]["note"]: row["id"] for row in rows} == acknowledged
    assert len(rows) == SAMPLE


def test_what_was_acknowledged_is_there_once_when_workers_are_asked_to_end(site):
    """Some are killed, some are told SIGTERM while they write: the same holds."""
    server, submitter, reviewer = site
    signals = (signal.SIGTERM, signal.SIGKILL)
    acknowledged = submit_under_fire(server, submitter, SAMPLE // 2, KILLS, signals=signals)
    rows = stored(server, reviewer)
    assert {row["uploaded"]["submitted"]["note"]: row["id"] for row in rows} == acknowledged
    assert len(rows) == SAMPLE // 2


@pytest.mark.soak
def test_a_thousand_at_once_are_there_once_whatever_is_killed(site, capsys):
    """1,000 submissions, 64 at a time, while twenty workers are killed."""
    server, submitter, reviewer = site
    acknowledged = submit_under_fire(server, submitter, LONG, 20, threads=64)
    rows = stored(server, reviewer)
    assert {row["uploaded"]["submitted"]["note"]: row["id"] for row in rows} == acknowledged
    assert len(rows) == LONG
    with capsys.disabled():
        print(f"\n{LONG} submissions at once, 20 workers killed: {len(rows)} rows, each once")


def test_nothing_is_written_before_the_first_key(tmp_path):
    """A server that only reads makes no state folder, and says that there is none."""
    server = Server(tmp_path, STATE_PATH=str(tmp_path / "state"), WEB_CONCURRENCY="1", WARM_UP_SECONDS="0")
    try:
        assert server.get(SIZING)[0] == 200
        assert json.loads(server.get("/health/ready")[2])["storage"]["state"] == "absent"
        assert ask(server, "POST", MEASUREMENTS, "", ROW)[0] == 401
        assert not (tmp_path / "state").exists()
    finally:
        server.stop()
