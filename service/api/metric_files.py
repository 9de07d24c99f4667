"""Files in which workers keep their counts: one a worker and type, so they would add up with every reload.

Counts of workers that ended are folded into one file a type. A scrape lists the files before it reads them
(prometheus_client 0.26 multiprocess.py), so both sides take a lock: else a count could be seen twice or not
at all, which Prometheus would read as a restart of the counter.
"""

import fcntl
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from prometheus_client.mmap_dict import MmapedDict

_LOCK = "lock"
_TYPES = ("counter", "histogram", "summary")
_PATIENCE_SECONDS = 1.0
_PAUSE_SECONDS = 0.01


@contextmanager
def reading(folder: str | None) -> Iterator[None]:
    """While the files of a folder are read; None is no folder."""
    if folder is None:
        yield
        return
    with (Path(folder) / _LOCK).open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        yield


def fold_ended(folder: str, pid: int) -> None:
    """Add the counts of a worker that ended to those of the others that did, and drop its files.

    Files that cannot be read stay as they are, and all do when a scrape goes on for too long.
    """
    place = Path(folder)
    with suppress(OSError), (place / _LOCK).open("ab") as lock:
        if not _locked(lock.fileno()):
            return
        for name in _TYPES:
            path = place / f"{name}_{pid}.db"
            with suppress(OSError, RuntimeError, ValueError, struct.error):  # cut off by the worker's end
                counts = list(MmapedDict.read_all_values_from_file(str(path)))  # type: ignore[no-untyped-call]
                _add(place / f"{name}_ended.db", counts)
                path.unlink()


def _locked(descriptor: int) -> bool:
    """Whether the lock could be had; the server waits a moment for it and not longer."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(_PAUSE_SECONDS)
        else:
            return True


def _add(path: Path, counts: list[tuple[str, float, float, int]]) -> None:
    kept = MmapedDict(str(path))  # type: ignore[no-untyped-call]
    try:
        for key, count, timestamp, _ in counts:
            before, earlier = kept.read_value(key)  # type: ignore[no-untyped-call]
            kept.write_value(key, before + count, max(earlier, timestamp))  # type: ignore[no-untyped-call]
    finally:
        kept.close()  # type: ignore[no-untyped-call]
