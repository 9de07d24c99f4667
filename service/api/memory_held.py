"""What the answers in the memory of each process take, as `/metrics` tells it: sums over the workers."""

import os
from threading import Lock
from weakref import WeakMethod

from service.api.counters import MEMORY_BYTES, MEMORY_ENTRIES, MEMORY_EVICTIONS
from service.cache import MemoryCache


class MemoryHeld:
    """Tells of a cache when called: after each answer that may have changed it, and before a scrape.

    A worker tells of what it inherits as soon as it is forked. The process that forks does not tell, since
    nobody asks it; what was prepared there counts with each worker.
    """

    def __init__(self, memory: MemoryCache) -> None:
        self._memory = memory
        self._lock = Lock()
        self._evictions = memory.statistics().evictions
        forked = WeakMethod(self._forked)
        os.register_at_fork(after_in_child=lambda: (call := forked()) and call())

    def __call__(self) -> None:
        """Set the gauges of this process, and count what was dropped since the last time."""
        with self._lock:
            held = self._memory.statistics()
            MEMORY_ENTRIES.set(held.entries)
            MEMORY_BYTES.set(held.bytes)
            if held.evictions > self._evictions:
                MEMORY_EVICTIONS.inc(held.evictions - self._evictions)
                self._evictions = held.evictions

    def _forked(self) -> None:
        self._lock = Lock()
        # What the parent dropped before is not this worker's.
        self._evictions = self._memory.statistics().evictions
        self()
