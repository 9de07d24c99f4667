"""One computation for many who ask for the same thing at the same time."""

from collections.abc import Callable
from threading import Event, Lock
from typing import Generic, TypeVar

_Result = TypeVar("_Result")

DEFAULT_WAIT_SECONDS = 30.0


class _Flight(Generic[_Result]):
    """A computation under way: `done` is set once it has a result or an error."""

    def __init__(self) -> None:
        self.done = Event()
        self.results: list[_Result] = []
        self.error: BaseException | None = None


class SingleFlight(Generic[_Result]):
    """Threads of one process share a computation per key.

    An error goes to all who wait and is forgotten: the next caller computes again.
    wait_seconds: who has waited so long computes alone, because a stuck leader must not stop the rest.
    """

    def __init__(self, wait_seconds: float = DEFAULT_WAIT_SECONDS) -> None:
        self._wait_seconds = wait_seconds
        self._flights: dict[str, _Flight[_Result]] = {}
        self._lock = Lock()

    def run(self, key: str, compute: Callable[[], _Result]) -> tuple[_Result, bool]:
        """The result for `key` and whether this call computed it. Raises what `compute` raises."""
        with self._lock:
            flight = self._flights.get(key)
            leads = flight is None
            if flight is None:
                flight = self._flights[key] = _Flight()
        if leads:
            return self._lead(key, flight, compute), True
        if not flight.done.wait(self._wait_seconds):
            return compute(), True
        if flight.error is not None:
            raise flight.error
        return flight.results[0], False

    def _lead(self, key: str, flight: _Flight[_Result], compute: Callable[[], _Result]) -> _Result:
        try:
            result = compute()
            flight.results.append(result)
            return result
        except BaseException as error:
            flight.error = error
            raise
        finally:
            with self._lock:
                del self._flights[key]
            flight.done.set()
