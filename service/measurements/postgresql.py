"""Connections to PostgreSQL with a deadline of this side, because a server that hangs keeps none."""

from time import monotonic
from typing import Any

import psycopg
import sqlalchemy as sa
from psycopg.abc import RV, PQGen
from sqlalchemy.engine import URL, Engine

from service.measurements.deadline import current_deadline

_STATEMENT_MS = 5000
_IDLE, _IDLE_MS = "idle_in_transaction_session_timeout", 10_000
_CONNECT_SECONDS = 3
_INTERVAL_SECONDS = 0.1
_LEAST_SECONDS = 0.001


class BoundedConnection(psycopg.Connection[Any]):
    """A connection that is closed when an answer comes after the deadline of the asking thread."""

    def wait(self, gen: PQGen[RV], interval: float = _INTERVAL_SECONDS, timeout: float | None = None) -> RV:
        """Wait for what the generator asks for. Raises psycopg.OperationalError."""
        deadline = current_deadline()
        if deadline is None:
            return super().wait(gen, interval, timeout)
        left = max(_LEAST_SECONDS, deadline - monotonic())
        try:
            return super().wait(gen, interval, left if timeout is None else min(left, timeout))
        except psycopg.OperationalError as error:
            if monotonic() < deadline:
                raise
            self.close()  # the answer may still come, and would be taken for that of another question
            raise psycopg.OperationalError("no answer in time") from error


def postgresql(url: URL, pool: dict[str, Any], *, bounded: bool) -> Engine:
    """An engine of such connections.

    pool: arguments of the engine's pool. bounded: the server too ends statements that take long.
    """
    arguments: dict[str, Any] = {
        "connect_timeout": _CONNECT_SECONDS,
        "application_name": "llm-sizing",
        "tcp_user_timeout": _STATEMENT_MS,
    }
    if bounded:
        limits = ("statement_timeout", _STATEMENT_MS), ("lock_timeout", _STATEMENT_MS), (_IDLE, _IDLE_MS)
        arguments["options"] = " ".join(f"-c {name}={value}" for name, value in limits)
    given = set(url.query)
    engine = sa.create_engine(
        url,
        connect_args={name: value for name, value in arguments.items() if name not in given},
        # Who waited for a lock sees what was committed meanwhile, whatever the server's default is.
        isolation_level="READ COMMITTED",
        pool_pre_ping=True,
        pool_recycle=300,
        **pool,
    )
    sa.event.listen(engine, "do_connect", _connect)
    return engine


def _connect(_dialect: object, _record: object, arguments: Any, named: Any) -> BoundedConnection:
    return BoundedConnection.connect(*arguments, **named)
