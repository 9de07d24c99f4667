"""Counts within a time window, for rate limits: shared through Redis, or of this process while it is away."""

from collections.abc import Callable
from hashlib import blake2b
from threading import Lock, local
from time import time
from typing import Any

from limits.storage import Storage

from service.cache.redis_store import RedisStore

SCHEME = "sizing"
_MOST_KEYS = 65_536
_HASH_BYTES = 16


class LocalCounts:
    """Counts of this process, bounded: when there are too many, those that end first are forgotten."""

    def __init__(self, most: int = _MOST_KEYS, clock: Callable[[], float] = time) -> None:
        self._most = most
        self._clock = clock
        self._counts: dict[str, tuple[int, float]] = {}
        self._lock = Lock()

    def add(self, key: str, amount: int, seconds: int) -> tuple[int, float]:
        """Count; the sum of the window and when it ends, in seconds since the epoch."""
        now = self._clock()
        with self._lock:
            count, end = self._counts.get(key, (0, 0.0))
            if end <= now:
                count, end = 0, now + seconds
            self._counts[key] = found = (count + amount, end)
            if len(self._counts) > self._most:
                self._forget(now)
        return found

    def _forget(self, now: float) -> None:
        """Drop what is over, and of the rest the half that ends first."""
        left = sorted((end, key) for key, (_, end) in self._counts.items() if end > now)
        kept = left[-self._most // 2 :]
        self._counts = {key: self._counts[key] for _, key in kept}


class SharedCounts(Storage):
    """The counts as a storage of the limits library, for its fixed windows.

    A window begins with its first request. Redis that is down, slow or full costs at most its timeout, and
    then this process counts for itself. Keys are hashed: they hold addresses of clients.
    """

    STORAGE_SCHEME = [SCHEME]  # noqa: RUF012 - the library's own declaration

    def __init__(self, uri: str | None = None, shared: RedisStore | None = None, **options: Any) -> None:
        super().__init__(uri, **options)
        self._shared = shared
        self._own = LocalCounts()
        self._last = local()  # what this thread counted last is what it asks for next

    @property
    def base_exceptions(self) -> type[Exception]:
        """What a storage of this kind raises: nothing."""
        return OSError

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Count, and the sum of the window."""
        hashed = blake2b(key.encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES).hexdigest()
        found = self._shared.count(f"sizing:limit:{hashed}", amount, expiry) if self._shared else None
        count, end = found or self._own.add(hashed, amount, expiry)
        self._last.known = (key, count, end)
        return count

    def get(self, key: str) -> int:
        """The sum that this thread saw last for the key; 0 for another."""
        return self._known(key)[0]

    def get_expiry(self, key: str) -> float:
        """When the window ends that this thread saw last for the key."""
        return self._known(key)[1]

    def check(self) -> bool:
        """Always: without Redis the process counts for itself."""
        return True

    def reset(self) -> int | None:
        """Nothing to reset by hand: windows end by themselves."""
        return None

    def clear(self, key: str) -> None:
        """Windows end by themselves."""

    def _known(self, key: str) -> tuple[int, float]:
        known: tuple[str, int, float] = getattr(self._last, "known", ("", 0, 0.0))
        return known[1:] if known[0] == key else (0, time())
