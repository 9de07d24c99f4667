"""The revision of what is published: one number that all processes of a server share and read for nothing.

The database holds the truth, as `counter << 32 | random`: it rises with every change, and a database that was
restored from a backup never comes to a number that it had before with other contents. The shared cell lies in
memory that the workers inherit when the server forks them. Whoever publishes writes the new number into it,
so that all workers of the server use it with their next request; other servers see it when they next look.
"""

import fcntl
import mmap
import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from weakref import WeakValueDictionary

_BYTES = 8
_RANDOM_BITS = 32


def next_revision(current: int) -> int:
    """A revision that is above `current` and has never been."""
    return (((current >> _RANDOM_BITS) + 1) << _RANDOM_BITS) | secrets.randbits(_RANDOM_BITS)


class SharedRevision:
    """The cell, 0 until it is set; made before the server forks.

    `cell[0]` is one aligned load, the price of a look per request.
    """

    def __init__(self) -> None:
        self._file = _anonymous_file()
        os.ftruncate(self._file, _BYTES)
        self.cell = memoryview(mmap.mmap(self._file, _BYTES)).cast("Q")
        self._lock = Lock()
        self._lower: tuple[int, int] | None = None

    def __del__(self) -> None:
        os.close(self._file)

    def advance(self, revision: int) -> None:
        """Set a revision that is above the present one; a number that was read late changes nothing."""
        with self._alone():
            if revision > self.cell[0]:
                self.cell[0] = revision

    def found(self, revision: int) -> None:
        """What a look at the database found: a lower number only counts when it is found twice.

        Between a commit and the look's answer another process may have gone ahead; a database that was
        restored stays at its lower number.
        """
        with self._alone():
            seen = (revision, self.cell[0])
            if revision > self.cell[0] or self._lower == seen:
                self.cell[0] = revision
            self._lower = seen

    def forked(self) -> None:
        """A child of the process must not wait for a thread of its parent."""
        self._lock = Lock()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with self._lock:  # threads of one process share its file locks
            fcntl.lockf(self._file, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.lockf(self._file, fcntl.LOCK_UN)


_KNOWN: WeakValueDictionary[str, SharedRevision] = WeakValueDictionary()


def revision_of(database: str) -> SharedRevision:
    """The cell of a database, the same for all applications that one process makes, such as at a reload."""
    found = _KNOWN.get(database)
    if found is None:
        found = _KNOWN[database] = SharedRevision()
    return found


def _anonymous_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("sizing-revision")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
