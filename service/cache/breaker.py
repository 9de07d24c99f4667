"""A circuit breaker: after failures in a row, do not even try for a while."""

from collections.abc import Callable
from threading import Lock
from time import monotonic


class CircuitBreaker:
    """Open for `open_seconds` after `failures` in a row; then one call may try, and its outcome decides.

    changed: is told when it opens (True) and closes (False).
    """

    def __init__(
        self,
        failures: int = 3,
        open_seconds: float = 5.0,
        clock: Callable[[], float] = monotonic,
        changed: Callable[[bool], None] = lambda _is_open: None,
    ) -> None:
        self._limit = failures
        self._open_seconds = open_seconds
        self._clock = clock
        self._changed = changed
        self._failures = 0
        self._closed_at = 0.0
        self._lock = Lock()

    def allows(self) -> bool:
        """Whether to try now. While open, one caller at a time after each `open_seconds`."""
        with self._lock:
            if self._failures < self._limit:
                return True
            now = self._clock()
            if now < self._closed_at:
                return False
            self._closed_at = now + self._open_seconds
            return True

    def succeeded(self) -> None:
        """The call worked: closed again."""
        with self._lock:
            was_open = self._failures >= self._limit
            self._failures = 0
        if was_open:
            self._changed(False)

    def failed(self) -> None:
        """The call did not work; enough of these in a row open the circuit."""
        with self._lock:
            self._failures += 1
            opens = self._failures == self._limit
            if self._failures >= self._limit:
                self._closed_at = self._clock() + self._open_seconds
        if opens:
            self._changed(True)

    @property
    def is_open(self) -> bool:
        """Whether calls are refused for now."""
        with self._lock:
            return self._failures >= self._limit
