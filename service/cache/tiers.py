"""Memory, then Redis, then the computation: the first that has the answer gives it to those before it."""

from collections.abc import Callable
from enum import StrEnum
from hashlib import blake2b
from typing import Protocol

from service.cache.answers import CachedAnswer
from service.cache.memory import MemoryCache
from service.cache.single_flight import SingleFlight

_HASH_BYTES = 20


class Level(StrEnum):
    """Where an answer came from."""

    MEMORY = "memory"
    REDIS = "redis"
    COMPUTED = "computed"


class SharedStore(Protocol):
    """A level that several processes share. It never raises: what it cannot do is a miss."""

    def get(self, key: str) -> CachedAnswer | None:
        """The answer of that key."""
        ...

    def put(self, key: str, answer: CachedAnswer) -> None:
        """Keep an answer, if it can."""
        ...


def namespace(digest: str, version: str) -> str:
    """What every key starts with: other facts or other code never answer for these."""
    return f"sizing:{digest}:{version}:"


class Tiers:
    """All levels behind one call. prefix: see `namespace`. shared: None without Redis."""

    def __init__(
        self,
        prefix: str,
        memory: MemoryCache,
        shared: SharedStore | None = None,
        flights: SingleFlight[tuple[CachedAnswer, Level]] | None = None,
    ) -> None:
        self._prefix = prefix
        self.memory = memory
        self.shared = shared
        self._flights = flights or SingleFlight()

    def get(self, key: str) -> CachedAnswer | None:
        """The answer, if this process has it; touches nothing else."""
        return self.memory.get(self._full(key))

    def get_or_compute(self, key: str, compute: Callable[[], CachedAnswer]) -> tuple[CachedAnswer, Level]:
        """The answer and the level that had it; `compute` runs once for all who wait in this process.

        Only answers that are `storable` are kept. Raises what `compute` raises.
        """
        full = self._full(key)
        known = self.memory.get(full)
        if known is not None:
            return known, Level.MEMORY
        (answer, level), led = self._flights.run(full, lambda: self._look_or_compute(full, compute))
        # After the flight: who waits need not wait for Redis to take the answer as well.
        if led and level is Level.COMPUTED and answer.storable and self.shared is not None:
            self.shared.put(full, answer)
        return answer, level

    def _look_or_compute(self, full: str, compute: Callable[[], CachedAnswer]) -> tuple[CachedAnswer, Level]:
        # A flight may have landed between the look into memory and the start of this one.
        known = self.memory.peek(full)
        if known is not None:
            return known, Level.MEMORY
        stored = self.shared.get(full) if self.shared is not None else None
        answer, level = (stored, Level.REDIS) if stored is not None else (compute(), Level.COMPUTED)
        if answer.storable:
            self.memory.put(full, answer)
        return answer, level

    def _full(self, key: str) -> str:
        """The prefix stays readable for operators; the rest, as long as a caller's URL, is hashed."""
        hashed = blake2b(key.encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES)
        return self._prefix + hashed.hexdigest()
