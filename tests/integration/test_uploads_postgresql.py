"""Uploads in a real PostgreSQL: migrated by its operator, shared by servers, missed without harm."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import sqlalchemy as sa

from service.measurements.database import Database
from service.measurements.errors import (
    StorageFault,
    StorageReadOnly,
    StorageUnavailable,
    StorageUnmigrated,
    UnknownMeasurement,
)
from service.measurements.keys import authenticate
from service.measurements.reading import count_pending, events, everything, find, writes
from service.measurements.schema import SCHEMA, Condition, look, migrate
from service.measurements.store import IDEMPOTENCY_DAYS, Act, Once, import_rows, review, submit
from service.measurements.submission import Status
from service.measurements.tables import METADATA
from tests.integration.postgresql import postgres_server  # noqa: F401 - a fixture
from tests.integration.test_gunicorn import Server
from tests.integration.uploading import ask, command, eventually, new_key, stored, submit_under_fire
from tests.uploads import MEASUREMENTS, ROW, SUBMISSION, known_key
from tests.uploads import new_key as stored_key

NOW = 1_796_000_000.0
SIZING = "/v1/sizing?model=qwen3-8b&gpu=rtx-4090&engine=llama.cpp"
SAMPLE = 120


@pytest.fixture
def url(postgres_server):  # noqa: F811
    return postgres_server.database()


@pytest.fixture
def database(url, tmp_path):
    found = Database(url, tmp_path)
    yield found
    found.close()


def apart(database, call, *arguments):
    """The result of a call with connections of its own, as another process has them."""
    other = Database(database.url.render_as_string(hide_password=False), database.path)
    try:
        return call(other, *arguments)
    finally:
        other.close()


def test_a_server_is_migrated_by_its_operator_only(database):
    """An empty database is not touched by a write; `migrate` fills it, also twice at the same time."""
    assert look(database).condition is Condition.UNMIGRATED
    with pytest.raises(StorageUnmigrated):
        stored_key(database)
    with ThreadPoolExecutor(2) as threads:
        done = list(threads.map(lambda _: apart(database, migrate), range(2)))
    assert sorted(done, key=str) == [(SCHEMA, SCHEMA), (None, SCHEMA)]
    assert look(database).condition is Condition.OK
    with database.read() as connection:
        inspector = sa.inspect(connection)
        for table in METADATA.tables.values():
            found = {c["name"]: c["nullable"] for c in inspector.get_columns(table.name)}
            assert found == {c.name: c.nullable for c in table.columns}, table.name


def test_the_store_works_as_on_sqlite(database):
    """Submission, repetition, review, history and import have the same results."""
    migrate(database)
    act = Act(known_key(database), NOW, "request")
    with ThreadPoolExecutor(8) as threads:
        receipts = list(
            threads.map(
                lambda _: apart(database, submit, [SUBMISSION], act, Once("a", "b")),
                range(8),
            )
        )
    assert len({receipt.ids for receipt in receipts}) == 1
    assert sum(not receipt.replayed for receipt in receipts) == 1
    [name] = receipts[0].ids
    found, revision = review(database, name, Status.PUBLISHED, act, 1, "fine")
    assert (found.version, revision > 1) == (2, True)
    assert [event.status for event in events(database, name)] == [Status.PENDING, Status.PUBLISHED]
    assert import_rows(database, [SUBMISSION, replace(SUBMISSION, note="x" * 1000)], act) == 2
    assert import_rows(database, [SUBMISSION], act) == 0


def test_a_name_that_no_text_can_be_is_unknown(database):
    """PostgreSQL refuses NUL in a text; an address may hold it all the same."""
    migrate(database)
    act = Act(known_key(database), NOW)
    for call in (
        lambda: find(database, "uploaded-\0"),
        lambda: events(database, "\0"),
        lambda: review(database, "a\0b", Status.PUBLISHED, act, None, None),
    ):
        with pytest.raises(UnknownMeasurement):
            call()


def test_writes_are_listed_and_old_names_forgotten(database):
    """The audit log, the count of what waits, and pruning work as on SQLite."""
    migrate(database)
    key = known_key(database)
    [name] = submit(database, [SUBMISSION], Act(key, NOW, "request"), Once("a", "b")).ids
    assert count_pending(database) == 1
    found = writes(database, int(NOW))
    assert [(w.key_name, w.action, w.subject, w.request_id) for w in found][-1] == (
        key.name,
        "submit",
        name,
        "request",
    )
    later = Act(key, NOW + IDEMPOTENCY_DAYS * 86_400 + 1)
    submit(database, [SUBMISSION], later, Once("other", "b"))
    assert not submit(database, [SUBMISSION], later, Once("a", "b")).replayed
    assert count_pending(database) == 3


def test_migration_forward_and_back_keeps_the_data(database):
    migrate(database)
    act = Act(known_key(database), NOW)
    given = replace(SUBMISSION, power_limit_watts=350.0, note="gruß 中文")
    [name] = submit(database, [given], act).ids
    assert migrate(database, "0001") == (SCHEMA, 1)
    assert find(database, name).submission == replace(given, power_limit_watts=None)
    with pytest.raises(StorageUnmigrated):
        submit(database, [given], act)
    assert migrate(database) == (1, SCHEMA)
    submit(database, [given], act)
    assert len(everything(database)) == 2


def test_a_role_that_may_only_read_is_told_so(database, postgres_server):  # noqa: F811
    """Rights that are missing are a read-only storage, not a fault of the service."""
    migrate(database)
    key = known_key(database)
    with database.write() as connection:
        name = database.url.database
        connection.exec_driver_sql(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
    database.close()
    assert look(database).condition is Condition.OK
    with pytest.raises(StorageReadOnly):
        submit(database, [SUBMISSION], Act(key, NOW))


def test_a_server_that_is_gone_or_hangs_is_missed_without_harm(database, postgres_server):  # noqa: F811
    """Stopped: an error at once. Started again: everything works, on new connections."""
    migrate(database)
    text = stored_key(database)
    key = authenticate(database, f"Bearer {text}")
    submit(database, [SUBMISSION], Act(key, NOW))
    postgres_server.stop()
    with pytest.raises(StorageFault):
        submit(database, [SUBMISSION], Act(key, NOW))
    with pytest.raises(StorageUnavailable):
        authenticate(database, f"Bearer {text}")
    assert look(database).condition is Condition.UNAVAILABLE
    postgres_server.start()
    submit(database, [SUBMISSION], Act(key, NOW))
    assert len(everything(database)) == 2


def test_two_servers_share_one_database(url, tmp_path):
    """What one server publishes is shown by the other soon after, without a restart and without Redis."""
    state = {"DATABASE_URL": url, "STATE_PATH": str(tmp_path / "state")}
    options = {"RATE_LIMIT_WRITES": "off", "WARM_UP_SECONDS": "0", "WEB_CONCURRENCY": "1", **state}
    homes = [tmp_path / "one", tmp_path / "two"]
    for home in homes:
        home.mkdir()
    first = Server(homes[0], **options)
    second = Server(homes[1], **options)
    try:
        assert json.loads(first.get("/health/ready")[2])["storage"]["state"] == "unmigrated"
        assert ask(first, "POST", MEASUREMENTS, "sizing_000000000000_" + "a" * 43, ROW)[0] == 401
        command("migrate", **state)
        submitter, reviewer = new_key("submit", **state), new_key("review", **state)
        assert json.loads(second.get(SIZING)[2])["measured"] == []
        name = ask(first, "POST", MEASUREMENTS, submitter, ROW)[2]["id"]
        assert ask(second, "GET", f"{MEASUREMENTS}/{name}", reviewer)[2]["status"] == "pending"
        review_of(first, name, reviewer, "published")
        assert [row["id"] for row in json.loads(first.get(SIZING)[2])["measured"]] == [name]
        eventually(lambda: [row["id"] for row in json.loads(second.get(SIZING)[2])["measured"]] == [name])
        review_of(second, name, reviewer, "withdrawn")
        assert json.loads(second.get(SIZING)[2])["measured"] == []
        eventually(lambda: json.loads(first.get(SIZING)[2])["measured"] == [])
        acknowledged = submit_under_fire(first, submitter, SAMPLE, 2)
        rows = stored(second, reviewer)
        assert {row["uploaded"]["submitted"]["note"]: row["id"] for row in rows} == acknowledged
        assert len(rows) == SAMPLE
    finally:
        first.stop()
        second.stop()
    assert not (tmp_path / "state").exists()


def test_a_database_that_hangs_leaves_the_reading(url, tmp_path, postgres_server):  # noqa: F811
    """A frozen server: answers go on, also new ones; the probe says so; thawed, writing works again."""
    state = {"DATABASE_URL": url, "STATE_PATH": str(tmp_path / "state")}
    command("migrate", **state)
    submitter, reviewer = new_key("submit", **state), new_key("review", **state)
    server = Server(tmp_path, RATE_LIMIT_WRITES="off", WARM_UP_SECONDS="0", WEB_CONCURRENCY="1", **state)
    try:
        name = ask(server, "POST", MEASUREMENTS, submitter, ROW)[2]["id"]
        review_of(server, name, reviewer, "published")
        assert [row["id"] for row in json.loads(server.get(SIZING)[2])["measured"]] == [name]
        postgres_server.freeze()
        with ThreadPoolExecutor(3) as threads:
            writes = [threads.submit(ask, server, "POST", MEASUREMENTS, submitter, ROW) for _ in range(3)]
            for context in (4096, 16384, 32768):  # not answered before
                answer = json.loads(server.get(f"{SIZING}&context_tokens={context}")[2])
                assert [row["id"] for row in answer["measured"]] == [name]
            eventually(lambda: storage(server)["state"] == "unavailable", tries=300)
            postgres_server.thaw()
            statuses = {write.result()[0] for write in writes}
        assert statuses <= {201, 503}
        eventually(lambda: storage(server)["state"] == "ok")
        assert ask(server, "POST", MEASUREMENTS, submitter, ROW)[0] == 201
    finally:
        postgres_server.thaw()
        server.stop()


def storage(server):
    return json.loads(server.get("/health/ready")[2])["storage"]


def review_of(server, name, key, status):
    found = ask(server, "PATCH", f"{MEASUREMENTS}/{name}", key, {"status": status}, If_Match="*")
    assert found[0] == 200, found
