"""The published measurements as every process reads them: from memory, until the revision changes."""

import os
import weakref
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from threading import Event, Lock, Thread, local
from time import monotonic, time

import structlog

from service.core.measurements import UPLOADED, Measurement, Source
from service.measurements import reading
from service.measurements.database import Database
from service.measurements.errors import StorageFault
from service.measurements.revision import revision_of
from service.measurements.schema import Condition, State, look
from service.measurements.submission import Status, Stored, measurement

POLL_SECONDS = 1.0
_STALE_SECONDS = 3.0  # a look that takes longer hangs
_RETRY_SECONDS = 1.0
_WAIT_SECONDS = 1.0  # for a thread that loads, counted from its begin
_COUNT_SECONDS = 10.0
_LOG = structlog.get_logger("service.measurements")
_SOURCE_NAME = "Uploaded measurement"
_ADDRESS = "/v1/measurements/"


@dataclass(frozen=True, slots=True)
class Published:
    """What is published at a revision: records by model id in the order of their submission, and by id."""

    revision: int = 0
    by_model: Mapping[str, tuple[Measurement, ...]] = field(default_factory=dict)
    by_id: Mapping[str, Stored] = field(default_factory=dict)


class Uploads:
    """The uploaded measurements of a database, shared by the workers of a server.

    known_gpus: a record on any other is not shown: its accelerator left the catalog.
    """

    def __init__(self, database: Database, known_gpus: Iterable[str]) -> None:
        self.database = database
        self._state = State(Condition.ABSENT)
        self._looked_at = 0.0
        self._answered_at: float | None = None
        self._pending: int | None = None
        self._counted_at = 0.0
        self._known_gpus = frozenset(known_gpus)
        self._shared = revision_of(database.name)
        self._cell = self._shared.cell
        self._named = (0, "")
        self._published = Published()
        self._lock = Lock()
        self._watching = False
        self._retry_at = 0.0
        self._began_at = 0.0
        self._thread = local()
        weak = weakref.WeakMethod(self._forked)
        os.register_at_fork(after_in_child=lambda: (method := weak()) and method())
        self.look()

    def token(self) -> str:
        """The revision as part of a key, "" while nothing was ever uploaded; costs one load from memory."""
        revision, name = self._named
        if revision != self._cell[0]:
            revision = self._cell[0]
            name = f"{revision:x}"
            self._named = (revision, name)
        return name

    def watched_token(self) -> str:
        """The same, and from now on this process looks at the database every second."""
        if not self._watching:
            self._watch()
        return self.token()

    def look(self) -> State:
        """Look at the database once, and take over its revision."""
        found = look(self.database)
        if found.readable or found.condition is Condition.ABSENT:
            self._shared.found(found.revision)
        if found.condition is not Condition.UNAVAILABLE:
            self._answered_at = time()
        self._state, self._looked_at = found, monotonic()
        if self._watching and monotonic() - self._counted_at >= _COUNT_SECONDS:
            self._count(found)
        return found

    @property
    def answered_at(self) -> float | None:
        """When a look last got an answer, Unix seconds."""
        return self._answered_at

    @property
    def pending(self) -> int | None:
        """How many submissions waited for review ten seconds ago; None where that is not known."""
        return self._pending

    @property
    def state(self) -> State:
        """What the last look found; a database that has not answered for long is not available."""
        if self._watching and monotonic() - self._looked_at > _STALE_SECONDS:
            return State(Condition.UNAVAILABLE)
        return self._state

    def watched_state(self) -> State:
        """The same, and from now on this process looks every second."""
        if not self._watching:
            self._watch()
        return self.state

    def advance(self, revision: int) -> None:
        """Tell all processes of this server that something else is published now."""
        self._shared.advance(revision)

    def published(self) -> Published:
        """What is published, at least at the present revision unless the database is gone; see `missed`."""
        if self._published.revision == self._cell[0]:
            return self._published
        if monotonic() >= self._retry_at and self._lock.acquire(timeout=self._patience()):
            self._began_at = monotonic()
            try:
                if self._published.revision == self._cell[0] or self._load(self._cell[0]):
                    return self._published
            finally:
                self._lock.release()
        self._thread.missed = True
        return self._published

    def _patience(self) -> float:
        """Seconds to wait for the lock, not again and again behind a thread whose database hangs."""
        if not self._lock.locked():
            return _WAIT_SECONDS
        return max(0.0, self._began_at + _WAIT_SECONDS - monotonic())

    def missed(self) -> bool:
        """Whether this thread was given older records since it last asked: its answer must not be kept."""
        found = getattr(self._thread, "missed", False)
        self._thread.missed = False
        return found

    def _load(self, wanted: int) -> bool:
        if wanted == 0:
            self._published = Published()
            return True
        try:
            rows, revision = reading.with_status(self.database, Status.PUBLISHED)
        except StorageFault as fault:
            revision = 0
            _LOG.warning("uploaded measurements cannot be read", reason=fault.values.get("reason"))
        if revision == 0:
            self._retry_at = monotonic() + _RETRY_SECONDS
            return False
        by_model: dict[str, list[Measurement]] = {}
        shown = [row for row in rows if row.submission.gpu in self._known_gpus]
        for row in shown:
            by_model.setdefault(row.submission.model, []).append(measurement(row))
        self._published = Published(
            max(revision, wanted),
            {model: tuple(found) for model, found in by_model.items()},
            {row.id: row for row in shown},
        )
        self._shared.advance(revision)
        return True

    def _count(self, found: State) -> None:
        try:
            self._pending = reading.count_pending(self.database) if found.readable else None
        except StorageFault:
            self._pending = None
        self._counted_at = monotonic()

    def _watch(self) -> None:
        with self._lock:
            if self._watching:
                return
            self._watching, self._looked_at = True, monotonic()
        Thread(target=_watch, args=(weakref.ref(self),), name="uploads", daemon=True).start()

    def _forked(self) -> None:
        """A child has neither the thread nor a lock that a thread of its parent held."""
        self._watching = False
        self._lock = Lock()
        self._shared.forked()


def _watch(uploads: "weakref.ref[Uploads]") -> None:
    """Look every second for as long as the uploads are used by anyone."""
    pause = Event()
    while (current := uploads()) is not None:
        try:
            current.look()
        except Exception as error:  # the next look may find a better world; without the thread none would
            _LOG.error("looking for uploads failed", exc_info=error)
        del current
        pause.wait(POLL_SECONDS)


class WithUploads(Mapping[str, tuple[Measurement, ...]]):
    """The catalog's measurements by model id, each followed by what is published at the moment."""

    def __init__(self, shipped: Mapping[str, tuple[Measurement, ...]], uploads: Uploads) -> None:
        self._shipped = shipped
        self._uploads = uploads

    def __getitem__(self, model: str) -> tuple[Measurement, ...]:
        uploaded = self._uploads.published().by_model.get(model)
        if uploaded is None:
            return self._shipped[model]
        return (*self._shipped.get(model, ()), *uploaded)

    def __iter__(self) -> Iterator[str]:
        return iter({**self._shipped, **self._uploads.published().by_model})

    def __len__(self) -> int:
        return len(list(iter(self)))


class SourcesWithUploads(Mapping[str, Source]):
    """The catalog's sources, and one for each uploaded record: the record's own address."""

    def __init__(self, shipped: Mapping[str, Source]) -> None:
        self._shipped = shipped

    def __getitem__(self, name: str) -> Source:
        kind, _, found = name.partition(":")
        if kind == UPLOADED and found:
            return Source(UPLOADED, _SOURCE_NAME, f"{_ADDRESS}{found}")
        return self._shipped[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._shipped)

    def __len__(self) -> int:
        return len(self._shipped)
