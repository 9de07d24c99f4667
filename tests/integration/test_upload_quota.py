"""The limit of what waits for review holds over transactions and workers, on SQLite and PostgreSQL."""

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
import sqlalchemy as sa

from service.measurements.database import Database
from service.measurements.errors import TooManyPending
from service.measurements.quota import demand_room
from service.measurements.reading import count_pending, everything
from service.measurements.schema import SCHEMA, migrate, writing
from service.measurements.store import Act, Once, review, submit
from service.measurements.submission import Status
from tests.integration.postgresql import postgres_server  # noqa: F401 - a fixture
from tests.integration.test_gunicorn import Server
from tests.integration.uploading import ask, command, eventually, new_key, stored
from tests.uploads import MEASUREMENTS, ROW, SUBMISSION, known_key

NOW = 1_796_000_000.0
LIMIT = 20
_WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted"


@pytest.fixture
def database(postgres_server, tmp_path):  # noqa: F811
    found = Database(postgres_server.database(), tmp_path)
    migrate(found)
    yield found
    found.close()


def another(database):
    """The same database with connections of its own, as another process has them."""
    return Database(database.url.render_as_string(hide_password=False), database.path)


def attempt(database, act, rows, limit):
    """How many were stored, with connections of its own."""
    own = another(database)
    try:
        return len(submit(own, [SUBMISSION] * rows, act, most_pending=limit).ids)
    except TooManyPending:
        return 0
    finally:
        own.close()


@pytest.mark.parametrize("isolation", ["read committed", "repeatable read", "serializable"])
def test_two_at_the_same_time_do_not_both_find_room(database, isolation):
    """Who submits with the same key waits for the one before, and then counts what that one has stored.

    Whatever isolation the server has by default; another key does not wait.
    """
    key, other = Act(known_key(database), NOW), Act(known_key(database), NOW)
    with database.write() as connection:
        name = database.url.database
        connection.exec_driver_sql(
            f"ALTER DATABASE \"{name}\" SET default_transaction_isolation = '{isolation}'"
        )
    database.close()
    second = another(database)
    with closing(second), ThreadPoolExecutor(1) as threads:
        with writing(database) as connection:
            demand_room(connection, key.key.id, 1, 1)
            late = threads.submit(submit, second, [SUBMISSION], key, None, 1)
            eventually(lambda: late.done() or connection.exec_driver_sql(_WAITING).scalar_one() == 1)
            assert not late.done()
            assert attempt(database, other, 1, 1) == 1
            connection.exec_driver_sql(_as_submitted(key))
        with pytest.raises(TooManyPending) as refused:
            late.result()
    assert (refused.value.values["pending"], count_pending(database)) == (1, 2)


def _as_submitted(act):
    columns = (
        "id, status, version, created_at, updated_at, key_id, model, gpu, published_model, published_gpu"
    )
    values = f"'uploaded-first', 'pending', 1, 1, 1, '{act.key.id}', 'm', 'g', 'm', 'g'"
    return f"INSERT INTO measurement ({columns}) VALUES ({values})"


def test_submissions_at_the_same_time_never_exceed_on_postgresql(database):
    """Eight threads submit three each where ten may wait: three of them find room; a review makes more."""
    act = Act(known_key(database), NOW)
    with ThreadPoolExecutor(8) as threads:
        done = list(threads.map(lambda _: attempt(database, act, 3, 10), range(8)))
    assert sorted(done) == [0] * 5 + [3] * 3
    assert count_pending(database) == 9
    with pytest.raises(TooManyPending):
        submit(database, [SUBMISSION] * 2, act, Once("run", "a"), 10)
    review(database, everything(database)[0].id, Status.REJECTED, act, None, None)
    first = submit(database, [SUBMISSION] * 2, act, Once("run", "a"), 10)
    assert (first.replayed, count_pending(database)) == (False, 10)
    assert submit(database, [SUBMISSION] * 2, act, Once("run", "a"), 10).ids == first.ids


def test_the_index_comes_and_goes_with_the_data_of_postgresql(database):
    """Forward and back from 0002 every row stays; the index is the one that the code names."""
    act = Act(known_key(database), NOW)
    submit(database, [SUBMISSION] * 3, act)
    before = everything(database)
    for target, schema, names in (("0002", 2, set()), ("head", SCHEMA, {"measurement_by_key"})):
        assert migrate(database, target)[1] == schema
        with database.read() as connection:
            found = {index["name"] for index in sa.inspect(connection).get_indexes("measurement")}
        assert found == {"measurement_by_status", *names}
        assert everything(database) == before


@pytest.fixture(params=["sqlite", "postgresql"])
def state(request, tmp_path):
    """Where a server keeps its uploads."""
    found = {"STATE_PATH": str(tmp_path / "state"), "DATABASE_URL": ""}
    if request.param == "postgresql":
        found["DATABASE_URL"] = request.getfixturevalue("postgres_server").database()
    command("migrate", **found)
    return found


def test_workers_never_exceed_together(tmp_path, state):
    """Two workers, sixteen connections, 48 submissions where 20 may wait: 20 are stored, the others refused.

    The log names the key, without its secret.
    """
    server = Server(
        tmp_path, RATE_LIMIT_WRITES="off", WARM_UP_SECONDS="0", MAX_PENDING_PER_KEY=str(LIMIT), **state
    )
    try:
        submitter, reviewer = new_key("submit", **state), new_key("review", **state)
        with ThreadPoolExecutor(16) as threads:
            answers = list(
                threads.map(lambda _: ask(server, "POST", MEASUREMENTS, submitter, ROW), range(48))
            )
        assert Counter(status for status, _, _ in answers) == {201: LIMIT, 409: 28}
        refused = next(found for status, _, found in answers if status == 409)
        assert (refused["type"], refused["limit"], refused["pending"]) == (
            "/problems/too-many-pending",
            LIMIT,
            LIMIT,
        )
        assert len(stored(server, reviewer)) == LIMIT
    finally:
        server.stop()
    text = server.log.read_text(encoding="utf-8")
    lines = [json.loads(line) for line in text.splitlines() if "an API key is at its limit" in line]
    _, key, secret = submitter.split("_", 2)
    assert [line["key"] for line in lines] == [key] * 28
    assert secret not in text
