"""Which requests are known: a request as it was sent -> the entry in memory that answers it."""

from threading import Lock

from service.cache.memory import Entry

DEFAULT_BYTES = 8 * 2**20
# What an item takes beside the characters of a request.
_ITEM_OVERHEAD = 700
_LONGEST_REQUEST = 4000

Spelling = tuple[str, ...]


class Aliases:
    """Thread-safe, bounded by bytes; the oldest is forgotten, and found again by parsing.

    An entry that leaves the memory is `dropped`, so that nothing is kept here that is not kept there.
    """

    def __init__(self, max_bytes: int = DEFAULT_BYTES) -> None:
        self._max_bytes = max_bytes
        self._of: dict[Spelling, Entry] = {}
        self._bytes = 0
        self._lock = Lock()
        # Reading needs no lock: a dictionary's own `get` is one step.
        self.get = self._of.get

    def put(self, spelling: Spelling, entry: Entry) -> None:
        """Remember a request, unless it is longer than real ones are."""
        cost = _cost(spelling)
        if cost > _LONGEST_REQUEST:
            return
        with self._lock:
            if spelling not in self._of:
                self._bytes += cost
            self._of[spelling] = entry
            while self._bytes > self._max_bytes:
                oldest = next(iter(self._of))
                del self._of[oldest]
                self._bytes -= _cost(oldest)

    def __len__(self) -> int:
        return len(self._of)


def _cost(spelling: Spelling) -> int:
    return _ITEM_OVERHEAD + sum(map(len, spelling))
