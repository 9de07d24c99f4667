"""Threads and a database that hangs: as many wait for it as it has connections, and others not for long."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, Lock, Thread

import pytest

from service.measurements import reading, uploads
from service.measurements.admission import Admission, AllTaken
from service.measurements.database import Database
from service.measurements.uploads import Published, Uploads


class Clock:
    """A clock that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_no_more_are_let_in_than_there_are_places() -> None:
    """Who comes when all have been taken for too long is turned away at once; who leaves makes room."""
    clock = Clock()
    admission = Admission(2, patience=1.0, clock=clock)
    with admission.entered():
        clock.now = 0.9
        with admission.entered():
            clock.now = 1.0
            for _ in range(100):
                with pytest.raises(AllTaken), admission.entered():
                    pytest.fail("a third one")
        with admission.entered():
            pass
    with admission.entered(), admission.entered():
        pass


def test_who_waits_is_let_in_when_one_leaves() -> None:
    """A short wait is none too many: eight threads take turns at two places."""
    admission, lock, inside, most = Admission(2, patience=60.0), Lock(), [], []

    def visit(number: int) -> None:
        with admission.entered():
            with lock:
                inside.append(number)
                most.append(len(inside))
            with lock:
                inside.remove(number)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(visit, range(400)))
    assert len(most) == 400
    assert max(most) <= 2


def test_who_waits_is_turned_away_when_nobody_leaves() -> None:
    """The wait ends when the first has been there for as long as anyone waits."""
    admission, ended = Admission(1, patience=0.05), Event()

    def stay() -> None:
        with admission.entered():
            entered.set()
            ended.wait(20)

    entered = Event()
    hung = Thread(target=stay)
    hung.start()
    entered.wait(20)
    with pytest.raises(AllTaken), admission.entered():
        pytest.fail("there was no place")
    ended.set()
    hung.join()
    with admission.entered():
        pass


class WatchedLock:
    """A lock that remembers how long anyone was ready to wait for it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.patience: list[float] = []

    def acquire(self, timeout: float) -> bool:
        self.patience.append(timeout)
        return self._lock.acquire(timeout=timeout)

    def locked(self) -> bool:
        return self._lock.locked()

    def release(self) -> None:
        self._lock.release()


def test_readers_do_not_wait_again_and_again_for_one_that_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a thread loads what is published, others wait until it has taken a second, and then never."""
    found = Uploads(Database(None, tmp_path), ())
    clock, loading, go_on = Clock(), Event(), Event()

    def hang(*_: object) -> tuple[list[object], int]:
        loading.set()
        go_on.wait(20)
        return [], found.look().revision or 1

    monkeypatch.setattr(uploads, "monotonic", clock)
    monkeypatch.setattr(reading, "with_status", hang)
    lock = WatchedLock()
    monkeypatch.setattr(found, "_lock", lock)
    found.advance(1)
    clock.now = 100.0
    loader = Thread(target=found.published)
    loader.start()
    loading.wait(20)
    clock.now = 101.0
    for _ in range(20):
        assert found.published() == Published()
        assert found.missed()
    go_on.set()
    loader.join()
    assert lock.patience == [1.0, *[0.0] * 20]
    assert found.published().revision == 1
    assert not found.missed()
