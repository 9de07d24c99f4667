"""The database of uploads: made by the first write, migrated both ways, written once, read by all."""

import os
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace

import pytest
import sqlalchemy as sa

from service.measurements import schema
from service.measurements import uploads as uploads_module
from service.measurements.database import Database
from service.measurements.errors import (
    IdempotencyConflict,
    KeyRequired,
    KeyRevoked,
    KeyUnknown,
    ScopeMissing,
    StorageNewer,
    StorageReadOnly,
    StorageUnavailable,
    UnknownMeasurement,
    VersionOutdated,
    WrongStatus,
)
from service.measurements.keys import Key, Scope, authenticate, create_key, list_keys, revoke_key
from service.measurements.reading import count_pending, events, everything, find, with_status, writes
from service.measurements.revision import SharedRevision, next_revision
from service.measurements.schema import SCHEMA, Condition, look, migrate, read_revision, writing
from service.measurements.store import IDEMPOTENCY_DAYS, Act, Once, import_rows, review, submit
from service.measurements.submission import NEXT, Status, measurement
from service.measurements.tables import METADATA, audit, idempotency
from service.measurements.uploads import Uploads
from tests.uploads import REVIEW, SUBMISSION, SUBMIT, known_key, new_key

NOW = 1_796_000_000.0


@pytest.fixture
def database(tmp_path):
    return Database(None, tmp_path / "state")


@pytest.fixture
def act(database):
    return Act(known_key(database), NOW, "request-1")


def test_reading_makes_nothing(database):
    """Until something is written there is no file and no folder, and nothing was uploaded."""
    assert look(database).condition is Condition.ABSENT
    assert list_keys(database) == everything(database) == []
    assert Uploads(database, ["rtx-4090"]).token() == ""
    with pytest.raises(UnknownMeasurement):
        find(database, "uploaded-0")
    with pytest.raises(KeyUnknown):
        authenticate(database, "Bearer sizing_000000000000_" + "a" * 43)
    assert not database.path.parent.exists()


def test_the_first_write_makes_a_durable_file(database):
    """SQLite with a write-ahead log, synchronous=FULL for what is acknowledged, and checked references."""
    new_key(database)
    with database.read() as connection:
        found = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    assert found == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 5000}
    assert look(database) == schema.State(Condition.OK, SCHEMA, 1)
    assert database.path.parent.stat().st_mode & 0o077 == 0


def test_migrations_make_the_tables_of_the_code(database):
    """The migrated database has exactly the tables, columns, types, nullability and indexes of the code."""
    new_key(database)
    with database.read() as connection:
        inspector = sa.inspect(connection)
        assert set(inspector.get_table_names()) == {*METADATA.tables, "alembic_version"}
        for table in METADATA.tables.values():
            found = {c["name"]: (str(c["type"]), c["nullable"]) for c in inspector.get_columns(table.name)}
            wanted = {c.name: (str(c.type.compile(connection.dialect)), c.nullable) for c in table.columns}
            assert found == wanted, table.name
            indexes = {i["name"]: i["column_names"] for i in inspector.get_indexes(table.name)}
            assert indexes == {i.name: [c.name for c in i.columns] for i in table.indexes}, table.name


def test_keys_are_kept_as_digests(database):
    """The text of a key is nowhere in the database, and two keys are never alike."""
    key, text = create_key(database, "lab", SUBMIT, NOW)
    _, other = create_key(database, "lab", SUBMIT, NOW)
    secret = text.split("_", 2)[2]
    assert len(secret) == 43  # 256 bits in base64
    assert text != other
    database.close()
    content = b"".join(path.read_bytes() for path in database.path.parent.iterdir())
    assert secret.encode() not in content
    assert authenticate(database, f"Bearer {text}") == key
    assert key in list_keys(database)
    assert authenticate(database, f"bearer  {text} ").id == key.id


@pytest.mark.parametrize(
    "header", ["Basic dXNlcjpwYXNz", "Bearer", "Bearer x", "Bearer sizing__", "sizing_x"]
)
def test_other_credentials_are_no_key(database, header):
    new_key(database)
    with pytest.raises(KeyUnknown):
        authenticate(database, header)


def test_a_key_needs_its_secret_and_its_scope(database):
    """The right id with another secret is unknown; a key does only what its scopes name."""
    key, text = create_key(database, "lab", SUBMIT, NOW)
    with pytest.raises(KeyUnknown):
        authenticate(database, f"Bearer sizing_{key.id}_{'A' * 43}")
    with pytest.raises(ScopeMissing):
        authenticate(database, f"Bearer {text}").demand(Scope.REVIEW)
    for nothing in (None, "", " "):
        with pytest.raises(KeyRequired):
            authenticate(database, nothing)


def test_revoked_keys_open_nothing(database):
    key, text = create_key(database, "lab", SUBMIT, NOW)
    assert revoke_key(database, key.id, NOW + 1).revoked_at == NOW + 1
    assert revoke_key(database, key.id, NOW + 9).revoked_at == NOW + 1
    with pytest.raises(KeyRevoked):
        authenticate(database, f"Bearer {text}")
    with pytest.raises(KeyUnknown):
        revoke_key(database, "nobody", NOW)


def test_the_day_of_the_last_write_is_remembered(database, act):
    """Coarse on purpose: a day, written once a day."""
    submit(database, [SUBMISSION], act)
    assert list_keys(database)[0].last_used_on == "2026-11-30"


def test_submissions_wait_and_are_audited(database, act):
    """What is stored is pending, has a history from the start, and the log names key, row and request."""
    receipt = submit(database, [SUBMISSION, SUBMISSION], act)
    found, _ = with_status(database, Status.PENDING)
    assert {row.id for row in found} == set(receipt.ids)
    assert [row.submission for row in found] == [SUBMISSION, SUBMISSION]
    assert [(e.version, e.status, e.key_id) for e in events(database, receipt.ids[0])] == [
        (1, Status.PENDING, act.key.id)
    ]
    with database.read() as connection:
        rows = connection.execute(sa.select(audit).where(audit.c.action == "submit")).all()
    assert {(r.key_id, r.subject, r.request_id, r.at) for r in rows} == {
        (act.key.id, name, "request-1", int(NOW)) for name in receipt.ids
    }


def test_a_repetition_stores_nothing(database, act):
    """The same name and body have the same receipt; another body under the name is refused."""
    first = submit(database, [SUBMISSION], act, Once("run", "a"))
    again = submit(database, [SUBMISSION], act, Once("run", "a"))
    assert (again.ids, again.replayed) == (first.ids, True)
    with pytest.raises(IdempotencyConflict):
        submit(database, [SUBMISSION], act, Once("run", "b"))
    other = Act(known_key(database), NOW)
    assert not submit(database, [SUBMISSION], other, Once("run", "b")).replayed  # names belong to a key
    assert len(everything(database)) == 2


def test_repetitions_at_the_same_time_are_stored_once(database, act):
    """Sixteen threads send the same submission: one stores it, all have its receipt."""
    with ThreadPoolExecutor(16) as threads:
        futures = [
            threads.submit(submit, Database(None, database.path.parent), [SUBMISSION], act, Once("run", "a"))
            for _ in range(16)
        ]
        receipts = [future.result() for future in futures]
    assert len({receipt.ids for receipt in receipts}) == 1
    assert sum(not receipt.replayed for receipt in receipts) == 1
    assert len(everything(database)) == 1


def test_a_failed_submission_leaves_nothing(database, act):
    """A row that the tables do not take takes the whole batch with it, its name included."""
    broken = replace(SUBMISSION, published_model=None)
    with pytest.raises(sa.exc.IntegrityError):
        submit(database, [SUBMISSION, broken], act, Once("run", "a"))
    assert everything(database) == []
    assert not submit(database, [SUBMISSION], act, Once("run", "b")).replayed


def test_a_name_is_forgotten_after_its_days(database, act):
    """Kept for thirty days, also for keys that write no more; dropped by a later day's first write."""
    assert IDEMPOTENCY_DAYS == 30
    other = Act(known_key(database), NOW)
    first = submit(database, [SUBMISSION], act, Once("run", "a"))
    submit(database, [SUBMISSION], other, Once("run", "a"))

    def names() -> list[tuple[str, str]]:
        with database.read() as connection:
            return sorted(
                tuple(row) for row in connection.execute(sa.select(idempotency.c["key_id", "name"]))
            )

    month = 30 * 86_400
    submit(database, [SUBMISSION], replace(act, now=NOW + month), Once("last", "a"))
    assert submit(database, [SUBMISSION], act, Once("run", "a")) == replace(first, replayed=True)
    assert names() == sorted([(act.key.id, "last"), (act.key.id, "run"), (other.key.id, "run")])
    submit(database, [SUBMISSION], replace(act, now=NOW + month + 86_400), Once("next", "a"))
    assert names() == [(act.key.id, "last"), (act.key.id, "next")]
    assert not submit(database, [SUBMISSION], act, Once("run", "a")).replayed


def test_what_was_imported_is_known_for_good(database, act):
    """An import can be repeated years later: its records have no age."""
    operator = Act(Key("cli", "command line", frozenset(Scope), 0), NOW)
    assert import_rows(database, [SUBMISSION], operator) == 1
    later = NOW + 1000 * 86_400
    submit(database, [SUBMISSION], replace(act, now=later))
    assert import_rows(database, [SUBMISSION], replace(operator, now=later)) == 0


def test_the_audit_log_names_keys_and_requests(database):
    """From a moment on, the newest of many, the oldest first."""
    key, _ = create_key(database, "lab", SUBMIT, NOW - 5)
    [name] = submit(database, [SUBMISSION], Act(key, NOW, "request-1")).ids
    review(database, name, Status.REJECTED, Act(key, NOW + 5, "request-2"), None, None)
    found = writes(database)
    assert [(w.at - int(NOW), w.action, w.subject, w.request_id) for w in found] == [
        (-5, "create-key", key.id, None),
        (0, "submit", name, "request-1"),
        (5, "rejected", name, "request-2"),
    ]
    assert {(w.key_id, w.key_name) for w in found} == {(key.id, "lab")}
    assert writes(database, int(NOW)) == found[1:]
    assert writes(database, int(NOW) + 1) == found[2:]
    assert writes(database, 0, 1) == found[2:]


def test_the_database_tells_of_connections_and_errors(tmp_path):
    """Each connection is taken and given back; an error is told by its class, a refusal is none."""
    errors, used = [], []
    database = Database(None, tmp_path, failed=errors.append, used=used.append)
    act = Act(known_key(database), NOW)
    [name] = submit(database, [SUBMISSION], act).ids
    assert sum(used) == 0
    assert used[:2] == [1, -1]
    with pytest.raises(WrongStatus):
        review(database, name, Status.PENDING, act, None, None)
    assert errors == []
    with pytest.raises(StorageUnavailable), database.write() as held:
        held.exec_driver_sql("SELECT * FROM nothing")
    assert errors == ["OperationalError"]
    assert sum(used) == 0


def test_what_waits_for_review_is_counted(database, act):
    names = submit(database, [SUBMISSION] * 3, act).ids
    review(database, names[0], Status.PUBLISHED, act, None, None)
    assert count_pending(database) == 2


def test_what_waits_for_review_is_counted_again(database, act, monkeypatch):
    """By the first look of a process that watches, and by the first after ten seconds."""
    submit(database, [SUBMISSION] * 2, act)
    uploads = Uploads(database, ["rtx-4090"])
    assert uploads.pending is None
    uploads.watched_token()
    uploads.look()
    assert uploads.pending == 2
    submit(database, [SUBMISSION], act)
    uploads.look()
    assert uploads.pending == 2
    assert uploads_module._COUNT_SECONDS == 10  # as docs/operations.md says
    monkeypatch.setattr(uploads_module, "_COUNT_SECONDS", 0)
    uploads.look()
    assert uploads.pending == 3


def test_a_full_disk_stores_nothing(database, act):
    """Where the last page is used up the whole batch is refused, and reading goes on."""
    submit(database, [SUBMISSION], act)
    with database.read() as connection:  # a bound of this connection stands for the disk
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + 4}")
    with pytest.raises(StorageUnavailable):
        submit(database, [replace(SUBMISSION, log="x" * 4000)] * 500, act, Once("a", "b"))
    assert len(everything(database)) == 1
    assert not submit(database, [SUBMISSION], act, Once("a", "b")).replayed


def test_an_import_can_be_repeated(database, act):
    rows = [SUBMISSION, replace(SUBMISSION, note="other")]
    assert import_rows(database, rows, act) == 2
    assert import_rows(database, [*rows, replace(SUBMISSION, note="third")], act) == 1
    assert len(everything(database)) == 3


@pytest.mark.parametrize("before", list(Status))
@pytest.mark.parametrize("wanted", list(Status))
def test_a_review_follows_the_ways_there_are(database, act, before, wanted):
    """Only the ways of NEXT lead from a status to another; nothing leads back to pending."""
    [name] = submit(database, [SUBMISSION], act).ids
    path = {Status.PENDING: [], Status.WITHDRAWN: [Status.PUBLISHED, Status.WITHDRAWN]}.get(before, [before])
    for step in path:
        review(database, name, step, act, None, None)
    if wanted in NEXT[before]:
        found, revision = review(database, name, wanted, act, len(path) + 1, "why")
        assert (found.status, found.version) == (wanted, len(path) + 2)
        assert (revision is not None) == (Status.PUBLISHED in (before, wanted))
        assert events(database, name)[-1].note == "why"
    else:
        with pytest.raises(WrongStatus):
            review(database, name, wanted, act, None, None)
        assert find(database, name).status is before


def test_of_two_reviews_of_a_version_one_wins(database, act):
    [name] = submit(database, [SUBMISSION], act).ids
    review(database, name, Status.PUBLISHED, act, 1, None)
    with pytest.raises(VersionOutdated):
        review(database, name, Status.WITHDRAWN, act, 1, None)
    assert len(events(database, name)) == 2


def test_revisions_rise_and_never_return():
    """Above the one before, and different from every other that followed the same one."""
    after = {next_revision(1) for _ in range(100)}
    assert len(after) == 100
    assert min(after) > 1
    assert all(next_revision(revision) > revision for revision in after)


def test_a_late_look_does_not_turn_the_revision_back():
    """A lower number counts only when it is found twice: then the database was restored."""
    shared = SharedRevision()
    shared.advance(10)
    shared.advance(7)
    assert shared.cell[0] == 10
    shared.found(7)
    shared.advance(12)
    shared.found(10)
    assert shared.cell[0] == 12
    shared.found(10)
    assert shared.cell[0] == 10
    shared.found(15)
    assert shared.cell[0] == 15


def test_children_share_the_revision():
    """What a forked worker publishes is in the memory of its parent and of the other workers."""
    shared = SharedRevision()
    for revision in (5, 6):
        child = os.fork()
        if child == 0:
            shared.forked()
            shared.advance(revision)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert shared.cell[0] == revision


def test_published_records_are_read_once_for_a_revision(database, act):
    """The snapshot changes with the revision, not with the clock."""
    uploads = Uploads(database, ["rtx-4090"])
    [name] = submit(database, [SUBMISSION], act).ids
    uploads.look()
    before = uploads.published()
    assert before.by_id == {}
    found, revision = review(database, name, Status.PUBLISHED, act, None, None)
    assert uploads.published() is before
    uploads.advance(revision)
    assert uploads.published().by_id == {name: found}
    assert uploads.published() is uploads.published()
    assert uploads.token() == f"{revision:x}"


def test_a_card_that_left_the_catalog_is_not_shown(database, act):
    [name] = submit(database, [SUBMISSION], act).ids
    review(database, name, Status.PUBLISHED, act, None, None)
    assert Uploads(database, ["h100-80gb-sxm"]).published().by_model == {}


def test_records_stay_when_the_database_goes(database, act):
    """Without the database the last records are shown, and the answer must not be kept."""
    [name] = submit(database, [SUBMISSION], act).ids
    _, revision = review(database, name, Status.PUBLISHED, act, None, None)
    uploads = Uploads(database, ["rtx-4090"])
    assert uploads.published().by_id
    assert not uploads.missed()
    database.close()
    database.path.unlink()
    uploads.advance(next_revision(revision))
    assert name in uploads.published().by_id
    assert uploads.missed()
    assert not uploads.missed()  # told once


def test_migration_forward_and_back_keeps_the_data(database, act):
    """What the older layout can hold survives a step back and forward; only the newer column is lost."""
    given = replace(SUBMISSION, power_limit_watts=350.0, note="kept")
    [name] = submit(database, [given], act).ids
    _, revision = review(database, name, Status.PUBLISHED, act, None, "fine")
    assert migrate(database, "0001") == (SCHEMA, 1)
    assert look(database).condition is Condition.UNMIGRATED
    assert find(database, name).submission == replace(given, power_limit_watts=None)
    assert migrate(database) == (1, SCHEMA)
    assert migrate(database) == (SCHEMA, SCHEMA)
    assert find(database, name).submission == replace(given, power_limit_watts=None)
    assert [event.note for event in events(database, name)] == [None, "fine"]
    with database.read() as connection:
        assert read_revision(connection) == revision
    assert authenticate(database, f"Bearer {new_key(database)}")


def test_an_older_file_is_migrated_by_the_first_write(database, act):
    """A SQLite file belongs to the service; its first write brings it up to date."""
    migrate(database, "0001")
    submit(database, [SUBMISSION], act, Once("a", "b"))
    assert look(database).condition is Condition.OK


def test_two_versions_write_side_by_side(database, act):
    """A newer server has added a column: this one reads and writes beside it, until it is told to stop."""
    [before] = submit(database, [SUBMISSION], act).ids
    with database.write() as connection:
        connection.exec_driver_sql("ALTER TABLE measurement ADD COLUMN driver TEXT")
        connection.exec_driver_sql("ALTER TABLE storage ADD COLUMN more TEXT")
        connection.exec_driver_sql(f"UPDATE storage SET schema = {SCHEMA + 1}, oldest_writer = {SCHEMA}")
    assert look(database).condition is Condition.OK
    [after] = submit(database, [SUBMISSION], act).ids
    review(database, before, Status.PUBLISHED, act, None, None)
    assert {row.id for row in everything(database)} == {before, after}
    with database.write() as connection:
        connection.exec_driver_sql(f"UPDATE storage SET oldest_writer = {SCHEMA + 1}")
    assert look(database).condition is Condition.NEWER
    with pytest.raises(StorageNewer):
        submit(database, [SUBMISSION], act)
    with pytest.raises(StorageNewer):
        migrate(database)
    assert len(everything(database)) == 2  # reading goes on


@pytest.mark.parametrize("older", range(1, SCHEMA))
def test_the_version_before_writes_into_the_tables_of_this_one(database, act, monkeypatch, older):
    """Every migration only adds: a server at 0001 or 0002 stores into newer tables what it knows of."""
    new_key(database)
    monkeypatch.setattr(schema, "SCHEMA", older)
    assert look(database).condition is Condition.OK
    columns = (
        "id, status, version, created_at, updated_at, key_id, model, gpu, published_model, published_gpu"
    )
    with writing(database) as connection:
        values = "'uploaded-old', 'published', 1, 1, 1, 'k', 'qwen3-8b', 'rtx-4090', 'm', 'g'"
        connection.exec_driver_sql(f"INSERT INTO measurement ({columns}) VALUES ({values})")
    monkeypatch.undo()
    assert find(database, "uploaded-old").submission.power_limit_watts is None


def test_a_folder_that_cannot_be_made_is_read_only(tmp_path):
    """Where nothing can be written, writing says so and reading goes on."""
    (tmp_path / "file").write_text("no folder")
    database = Database(None, tmp_path / "file")
    assert look(database).condition is Condition.ABSENT
    with pytest.raises(StorageReadOnly):
        new_key(database)


def test_a_file_on_a_read_only_mount_is_read(database, act, monkeypatch):
    """A WAL database can be read where not even its shared memory can be made; writing is refused."""
    submit(database, [SUBMISSION], act)
    database.close()
    assert [path.name for path in database.path.parent.iterdir()] == [database.path.name]  # checkpointed
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    assert look(database).condition is Condition.OK
    assert len(everything(database)) == 1
    with pytest.raises(StorageReadOnly):
        submit(database, [SUBMISSION], act)
    assert [path.name for path in database.path.parent.iterdir()] == [database.path.name]


def test_a_log_that_a_crash_left_is_read_too(database, act, monkeypatch):
    """On a read-only mount the file alone would lack what was acknowledged last."""
    submit(database, [SUBMISSION], act)
    crashed = Database(None, database.path.parent)  # the first one is still open: nothing was checkpointed
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    assert len(everything(crashed)) == 1
    with pytest.raises(StorageReadOnly):
        submit(crashed, [SUBMISSION], act)


def test_connections_are_not_inherited(database, act):
    """A forked child opens its own; the parent's go on working after the child has closed its."""
    submit(database, [SUBMISSION], act)
    child = os.fork()
    if child == 0:
        try:
            submit(database, [SUBMISSION], act)
            database.close()
            os._exit(0)
        except BaseException:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    submit(database, [SUBMISSION], act)
    assert len(everything(database)) == 3
    with closing(sqlite3.connect(database.path)) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"prompt_tokens": 4096, "output_tokens": 512}, {"context_tokens": 4352}),
        ({"prompt_tokens": 0, "output_tokens": 128}, {"context_tokens": 64}),
        ({"context_tokens": 16384}, {"context_tokens": 16384}),
        ({"speculative_tokens": 0}, {"speculative": False}),
        ({"speculative_tokens": 3}, {"speculative": True}),
        ({}, {"speculative": None, "offload": None, "flags": (), "context_tokens": None}),
        ({"cpu_offload_percent": 25.0}, {"offload": "25 %", "flags": ("offload",)}),
        (
            {
                "decode_tokens_per_second": None,
                "decode_tokens_per_second_per_sequence": 20.0,
                "concurrency": 4,
            },
            {"decode_tokens_per_second": 80.0},
        ),
    ],
)
def test_a_submission_becomes_a_record(database, act, changed, expected):
    """The record has the mean fill of the cache and the rate of all sequences, as published ones have."""
    [name] = submit(database, [replace(SUBMISSION, **changed)], act).ids
    found = measurement(find(database, name))
    assert {field: getattr(found, field) for field in expected} == expected


def test_time_is_recorded(database):
    key = known_key(database, REVIEW)
    assert abs(key.created_at - time.time()) < 60
