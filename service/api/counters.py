"""What is counted: requests, computations, and how the shared cache and the database are."""

from bisect import bisect_left
from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from prometheus_client import REGISTRY, Counter, Gauge, Histogram

from service.journal import Seen

REQUESTS = Counter(
    "sizing_http_requests", "HTTP requests.", ("method", "route", "status", "cache"), registry=REGISTRY
)
_BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class BatchedHistogram(Histogram):
    """A histogram that takes many values at the price of one."""

    def observe_all(self, values: Sequence[float]) -> None:
        """Count values as `observe` counts each."""
        bounds = self._upper_bounds
        for index, count in Tally(bisect_left(bounds, value) for value in values).items():
            self._buckets[index].inc(count)
        self._sum.inc(sum(values))


SECONDS = BatchedHistogram(
    "sizing_http_request_seconds",
    "Seconds until the response starts.",
    ("route", "cache"),
    buckets=_BOUNDS,
    registry=REGISTRY,
)
COMPUTATIONS = Histogram(
    "sizing_compute_seconds",
    "Seconds of computing an answer.",
    ("route",),
    buckets=_BOUNDS,
    registry=REGISTRY,
)
MEMORY_ENTRIES = Gauge(
    "sizing_memory_cache_entries",
    "Answers that processes have in memory, each encoding one.",
    multiprocess_mode="livesum",
    registry=REGISTRY,
)
MEMORY_BYTES = Gauge(
    "sizing_memory_cache_bytes",
    "Bytes of answers that processes have in memory; each process has at most CACHE_MEMORY_BYTES.",
    multiprocess_mode="livesum",
    registry=REGISTRY,
)
MEMORY_EVICTIONS = Counter(
    "sizing_memory_cache_evictions", "Answers that made room for others in memory.", registry=REGISTRY
)
REDIS_ERRORS = Counter("sizing_redis_errors", "Questions to Redis that failed.", ("kind",), registry=REGISTRY)
REDIS_OPEN = Gauge(
    "sizing_redis_breaker_open",
    "Processes that do not ask Redis for now, because it failed.",
    multiprocess_mode="livesum",
    registry=REGISTRY,
)
DATABASE_ERRORS = Counter(
    "sizing_database_errors", "Questions to the database that failed.", ("kind",), registry=REGISTRY
)
DATABASE_CONNECTIONS = Gauge(
    "sizing_database_connections_in_use",
    "Connections to the database that a thread has at the moment; each process has at most two.",
    multiprocess_mode="livesum",
    registry=REGISTRY,
)
_METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"})
_NONE = "none"


def observe(requests: Iterable[Seen]) -> None:
    """Count requests; labels are bounded, whatever a client sends."""
    seconds: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    for method, _, status, recorded, cache, _, spent, _, _ in requests:
        seconds[method, recorded, status, cache].append(spent)
    for (method, recorded, status, cache), values in seconds.items():
        route = _route(recorded)
        named = method if method in _METHODS else "other"
        REQUESTS.labels(named, route, status[:3], cache).inc(len(values))
        SECONDS.labels(route, cache).observe_all(values)


def computed(recorded: Iterable[tuple[str, str]], seconds: float) -> None:
    """Count one computation of an answer."""
    COMPUTATIONS.labels(_route(recorded)).observe(seconds)


def redis_failed(kind: str) -> None:
    """Count a question to Redis that failed; kind: the class of the error."""
    REDIS_ERRORS.labels(kind).inc()


def redis_breaker(is_open: bool) -> None:
    """Say whether this process asks Redis."""
    REDIS_OPEN.set(int(is_open))


def database_failed(kind: str) -> None:
    """Count a question to the database that failed; kind: the class of the error."""
    DATABASE_ERRORS.labels(kind).inc()


def database_used(change: int) -> None:
    """Say that a connection was taken (1) or given back (-1)."""
    DATABASE_CONNECTIONS.inc(change)


def _route(recorded: Iterable[tuple[str, str]]) -> str:
    return next((value for name, value in recorded if name == "sizing.route"), _NONE)
