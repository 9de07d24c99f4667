"""Submissions as the database has them: one, those of a status, and what happened to each."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from service.measurements.database import Database
from service.measurements.errors import UnknownMeasurement
from service.measurements.schema import look, read_revision
from service.measurements.submission import Status, Stored, stored
from service.measurements.tables import api_key, audit, history, measurement


@dataclass(frozen=True, slots=True)
class Event:
    """One step in the history of a submission."""

    version: int
    status: Status
    note: str | None
    key_id: str
    at: int


@dataclass(frozen=True, slots=True)
class Write:
    """A line of the audit log: who wrote what, in which request. at: Unix seconds.

    key_name: None for the command line, which needs no key. action: `submit`, the status that a review led
    to, `create-key`, `revoke-key`. subject: the id of the measurement or of the key.
    """

    at: int
    key_id: str
    key_name: str | None
    action: str
    subject: str
    request_id: str | None


def writes(database: Database, since: int = 0, most: int | None = None) -> list[Write]:
    """The audit log from `since` (Unix seconds) on, the oldest first; of more than `most` the newest.

    Raises StorageUnavailable.
    """
    if not look(database).readable:
        return []
    query = (
        sa.select(
            audit.c.at, audit.c.key_id, api_key.c.name, audit.c.action, audit.c.subject, audit.c.request_id
        )
        .join_from(audit, api_key, audit.c.key_id == api_key.c.id, isouter=True)
        .where(audit.c.at >= since)
        .order_by(audit.c.id.desc())
    )
    with database.read() as connection:
        found = [Write(*row) for row in connection.execute(query if most is None else query.limit(most))]
    return found[::-1]


def count_pending(database: Database) -> int:
    """How many submissions wait for review. Raises StorageUnavailable."""
    with database.read() as connection:
        waiting = sa.select(sa.func.count()).where(measurement.c.status == str(Status.PENDING))
        return connection.execute(waiting).scalar_one()


def find(database: Database, name: str) -> Stored:
    """A submission of any status. Raises UnknownMeasurement, StorageUnavailable."""
    if not look(database).readable:
        raise UnknownMeasurement(name=name)
    with database.read() as connection:
        return read_one(connection, name)


def with_status(database: Database, status: Status) -> tuple[list[Stored], int]:
    """All submissions of a status, the oldest first, and a revision that is not newer than they are.

    Raises StorageUnavailable.
    """
    if not look(database).readable:
        return [], 0
    with database.read() as connection:
        revision = read_revision(connection)
        return list(_all(connection, measurement.c.status == str(status))), revision


def everything(database: Database) -> list[Stored]:
    """All submissions, the oldest first. Raises StorageUnavailable."""
    if not look(database).readable:
        return []
    with database.read() as connection:
        return list(_all(connection, sa.true()))


def events(database: Database, name: str) -> list[Event]:
    """The history of a submission, from the beginning. Raises UnknownMeasurement, StorageUnavailable."""
    find(database, name)
    with database.read() as connection:
        rows = connection.execute(
            sa.select(history).where(history.c.measurement_id == name).order_by(history.c.version)
        )
        return [Event(row.version, Status(row.status), row.note, row.key_id, row.at) for row in rows]


def read_one(connection: Connection, name: str, *, lock: bool = False) -> Stored:
    """A submission within a transaction. lock: no one else changes it until the end.

    Raises UnknownMeasurement.
    """
    if "\0" in name:  # which PostgreSQL does not take for a text at all
        raise UnknownMeasurement(name=name)
    query = _columns().where(measurement.c.id == name)
    row = connection.execute(query.with_for_update() if lock else query).mappings().one_or_none()
    if row is None:
        raise UnknownMeasurement(name=name)
    return stored(dict(row))


def _all(connection: Connection, which: sa.ColumnElement[bool]) -> Iterator[Stored]:
    query = _columns().where(which).order_by(measurement.c.created_at, measurement.c.id)
    for row in connection.execute(query).mappings():
        yield stored(dict(row))


def _columns() -> sa.Select[Any]:
    """Whatever columns the tables have: another version of the service may have migrated them."""
    return sa.select(sa.literal_column("*")).select_from(measurement)
