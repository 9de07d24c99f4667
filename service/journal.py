"""The record of requests: noted by whoever answers, counted and logged a moment later in the background.

Counting in shared memory and writing a line cost as much as a kept answer itself; for many requests at once
they cost little. A process that is killed (SIGKILL) loses what it noted in the last tenth of a second; one
that ends by itself or by SIGTERM loses nothing.
"""

import atexit
import os
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from threading import Event, Lock, Thread
from time import sleep
from typing import Any, NamedTuple

import structlog

_LOG = structlog.get_logger("service.journal")
PAUSE_SECONDS = 0.1
_MOST_WAITING = 2000


class Seen(NamedTuple):
    """One request that was answered.

    recorded: what the inner layers said of it, `sizing.language` and `sizing.route`. cache: the level that
    had the answer. ended: by `time.perf_counter`. traceparent: "" without one.
    """

    method: str
    path: str
    status: str
    recorded: tuple[tuple[str, str], ...]
    cache: str
    request_id: str
    seconds: float
    ended: float
    traceparent: str


# Makes a note of a tuple of the fields; the class itself takes a call more.
noted: Callable[[tuple[Any, ...]], Seen] = partial(tuple.__new__, Seen)


class Journal:
    """Takes notes of requests; readers get them in batches, in a thread of each process that takes notes."""

    def __init__(self, *readers: Callable[[Sequence[Seen]], None], pause: float = PAUSE_SECONDS) -> None:
        self._readers = readers
        self._pause = pause
        self._after_fork()
        os.register_at_fork(after_in_child=self._after_fork)
        atexit.register(self.flush)

    def note(self, seen: Seen) -> None:
        """Note a request. Cheap: it is read later, unless too many wait already."""
        waiting = self._waiting
        waiting.append(seen)
        if self._resting:
            self._wake()
        elif len(waiting) > _MOST_WAITING:
            self.flush()

    def flush(self) -> None:
        """Give the readers all that was noted until now."""
        with self._reading:
            take = self._waiting.popleft
            batch = [take() for _ in range(len(self._waiting))]
            for reader in self._readers if batch else ():
                try:
                    reader(batch)
                except Exception:  # the thread must live on, and the other reader have its turn
                    _LOG.warning("requests could not be recorded", exc_info=True)

    def _after_fork(self) -> None:
        # What the parent noted is its own to tell, and its thread does not live in a child.
        self._waiting: deque[Seen] = deque()
        self._resting = True
        self._woken = Event()
        self._reading = Lock()
        self._starting = Lock()
        self._running = False

    def _wake(self) -> None:
        self._resting = False
        self._woken.set()
        with self._starting:
            if not self._running:
                self._running = True
                Thread(target=self._read, name="journal", daemon=True).start()

    def _read(self) -> None:
        while True:
            self._woken.wait()
            sleep(self._pause)
            # Before the reading: what is noted meanwhile makes for another round.
            self._woken.clear()
            self._resting = True
            self.flush()
