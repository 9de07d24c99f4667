"""Which addresses ask the same: the key of an address as it was sent -> the key of its canonical form."""

from collections import OrderedDict
from threading import Lock

DEFAULT_ENTRIES = 16_384


class Aliases:
    """Thread-safe, bounded; the least recently used alias is forgotten, and found again by parsing."""

    def __init__(self, entries: int = DEFAULT_ENTRIES) -> None:
        self._entries = entries
        self._of: OrderedDict[str, str] = OrderedDict()
        self._lock = Lock()

    def get(self, key: str) -> str:
        """The canonical key, the key itself when no alias is known."""
        with self._lock:
            known = self._of.get(key)
            if known is None:
                return key
            self._of.move_to_end(key)
            return known

    def put(self, key: str, canonical: str) -> None:
        """Remember an alias; a key that is its own canonical form needs none."""
        if key == canonical:
            return
        with self._lock:
            self._of[key] = canonical
            self._of.move_to_end(key)
            if len(self._of) > self._entries:
                self._of.popitem(last=False)

    def __len__(self) -> int:
        return len(self._of)
