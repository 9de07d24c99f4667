"""Who may use a connection: nobody waits behind those that a database has kept for long."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition
from time import monotonic


class AllTaken(Exception):
    """Every connection is taken, one of them for longer than anyone waits."""


class Admission:
    """Lets in as many threads as there are `places`.

    Who finds all of them taken waits until the longest has been taken for `patience` seconds. So a database
    that hangs holds as many threads as there are places, and every other one at most that long.
    """

    def __init__(self, places: int, patience: float, clock: Callable[[], float] = monotonic) -> None:
        self._places = places
        self._patience = patience
        self._clock = clock
        self._since: dict[object, float] = {}
        self._left = Condition()

    @contextmanager
    def entered(self) -> Iterator[None]:
        """A place for as long as the block runs. Raises AllTaken."""
        visit = object()
        with self._left:
            while len(self._since) >= self._places:
                patience = min(self._since.values()) + self._patience - self._clock()
                if patience <= 0:
                    raise AllTaken("all connections are taken")
                self._left.wait(patience)
            self._since[visit] = self._clock()
        try:
            yield
        finally:
            with self._left:
                del self._since[visit]
                self._left.notify()
