"""The first level: the answers of one process, of which those that nobody asks for make room."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

from service.cache.answers import CachedAnswer
from service.cache.ready import Ready

DEFAULT_BYTES = 64 * 2**20
# What CPython 3.11 spends on an entry with nine headers beside its characters, and on its prepared form.
_ENTRY_OVERHEAD = 3072


@dataclass(slots=True)
class Entry:
    """An answer in memory.

    answer: None after it was dropped: whoever still holds the entry must not hold the body.
    prepared: how it is sent, None before it was prepared and after it was dropped.
    used: whether somebody asked for it since room was last looked for; whoever holds an entry sets it.
    """

    answer: CachedAnswer | None
    cost: int
    prepared: Ready | None = None
    used: bool = False


@dataclass(frozen=True, slots=True)
class MemoryStatistics:
    """Counters of `get` since the start, and what is held now."""

    hits: int
    misses: int
    evictions: int
    entries: int
    bytes: int


class MemoryCache:
    """Thread-safe, bounded by bytes; an answer larger than the whole bound is not kept.

    Room is made by second chance: the oldest entry goes, unless it was used, which makes it the newest.
    """

    def __init__(self, max_bytes: int = DEFAULT_BYTES) -> None:
        self._max_bytes = max_bytes
        self._entries: OrderedDict[str, Entry] = OrderedDict()
        self._lock = Lock()
        self._bytes = self._hits = self._misses = self._evictions = 0

    def get(self, key: str) -> CachedAnswer | None:
        """The answer of that key."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                self._misses += 1
                return None
            entry.used = True
            self._hits += 1
            return entry.answer

    def peek(self, key: str) -> CachedAnswer | None:
        """As `get`, but neither counted nor a use."""
        entry = self._entries.get(key)
        return entry.answer if entry else None

    def prepare(self, key: str, make: Callable[[CachedAnswer], Ready]) -> Entry | None:
        """The entry of that key with its prepared form, which is made once."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None and entry.prepared is None and entry.answer is not None:
                entry.prepared = make(entry.answer)
            return entry

    def put(self, key: str, answer: CachedAnswer) -> None:
        """Keep an answer; others go when there is no room."""
        cost = answer.size + len(key) + _ENTRY_OVERHEAD
        with self._lock:
            self._drop(key)
            if cost > self._max_bytes:
                return
            self._bytes += cost
            self._make_room()
            self._entries[key] = Entry(answer, cost)

    def forget(self, key: str) -> None:
        """Drop one answer, if it is there."""
        with self._lock:
            self._drop(key)

    def clear(self) -> None:
        """Forget all answers; counters go on."""
        with self._lock:
            for key in list(self._entries):
                self._drop(key)

    def statistics(self) -> MemoryStatistics:
        """The counters at one moment."""
        with self._lock:
            return MemoryStatistics(
                self._hits, self._misses, self._evictions, len(self._entries), self._bytes
            )

    def _make_room(self) -> None:
        while self._bytes > self._max_bytes:
            key, entry = next(iter(self._entries.items()))
            if entry.used:
                entry.used = False
                self._entries.move_to_end(key)
            else:
                self._drop(key)
                self._evictions += 1

    def _drop(self, key: str) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            # Others may still hold the entry; they must not go on serving it.
            entry.prepared = entry.answer = None
            self._bytes -= entry.cost
