"""Until when a thread waits for what it asks of a database."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic

_DEADLINE: ContextVar[float | None] = ContextVar("deadline", default=None)


@contextmanager
def within(seconds: float | None) -> Iterator[None]:
    """What is asked in the block must be answered in so many seconds; None waits for ever."""
    token = _DEADLINE.set(None if seconds is None else monotonic() + seconds)
    try:
        yield
    finally:
        _DEADLINE.reset(token)


def current_deadline() -> float | None:
    """When the waiting ends, by the monotonic clock; None where it does not."""
    return _DEADLINE.get()
