"""Mixed requests of many threads at once, for as long as a test breaks something; what came back."""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from itertools import count
from pathlib import Path

from tests.integration.test_gunicorn import Server
from tests.integration.uploading import ask, workers
from tests.uploads import MEASUREMENTS, ROW

QUESTION = "/v1/sizing?model=qwen3-8b&gpu=rtx-4090&engine=llama.cpp"
# About half are known to the cache, the others are computed.
READS = (
    QUESTION,
    "/v1/fragments/memory?model=gemma-3-27b-it&gpu=h100&lang=de",
    "/v1/matrix?models=qwen3-8b&gpus=h100,b200&contexts=8192",
    "/v1/report?model=qwen3-32b&gpu=h100&lang=zh-Hans",
    f"{MEASUREMENTS}?model=qwen3-8b&limit=5",
    QUESTION + "&reserved_memory_bytes={number}",
    "/v1/fragments/memory?model=qwen3-32b&gpu=h100&reserved_memory_bytes={number}",
    "/v1/sizing?model=deepseek-r1-0528-671b&gpu=b200&gpu_count=8&reserved_memory_bytes={number}",
)
HANG_SECONDS = 25.0  # nobody waits longer, on however busy a machine
_THREADS = 6


@dataclass(frozen=True)
class Answer:
    """One answer; status 0: the connection broke."""

    path: str
    status: int
    seconds: float
    document: object = None
    headers: Mapping[str, str] | None = None


class Load:
    """Requests in the background. acknowledged: note -> id of each submission that was confirmed."""

    def __init__(self, server: Server, submitter: str | None = None, *, reads: Sequence[str] = READS) -> None:
        self._server, self._submitter, self._reads = server, submitter, reads
        self._numbers, self._ended = count(1), threading.Event()
        self._answers: list[Answer] = []
        self.acknowledged: dict[str, str] = {}

    @property
    def reads(self) -> list[Answer]:
        return [answer for answer in self._answers if answer.path != MEASUREMENTS]

    @property
    def writes(self) -> list[Answer]:
        return [answer for answer in self._answers if answer.path == MEASUREMENTS]

    def statuses(self, answers: Sequence[Answer]) -> Counter[int]:
        return Counter(answer.status for answer in answers)

    def slowest(self, answers: Sequence[Answer], percent: float = 99) -> float:
        """Seconds within which so many of a hundred were answered."""
        waits = sorted(answer.seconds for answer in answers)
        return waits[min(len(waits) - 1, int(len(waits) * percent / 100))]

    @contextmanager
    def running(self, threads: int = _THREADS) -> Iterator["Load"]:
        """Ask for as long as the block runs; then every thread has its last answer."""
        with ThreadPoolExecutor(threads + 1) as pool:
            asking: list[Future[None]] = [
                pool.submit(self._until_the_end, self._read) for _ in range(threads)
            ]
            if self._submitter is not None:
                asking.append(pool.submit(self._until_the_end, self._write))
            try:
                yield self
            finally:
                self._ended.set()
        for done in asking:
            done.result()

    def _until_the_end(self, step: Callable[[int], Answer]) -> None:
        while not self._ended.is_set():
            answer = step(next(self._numbers))
            self._answers.append(answer)

    def _read(self, number: int) -> Answer:
        path = self._reads[number % len(self._reads)].format(number=number)
        began = time.monotonic()
        try:
            status, headers, _ = self._server.get(path)
        except (OSError, HTTPException):
            return Answer(path, 0, time.monotonic() - began)
        return Answer(path, status, time.monotonic() - began, headers=headers)

    def _write(self, number: int) -> Answer:
        note, began = f"load {number}", time.monotonic()
        try:
            status, headers, document = ask(
                self._server, "POST", MEASUREMENTS, str(self._submitter), {**ROW, "note": note}
            )
        except (OSError, HTTPException, json.JSONDecodeError):
            return Answer(MEASUREMENTS, 0, time.monotonic() - began)
        if status == 201:
            self.acknowledged[note] = document["id"]
        return Answer(MEASUREMENTS, status, time.monotonic() - began, document, headers)


def resident_bytes(server: Server) -> int:
    """Memory of the server's workers that is their own: anonymous pages, not those of files."""
    total = 0
    for pid in workers(server):
        text = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
        total += sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("RssAnon"))
    return 1024 * total


def assert_nothing_is_lost(load: Load, rows: Sequence[Mapping]) -> None:
    """What was acknowledged is there once under its id; nothing is there twice."""
    stored = {row["id"]: row["uploaded"]["submitted"]["note"] for row in rows}
    notes = Counter(stored.values())
    assert {note: name for name, note in stored.items()}.items() >= load.acknowledged.items()
    assert set(notes.values()) <= {1}
