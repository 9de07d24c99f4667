"""A PostgreSQL that answers late or not at all: reading keeps its pace, writing is confirmed or refused."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy.engine import Connection, make_url

from service.measurements import store
from service.measurements.database import Database
from service.measurements.errors import StorageUnavailable
from service.measurements.keys import Key, authenticate
from service.measurements.reading import everything
from service.measurements.schema import migrate
from service.measurements.store import Act, Once
from tests.integration.load import Load, assert_nothing_is_lost
from tests.integration.postgresql import PostgresServer, postgres_server  # noqa: F401 - a fixture
from tests.integration.slow_proxy import SlowProxy, slow_way
from tests.integration.test_gunicorn import Server
from tests.integration.test_observability import metric
from tests.integration.uploading import ask, command, eventually, new_key, stored
from tests.uploads import MEASUREMENTS, ROW, SUBMISSION, known_key
from tests.uploads import new_key as stored_key

# A submission is two transactions, of 4 and 8 seconds at most, each after 1 second for a free connection and
# 3 for a new one; the rest is for a busy machine.
WRITE_SECONDS = 20.0
READ_SECONDS = 5.0
WINDOW_SECONDS = 4.0


class Site:
    """A server whose database lies behind a slow way, and a key of each scope."""

    def __init__(self, folder: Path, postgres: PostgresServer, way: SlowProxy, **options: str) -> None:
        url = postgres.database()
        direct = {"DATABASE_URL": url, "STATE_PATH": str(folder / "state")}
        command("migrate", **direct)
        self.submitter, self.reviewer = new_key("submit", **direct), new_key("review", **direct)
        slow = make_url(url).set(port=way.port).render_as_string(hide_password=False)
        settings = {"RATE_LIMIT_WRITES": "off", "WARM_UP_SECONDS": "0", **options}
        self.server = Server(folder, **{**direct, "DATABASE_URL": slow, **settings})

    def state(self) -> str:
        """What the readiness probe says of the database."""
        found: str = ask(self.server, "GET", "/health/ready")[2]["storage"]["state"]
        return found

    def submit(self, note: str = "alone") -> tuple[int, dict[str, str], dict]:
        return ask(self.server, "POST", MEASUREMENTS, self.submitter, {**ROW, "note": note})


@pytest.fixture
def way(postgres_server: PostgresServer) -> Iterator[SlowProxy]:  # noqa: F811
    with slow_way(postgres_server.port) as proxy:
        yield proxy
        postgres_server.thaw()


@pytest.fixture
def options() -> dict[str, str]:
    """Settings of the server beside those that a test of uploads has."""
    return {}


@pytest.fixture
def site(
    tmp_path: Path,
    postgres_server: PostgresServer,  # noqa: F811
    way: SlowProxy,
    options: dict[str, str],
) -> Iterator[Site]:
    found = Site(tmp_path, postgres_server, way, **options)
    yield found
    postgres_server.thaw()
    way.delay = 0.0
    found.server.stop()


def is_a_refusal(status: int, headers: dict[str, str], document: dict) -> bool:
    """503 of the type that is documented, with the time to come again."""
    known = document["type"] == "/problems/storage-unavailable"
    return status == 503 and known and int(headers["retry-after"]) > 0


@pytest.mark.parametrize(
    ("delay", "states"), [(0.02, {"ok"}), (0.5, {"ok", "unavailable"}), (5.0, {"unavailable"})]
)
def test_a_late_database_costs_no_reading(site: Site, way: SlowProxy, delay: float, states: set[str]) -> None:
    """Reading goes on, each submission is there once or was refused, the probe tells, and it all passes."""
    assert site.submit()[0] == 201
    with Load(site.server, site.submitter).running() as load:
        eventually(lambda: len(load.writes) > 3)
        way.delay = delay
        before = len(load.reads), len(load.writes)
        eventually(lambda: len(load.reads) > before[0] + 200 and len(load.writes) > before[1] + 4, 600)
        eventually(lambda: site.state() in states)
    assert set(load.statuses(load.reads)) == {200}
    assert load.slowest(load.reads) < READ_SECONDS
    refused = [answer for answer in load.writes if answer.status != 201]
    assert all(is_a_refusal(a.status, dict(a.headers or {}), a.document) for a in refused)
    assert bool(refused) >= (delay > 1)
    assert not refused or delay > 0.1
    assert load.slowest(load.writes, 100) < WRITE_SECONDS
    way.delay = 0.0
    eventually(lambda: {site.submit()[0] for _ in range(8)} == {201})  # of both workers
    rows = stored(site.server, site.reviewer)
    assert_nothing_is_lost(
        load, [row for row in rows if row["uploaded"]["submitted"]["note"].startswith("load ")]
    )


def test_a_narrow_way_to_the_database_ends_in_a_refusal(site: Site, way: SlowProxy) -> None:
    """An answer that trickles in is given up like one that does not come."""
    assert site.submit()[0] == 201
    way.delay, way.narrow = 0.2, 1
    eventually(lambda: is_a_refusal(*site.submit()))
    eventually(lambda: site.state() == "unavailable")
    way.delay, way.narrow = 0.0, None
    eventually(lambda: site.submit()[0] == 201)


@pytest.mark.parametrize("options", [{"WEB_CONCURRENCY": "1", "THREADS": "3"}])
def test_a_frozen_database_holds_two_threads_of_a_process(
    site: Site,
    postgres_server: PostgresServer,  # noqa: F811
) -> None:
    """One process with three threads, more writers than threads, and the database stops in the middle.

    No more connections are taken than two; every submission is refused in time; reading goes on, and once it
    is known that the database hangs at no less than half of its pace before.
    """
    name = site.submit()[2]["id"]
    review = {"status": "published"}
    assert ask(site.server, "PATCH", f"{MEASUREMENTS}/{name}", site.reviewer, review, If_Match="*")[0] == 200
    numbers, ended, taken = count(1), threading.Event(), []
    answers: list[tuple[int, dict[str, str], dict, float]] = []

    def write() -> None:
        while not ended.is_set():
            began = time.monotonic()
            answers.append((*site.submit(f"number {next(numbers)}"), time.monotonic() - began))
            ended.wait(0.2)

    def watch() -> None:
        while not ended.is_set():
            taken.append(metric(site.server, "sizing_database_connections_in_use"))
            ended.wait(0.1)

    with ThreadPoolExecutor(7) as pool:
        others = [pool.submit(write) for _ in range(6)]
        with Load(site.server).running(3) as usual:
            time.sleep(WINDOW_SECONDS)
        postgres_server.freeze()
        written = len(answers)
        others.append(pool.submit(watch))
        with Load(site.server).running(3) as at_first:
            eventually(lambda: site.state() == "unavailable")
        with Load(site.server).running(3) as frozen:
            time.sleep(WINDOW_SECONDS)
        eventually(lambda: len(answers) > written + 30)
        ended.set()
    for other in others:
        other.result()
    during = answers[written + 6 :]  # six may have been on their way
    assert site.state() == "unavailable"
    assert all(is_a_refusal(*answer[:3]) for answer in during)
    assert max(answer[3] for answer in answers) < WRITE_SECONDS
    assert set(frozen.statuses([*at_first.reads, *frozen.reads])) == {200}
    assert at_first.slowest(at_first.reads) < READ_SECONDS
    assert len(frozen.reads) * 2 > len(usual.reads)
    assert 0 < max(taken) <= 2
    measured = ask(site.server, "GET", "/v1/sizing?model=qwen3-8b&gpu=rtx-4090&context_tokens=1234")[2]
    assert [row["id"] for row in measured["measured"]][:1] == [name]
    postgres_server.thaw()
    eventually(lambda: site.submit()[0] == 201)


def test_a_confirmation_that_got_lost_is_had_again(
    postgres_server: PostgresServer,  # noqa: F811
    way: SlowProxy,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The commit was taken and its answer did not come: refused, and the same name finds what was stored."""
    url = make_url(postgres_server.database())
    database = Database(url.set(port=way.port).render_as_string(hide_password=False), Path(), bounded=True)
    migrate(database)
    act = Act(known_key(database), 1_796_000_000.0)
    monkeypatch.setattr("service.measurements.database._WRITE_SECONDS", 1.5)

    def last_step(connection: Connection, key: Key, now: float) -> bool:
        way.delay = 5.0
        return False

    with monkeypatch.context() as patch:
        patch.setattr(store, "mark_used", last_step)
        with pytest.raises(StorageUnavailable, match="no answer in time"):
            store.submit(database, [SUBMISSION], act, Once("a", "b"))
    way.delay = 0.0
    again = store.submit(database, [SUBMISSION], act, Once("a", "b"))
    assert again.replayed
    assert [row.id for row in everything(database)] == list(again.ids)
    database.close()


def test_a_command_may_take_its_time(postgres_server: PostgresServer, way: SlowProxy) -> None:  # noqa: F811
    """Only a server is in a hurry: an import or a migration waits for as long as the database works."""
    url = make_url(postgres_server.database())
    patient = Database(url.render_as_string(hide_password=False), Path())
    migrate(patient)
    text = f"Bearer {stored_key(patient)}"
    slow = url.set(port=way.port).render_as_string(hide_password=False)
    hurried, unhurried = (Database(slow, Path(), bounded=bounded) for bounded in (True, False))
    for database in (hurried, unhurried):
        authenticate(database, text)
    way.delay = 1.5  # of four answers that the transaction takes
    with pytest.raises(StorageUnavailable, match="no answer in time"):
        authenticate(hurried, text)
    assert authenticate(unhurried, text).name == "tester"
    way.delay = 0.0
    with unhurried.write() as connection:
        connection.exec_driver_sql("SELECT pg_sleep(6)")
    with pytest.raises(StorageUnavailable, match="statement timeout"), hurried.write() as connection:
        connection.exec_driver_sql("SELECT pg_sleep(6)")
    for database in (patient, hurried, unhurried):
        database.close()
