"""The database is taken away, held up and filled under load: reading goes on, nothing confirmed is lost."""

import resource
import time

import psycopg
import pytest

from tests.integration.load import HANG_SECONDS, QUESTION, Load, assert_nothing_is_lost
from tests.integration.postgresql import PostgresServer, postgres_server  # noqa: F401 - a fixture
from tests.integration.test_gunicorn import Server
from tests.integration.uploading import answering, ask, command, eventually, new_key, stored, workers
from tests.uploads import MEASUREMENTS, ROW

PAUSE_SECONDS = 1.5
LONG_PAUSE_SECONDS = 10.0
FEWEST_READS = 50


@pytest.fixture
def site(tmp_path, postgres_server):  # noqa: F811
    """Two workers on PostgreSQL, a key of each scope, and one published measurement."""
    state = {"DATABASE_URL": postgres_server.database(), "STATE_PATH": str(tmp_path / "state")}
    command("migrate", **state)
    keys = new_key("submit", **state), new_key("review", **state)
    server = Server(tmp_path, RATE_LIMIT_WRITES="off", WARM_UP_SECONDS="0", **state)
    yield (server, *keys, state["DATABASE_URL"])
    postgres_server.thaw()
    server.stop()


def published(server: Server, submitter: str, reviewer: str) -> str:
    name = ask(server, "POST", MEASUREMENTS, submitter, ROW)[2]["id"]
    review = ask(server, "PATCH", f"{MEASUREMENTS}/{name}", reviewer, {"status": "published"}, If_Match="*")
    assert review[0] == 200
    return name


def measured(server: Server, number: int) -> list[str]:
    """Measurements in an answer that no cache has."""
    answer = ask(server, "GET", f"{QUESTION}&reserved_memory_bytes={number}", "")
    assert answer[0] == 200
    return [row["id"] for row in answer[2]["measured"]]


def held_up(url: str, seconds: float) -> None:
    """A table that another client locks: what is slow for some reason looks like this."""
    with psycopg.connect(url) as connection:
        connection.execute("LOCK TABLE measurement IN ACCESS EXCLUSIVE MODE")
        time.sleep(seconds)
        connection.rollback()


def disturb(site, postgres: PostgresServer, seconds: float) -> Load:
    """Load while the database hangs, comes back, is slow, crashes, and is started again."""
    server, submitter, reviewer, url = site
    name = published(server, submitter, reviewer)
    eventually(lambda: len(workers(server)) == 2)
    for number, pid in enumerate(workers(server)):
        with answering(server, pid):  # else it would first read what is published when nothing answers
            assert measured(server, 10**9 + number) == [name]
    with Load(server, submitter).running() as load:
        for number, (step, wanted) in enumerate(
            (
                (postgres.freeze, 201),
                (postgres.thaw, None),
                (lambda: held_up(url, seconds), None),
                (postgres.crash, None),
                (postgres.start, 503),
            )
        ):
            time.sleep(seconds)
            eventually(lambda status=wanted: status is None or status in load.statuses(load.writes))
            step()
            assert measured(server, 10**9 + 10 + number) == [name]
        time.sleep(seconds)
        eventually(lambda: len(load.reads) > FEWEST_READS)  # a busy machine takes longer
    return load


def check(site, load: Load) -> None:
    """Every question was answered, every submission confirmed or refused, and what was confirmed is there."""
    server, submitter, reviewer, _ = site
    assert set(load.statuses(load.reads)) == {200}
    assert load.slowest(load.reads, 100) < HANG_SECONDS
    assert set(load.statuses(load.writes)) == {201, 503}
    assert load.slowest(load.writes, 100) < HANG_SECONDS
    for refused in load.writes:
        if refused.status == 503:
            assert refused.document["type"] == "/problems/storage-unavailable"
            assert int(refused.headers["retry-after"]) > 0
    eventually(lambda: ask(server, "POST", MEASUREMENTS, submitter, ROW)[0] == 201)
    assert_nothing_is_lost(load, [row for row in stored(server, reviewer) if row_is_of(load, row)])


def row_is_of(load: Load, row) -> bool:
    return str(row["uploaded"]["submitted"]["note"]).startswith("load ")


def test_reading_goes_on_whatever_the_database_does(site, postgres_server):  # noqa: F811
    """Paused, slow, crashed and started again: answers with what was published last, clear refusals."""
    check(site, disturb(site, postgres_server, PAUSE_SECONDS))


@pytest.mark.soak
def test_reading_goes_on_for_long_whatever_the_database_does(site, postgres_server, capsys):  # noqa: F811
    """The same for more than a minute."""
    load = disturb(site, postgres_server, LONG_PAUSE_SECONDS)
    check(site, load)
    with capsys.disabled():
        print(f"\nPostgreSQL: {len(load.reads)} reads, 99 % in {load.slowest(load.reads):.2f} s")
        print(f"submissions: {dict(load.statuses(load.writes))}")


@pytest.fixture
def small_disk(tmp_path):
    """Two workers on SQLite, and a key of each scope."""
    state = {"STATE_PATH": str(tmp_path / "state"), "DATABASE_URL": ""}
    server = Server(tmp_path, RATE_LIMIT_WRITES="off", WARM_UP_SECONDS="0", LOG_LEVEL="CRITICAL", **state)
    yield server, new_key("submit", **state), new_key("review", **state), tmp_path / "state"
    server.stop()


def test_a_full_disk_refuses_and_loses_nothing(small_disk):
    """Files that cannot grow: a clear refusal, reading goes on, and with room again so does writing."""
    server, submitter, reviewer, folder = small_disk
    name = published(server, submitter, reviewer)
    with Load(server, submitter, reads=(QUESTION, f"{QUESTION}&reserved_memory_bytes={{number}}")).running(
        2
    ) as load:
        eventually(lambda: len(load.acknowledged) > 5)
        largest = max(path.stat().st_size for path in folder.iterdir())
        limit(server, largest + 40_000)
        eventually(lambda: 503 in load.statuses(load.writes))
        assert measured(server, 10**9) == [name]
        limit(server, resource.RLIM_INFINITY)
        enough = len(load.acknowledged) + 5
        eventually(lambda: len(load.acknowledged) > enough)
    assert set(load.statuses(load.reads)) == {200}
    assert set(load.statuses(load.writes)) == {201, 503}
    refused = [answer for answer in load.writes if answer.status == 503]
    assert {answer.document["type"] for answer in refused} == {"/problems/storage-unavailable"}
    assert all(int(answer.headers["retry-after"]) > 0 for answer in refused)
    assert_nothing_is_lost(load, stored(server, reviewer))


def limit(server: Server, size: int) -> None:
    """The largest file that the workers may write, as a quota has it."""
    for pid in workers(server):
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def test_a_rolling_update_goes_on_under_load(site):
    """A newer version adds a column and writes beside this one; told to stop, this one only reads."""
    server, submitter, reviewer, url = site
    name = published(server, submitter, reviewer)
    with Load(server, submitter).running() as load:
        eventually(lambda: len(load.acknowledged) > 5)
        with psycopg.connect(url) as connection:
            connection.execute("ALTER TABLE measurement ADD COLUMN driver TEXT")
            connection.execute('UPDATE storage SET "schema" = "schema" + 1')
        with psycopg.connect(url) as connection:
            connection.execute(
                "INSERT INTO measurement (id, status, version, created_at, updated_at, key_id, model, gpu,"
                " published_model, published_gpu, note, driver) SELECT 'uploaded-newer', status, version,"
                " created_at, updated_at, key_id, model, gpu, published_model, published_gpu, 'newer', '580'"
                " FROM measurement WHERE id = %s",
                [name],
            )
            connection.execute("UPDATE storage SET revision = revision + 1")
        enough = len(load.acknowledged) + 5
        eventually(lambda: len(load.acknowledged) > enough)
        numbers = iter(range(10**9, 2 * 10**9))
        eventually(lambda: sorted(measured(server, next(numbers))) == sorted([name, "uploaded-newer"]))
        assert set(load.statuses(load.writes)) == {201}
        with psycopg.connect(url) as connection:
            connection.execute('UPDATE storage SET oldest_writer = "schema"')
        eventually(lambda: 503 in load.statuses(load.writes))
    assert set(load.statuses(load.reads)) == {200}
    refused = [answer for answer in load.writes if answer.status == 503]
    assert {answer.document["type"] for answer in refused} == {"/problems/storage-newer"}
    assert_nothing_is_lost(load, [row for row in stored(server, reviewer) if row_is_of(load, row)])
