"""The journal: what is noted is read, in batches, by each process for itself."""

import subprocess
import sys
import time
from threading import Thread

from service.journal import Journal, Seen


def seen(number: int) -> Seen:
    return Seen("GET", f"/{number}", "200 OK", (), "none", str(number), 0.001, 0.0, "")


def until(condition) -> None:
    """Wait for a background thread; fails when it does nothing."""
    for _ in range(1000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("nothing happened")


def test_what_is_noted_is_read_in_order():
    """A moment later, without anybody asking for it, and once."""
    read = []
    journal = Journal(read.extend, pause=0.01)
    for number in range(100):
        journal.note(seen(number))
    until(lambda: len(read) >= 100)
    journal.flush()
    assert [each.path for each in read] == [f"/{number}" for number in range(100)]


def test_it_goes_on_after_a_rest():
    """A second batch is read as well as the first."""
    read = []
    journal = Journal(read.extend, pause=0.01)
    for total in (1, 2, 3):
        journal.note(seen(total))
        until(lambda total=total: len(read) == total)


def test_many_threads_lose_nothing():
    """Ten threads note ten thousand requests, far more than may wait."""
    read = []
    journal = Journal(read.extend, pause=0.001)
    threads = [Thread(target=lambda: [journal.note(seen(n)) for n in range(1000)]) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    journal.flush()
    assert len(read) == 10_000


def test_waiting_is_bounded():
    """Who notes faster than the thread reads does the reading himself."""
    read = []
    journal = Journal(read.extend, pause=3600)
    for number in range(10_000):
        journal.note(seen(number))
    assert len(read) > 7000


def test_a_reader_that_fails_takes_nothing_from_the_other():
    """The log may be gone while the metrics go on, and the next batch is tried again."""
    read, failed = [], []

    def fail(batch):
        failed.append(len(batch))
        raise OSError("gone")

    journal = Journal(fail, read.extend, pause=0.01)
    for total in (1, 2):
        journal.note(seen(total))
        until(lambda total=total: len(read) == total)
    assert len(failed) == 2


FORKING = """
import os, time
from service.journal import Journal, Seen

def tell(batch):
    os.write(1, "".join(f"{os.getpid() == parent} {each.path}\\n" for each in batch).encode())

def seen(path):
    return Seen("GET", path, "200 OK", (), "none", "id", 0.001, 0.0, "")

parent, journal = os.getpid(), Journal(tell, pause=0.3)
journal.note(seen("/of-the-parent"))
child = os.fork()
if child == 0:
    journal.note(seen("/of-the-child"))
    time.sleep(1)
    os._exit(0)
os.waitpid(child, 0)
journal.note(seen("/at-the-end"))
"""


def test_each_process_tells_its_own():
    """A child neither repeats what its parent noted nor lacks a thread; the end loses nothing."""
    done = subprocess.run([sys.executable, "-c", FORKING], capture_output=True, text=True, check=True)
    assert sorted(done.stdout.splitlines()) == [
        "False /of-the-child",
        "True /at-the-end",
        "True /of-the-parent",
    ]
