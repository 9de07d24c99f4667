"""Connections: SQLite in the state folder or PostgreSQL by URL, never shared by forked processes."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, Engine, make_url
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError

from service.measurements.admission import Admission, AllTaken
from service.measurements.deadline import within
from service.measurements.errors import StorageFault, StorageReadOnly, StorageUnavailable

FILE_NAME = "measurements.sqlite3"
_BUSY_MS = 5000
# How long anyone waits for a connection while all are taken; a file has one writer at a time.
_SERVER_PATIENCE, _FILE_PATIENCE = 1.0, 3.0
_READ_SECONDS, _WRITE_SECONDS = 4.0, 8.0  # of a transaction, where the database is `bounded`
# Fewer connections than threads: a database that hangs must leave threads for answers without it.
_POOL_SIZE = 2
_READ_ONLY = (
    "readonly database",
    "unable to open database file",
    "read-only transaction",
    "permission denied",
)
_WRITES = "sizing_writes"


class Database:
    """One database, opened when it is first used and again in each process that is forked.

    url: None for SQLite in `state_path`. A SQLite file is made by the first write only. bounded: give up a
    transaction that a server leaves without an answer; a command that migrates or imports may take its time.
    failed: is told the class of each error. used: is told +1 and -1 as a connection is taken and given back.
    """

    def __init__(
        self,
        url: str | None,
        state_path: Path,
        *,
        bounded: bool = False,
        failed: Callable[[str], None] | None = None,
        used: Callable[[int], None] | None = None,
    ) -> None:
        self._bounded = bounded
        self._failed = failed or _nobody
        self._used = used or _nobody
        self.url = _normal(url) if url else URL.create("sqlite", database=str(state_path / FILE_NAME))
        self._engine: Engine | None = None
        self._admission = self._make_admission()
        self._pid = 0
        self._lock = Lock()

    @property
    def is_sqlite(self) -> bool:
        """Whether it is a file of this host."""
        return self.url.get_backend_name() == "sqlite"

    @property
    def name(self) -> str:
        """What tells it from other databases, without its password."""
        return str(self.path.absolute()) if self.is_sqlite else self.url.render_as_string()

    @property
    def path(self) -> Path:
        """The SQLite file."""
        return Path(self.url.database or "")

    @property
    def backend(self) -> str:
        """`sqlite` or `postgresql`."""
        return self.url.get_backend_name()

    def exists(self) -> bool:
        """Whether there is anything to read: a server always is, a file only after the first write."""
        return not self.is_sqlite or self.path.is_file()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that sees one state. Raises StorageUnavailable."""
        with self._faults(), self._connected(_READ_SECONDS) as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that is durable once it is left; the only writer at a time with SQLite.

        Raises StorageReadOnly, StorageUnavailable; then nothing was written, unless the end was not heard.
        """
        self._make_folder()
        with self._faults(), self._connected(_WRITE_SECONDS) as connection:
            connection = connection.execution_options(**{_WRITES: True})
            with connection.begin():
                yield connection

    def close(self) -> None:
        """Close the connections of this process, such as before a fork; the next use opens new ones."""
        with self._lock:
            if self._engine is not None and self._pid == os.getpid():
                self._engine.dispose()
            self._engine = None

    @contextmanager
    def _connected(self, seconds: float) -> Iterator[Connection]:
        engine, admission = self._open()
        with admission.entered():
            self._used(1)  # from here on: a server that hangs may do so while it is connected to
            try:
                with within(seconds if self._bounded else None), engine.connect() as connection:
                    yield connection
            finally:
                self._used(-1)

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """The database's own errors as ours; values that it does not take are the code's fault and stay."""
        try:
            yield
        except (StorageFault, IntegrityError, DataError):
            raise
        except AllTaken as error:
            self._failed("PoolTimeout")
            raise StorageUnavailable(reason=str(error)) from error
        except (DBAPIError, sqlite3.Error) as error:
            self._failed(type(error).__name__)
            reason = str(getattr(error, "orig", error))
            kind = StorageReadOnly if any(text in reason for text in _READ_ONLY) else StorageUnavailable
            raise kind(reason=reason) from error

    def _open(self) -> tuple[Engine, Admission]:
        with self._lock:
            if self._engine is None or self._pid != os.getpid():
                if self._engine is not None:
                    self._engine.dispose(close=False)  # the parent's connections stay the parent's
                self._engine, self._pid = self._make_engine(), os.getpid()
                self._admission = self._make_admission()
            return self._engine, self._admission

    def _make_admission(self) -> Admission:
        return Admission(_POOL_SIZE, _FILE_PATIENCE if self.is_sqlite else _SERVER_PATIENCE)

    def _make_engine(self) -> Engine:
        if not self.is_sqlite:
            from service.measurements.postgresql import postgresql  # here: SQLite needs no driver

            return postgresql(self.url, _pool(), bounded=self._bounded)
        frozen = self.path.is_file() and not _writable(self.path)
        engine = sa.create_engine("sqlite://", creator=lambda: _connect(self.path, frozen=frozen), **_pool())
        sa.event.listen(engine, "begin", _begin)
        return engine

    def _make_folder(self) -> None:
        if not self.is_sqlite:
            return
        try:
            self.path.parent.mkdir(0o700, parents=True, exist_ok=True)  # digests of keys lie here
        except OSError as error:
            raise StorageReadOnly(reason=str(error)) from None


def _pool() -> dict[str, Any]:
    return {
        "poolclass": sa.QueuePool,
        "pool_size": _POOL_SIZE,
        "max_overflow": 0,
    }


def _normal(url: str) -> URL:
    """The URL with the driver that is installed; `postgres://` is what many providers print."""
    parsed = make_url(url)
    if parsed.get_backend_name() in ("postgresql", "postgres"):
        return parsed.set(drivername="postgresql+psycopg")
    return parsed


def _writable(path: Path) -> bool:
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _connect(path: Path, *, frozen: bool) -> sqlite3.Connection:
    """A connection without the driver's own transactions.

    frozen: the folder cannot be written, so neither can the files that readers of a WAL share; nobody else
    writes there either.
    """
    uri = path.absolute().as_uri()
    if frozen:
        log = path.with_name(f"{path.name}-wal")
        beside = log.is_file() and log.stat().st_size > 0  # left by a crash: its content counts
        uri += "?mode=ro" if beside else "?mode=ro&immutable=1"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
    connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
    connection.execute("PRAGMA foreign_keys = ON")
    if not frozen:
        connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")  # what was acknowledged survives a power cut
    return connection


def _begin(connection: Connection) -> None:
    """A writer takes the lock at once: a reader that becomes one could not wait for it."""
    writes = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _nobody(_: object) -> None:
    """Nobody wants to know."""
