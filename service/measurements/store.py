"""Submissions in the database: taken once, reviewed in turn, never deleted."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from secrets import token_hex

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection

from service.core.measurements import UPLOADED
from service.measurements.database import Database
from service.measurements.errors import (
    IdempotencyConflict,
    VersionOutdated,
    WrongStatus,
)
from service.measurements.keys import Key, mark_used, record
from service.measurements.quota import demand_room
from service.measurements.reading import Event, read_one
from service.measurements.revision import next_revision
from service.measurements.schema import writing
from service.measurements.submission import NEXT, Status, Stored, Submission
from service.measurements.tables import history, idempotency, measurement, storage

_ID_BYTES = 12
# A client repeats a request within minutes; after so many days its name is free again.
IDEMPOTENCY_DAYS = 30
_DAY_SECONDS = 86_400
_MOST_FORGOTTEN = 10_000  # at once: a write must not wait longer than a statement may take
# What an import has stored is known by these records for good: they go with no age.
COMMAND_LINE = "cli"


@dataclass(frozen=True, slots=True)
class Act:
    """Who does something, when (Unix seconds), and in which request."""

    key: Key
    now: float
    request_id: str | None = None


@dataclass(frozen=True, slots=True)
class Once:
    """A name under which a client may repeat a submission, and the digest of what it submits."""

    name: str
    digest: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """Ids of what was stored, in the order it was submitted; replayed: by an earlier request."""

    ids: tuple[str, ...]
    replayed: bool = False


def submit(
    database: Database,
    submissions: Sequence[Submission],
    act: Act,
    once: Once | None = None,
    most_pending: int | None = None,
) -> Receipt:
    """Store all submissions as pending, or none; durable when this returns.

    once: a repetition of the same stores nothing and has the same receipt, also at the same time.
    most_pending: how many of the key may wait for review; None does not limit.
    Raises IdempotencyConflict, TooManyPending, StorageFault.
    """
    ids = tuple(sorted(_new_id() for _ in submissions))  # lists are by time and id: a batch keeps its order
    with writing(database) as connection:
        if once is not None:
            known = _claim(connection, act, once, ids)
            if known is not None:
                return known
        if most_pending is not None:
            demand_room(connection, act.key.id, len(ids), most_pending)
        _insert(connection, ids, submissions, act)
        if mark_used(connection, act.key, act.now):  # once a day and key, so that no write waits for it
            _forget(connection, act.now)
    return Receipt(ids)


def import_rows(database: Database, submissions: Sequence[Submission], act: Act) -> int:
    """Store as pending what was not imported before, in one transaction; how many those were.

    Raises StorageFault.
    """
    known = 0
    with writing(database) as connection:
        for given in submissions:
            ids = (_new_id(),)
            digest = sha256(json.dumps(asdict(given), sort_keys=True).encode()).hexdigest()
            if _claim(connection, act, Once(f"import:{digest}", digest), ids) is None:
                _insert(connection, ids, [given], act)
            else:
                known += 1
    return len(submissions) - known


def review(
    database: Database, name: str, wanted: Status, act: Act, version: int | None, note: str | None
) -> tuple[Stored, int | None]:
    """The reviewed submission, and the new revision where what is published changed.

    version: the one that the reviewer saw; None for whichever it is.
    Raises UnknownMeasurement, VersionOutdated, WrongStatus, StorageFault.
    """
    with writing(database) as connection:
        before = read_one(connection, name, lock=True)
        if version is not None and version != before.version:
            raise VersionOutdated(version=before.version)
        if wanted not in NEXT[before.status]:
            allowed = tuple(map(str, NEXT[before.status]))
            raise WrongStatus(status=str(before.status), wanted=str(wanted), allowed=allowed)
        now = int(act.now)
        connection.execute(
            sa.update(measurement)
            .where(measurement.c.id == name)
            .values(status=str(wanted), version=before.version + 1, updated_at=now)
        )
        _remember(connection, (name,), Event(before.version + 1, wanted, note, act.key.id, now))
        record(connection, act.key.id, str(wanted), (name,), act.now, act.request_id)
        mark_used(connection, act.key, act.now)
        shown = Status.PUBLISHED in (before.status, wanted)
        revision = _advance(connection) if shown else None
        return read_one(connection, name), revision


def _new_id() -> str:
    return f"{UPLOADED}-{token_hex(_ID_BYTES)}"


def _insert(connection: Connection, ids: Sequence[str], submissions: Sequence[Submission], act: Act) -> None:
    now = int(act.now)
    common = {
        "status": str(Status.PENDING),
        "version": 1,
        "created_at": now,
        "updated_at": now,
        "key_id": act.key.id,
    }
    rows = [{"id": name, **common, **asdict(given)} for name, given in zip(ids, submissions, strict=True)]
    connection.execute(sa.insert(measurement), rows)
    _remember(connection, ids, Event(1, Status.PENDING, None, act.key.id, now))
    record(connection, act.key.id, "submit", ids, act.now, act.request_id)


def _claim(connection: Connection, act: Act, once: Once, ids: tuple[str, ...]) -> Receipt | None:
    """None when the name was free and is now ours; who comes second waits for the first to commit."""
    insert = (postgresql if connection.dialect.name == "postgresql" else sqlite).insert(idempotency)
    taken = connection.execute(
        insert.values(
            key_id=act.key.id,
            name=once.name,
            digest=once.digest,
            answer=json.dumps(ids),
            created_at=int(act.now),
        )
        .on_conflict_do_nothing()
        .returning(idempotency.c.name)  # a driver need not count the rows of an insert
    ).first()
    if taken is not None:
        return None
    known = connection.execute(
        sa.select(idempotency.c.digest, idempotency.c.answer).where(
            idempotency.c.key_id == act.key.id, idempotency.c.name == once.name
        )
    ).one()
    if known.digest != once.digest:
        raise IdempotencyConflict()
    return Receipt(tuple(json.loads(known.answer)), replayed=True)


def _forget(connection: Connection, now: float) -> None:
    """Drop names that nobody will repeat any more, but for those that another writer is dropping."""
    mine = (idempotency.c.key_id, idempotency.c.name)
    old = (
        sa.select(*mine)
        .where(
            idempotency.c.key_id != COMMAND_LINE,
            idempotency.c.created_at < int(now) - IDEMPOTENCY_DAYS * _DAY_SECONDS,
        )
        .limit(_MOST_FORGOTTEN)
        .with_for_update(skip_locked=True)
    )
    connection.execute(sa.delete(idempotency).where(sa.tuple_(*mine).in_(old)))


def _remember(connection: Connection, names: Sequence[str], event: Event) -> None:
    """The same step in the history of each."""
    step = {**asdict(event), "status": str(event.status)}
    connection.execute(sa.insert(history), [{"measurement_id": name, **step} for name in names])


def _advance(connection: Connection) -> int:
    current = connection.execute(sa.select(storage.c.revision).with_for_update()).scalar_one()
    revision = next_revision(current)
    connection.execute(sa.update(storage).values(revision=revision))
    return revision
