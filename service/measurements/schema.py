"""The layout of the database: which one it has, whether this server may write to it, and how it moves on."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from service.measurements.database import Database
from service.measurements.errors import StorageFault, StorageNewer, StorageUnavailable, StorageUnmigrated
from service.measurements.tables import storage

if TYPE_CHECKING:
    from alembic.config import Config

SCHEMA = 3  # the migration that this code is written for
_MIGRATIONS = Path(__file__).with_name("migrations")
_ADVISORY_LOCK = 0x51A1D6  # any number that no other application of the database uses


class Condition(StrEnum):
    """How the database stands to this server."""

    OK = "ok"
    ABSENT = "absent"  # a SQLite file that no write has made yet
    UNMIGRATED = "unmigrated"  # older than this server, or empty
    NEWER = "newer"  # migrated by a server whose rows this one must not write
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class State:
    """What one look at the database found. schema: None where there are no tables."""

    condition: Condition
    schema: int | None = None
    revision: int = 0

    @property
    def readable(self) -> bool:
        """Whether measurements can be read; columns are only ever added, so also from another layout."""
        return self.schema is not None


def look(database: Database) -> State:
    """The state of the database; what it cannot say is `unavailable`, never an error."""
    if not database.exists():
        return State(Condition.ABSENT)
    try:
        with database.read() as connection:
            return state_of(connection)
    except StorageFault:
        return State(Condition.UNAVAILABLE)


def state_of(connection: Connection) -> State:
    """The state that an open transaction sees."""
    if not sa.inspect(connection).has_table(storage.name):
        return State(Condition.UNMIGRATED)
    row = connection.execute(
        sa.select(storage.c.schema, storage.c.oldest_writer, storage.c.revision)
    ).one_or_none()
    if row is None:
        return State(Condition.UNMIGRATED)
    if row.schema < SCHEMA:
        return State(Condition.UNMIGRATED, row.schema, row.revision)
    newer = row.oldest_writer > SCHEMA
    return State(Condition.NEWER if newer else Condition.OK, row.schema, row.revision)


@contextmanager
def writing(database: Database) -> Iterator[Connection]:
    """A transaction in tables that this server may write; SQLite is migrated first, PostgreSQL never.

    A file belongs to the service; a server's tables change when its operator says so (`sizing migrate`).
    Raises StorageFault.
    """
    with database.write() as connection:
        found = state_of(connection)
        if found.condition is Condition.UNMIGRATED and database.is_sqlite:
            _upgrade(connection, "head")
            found = state_of(connection)
        if found.condition is Condition.UNMIGRATED:
            raise StorageUnmigrated(schema=found.schema, wanted=SCHEMA)
        if found.condition is Condition.NEWER:
            raise StorageNewer(schema=found.schema, wanted=SCHEMA)
        yield connection


def migrate(database: Database, target: str = "head") -> tuple[int | None, int | None]:
    """Bring the tables to a migration, `head` for the newest; the schema before and after.

    Runs in one transaction, alone: a second caller waits and finds nothing to do.
    Raises StorageNewer for tables of a newer server, StorageFault.
    """
    with database.write() as connection:
        if not database.is_sqlite:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_ADVISORY_LOCK)))
        before = state_of(connection)
        if before.schema is not None and before.schema > SCHEMA:
            raise StorageNewer(schema=before.schema, wanted=SCHEMA)
        if target == "head" or target > f"{before.schema or 0:04}":
            _upgrade(connection, target)
        else:
            _downgrade(connection, target)
        return before.schema, state_of(connection).schema


def _upgrade(connection: Connection, target: str) -> None:
    from alembic import command  # only what migrates pays for it

    command.upgrade(_config(connection), target)


def _downgrade(connection: Connection, target: str) -> None:
    from alembic import command

    command.downgrade(_config(connection), target)


def _config(connection: Connection) -> "Config":
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    config.attributes["connection"] = connection
    return config


def read_revision(connection: Connection) -> int:
    """The revision of what is published."""
    found = connection.execute(sa.select(storage.c.revision)).scalar_one_or_none()
    if found is None:
        raise StorageUnavailable(reason="the row of the revision is missing")
    return int(found)
