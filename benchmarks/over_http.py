"""Answers over keep-alive connections: CPU time of the servers' processes, and requests a second."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.client import Client, request
from benchmarks.floor import FEWEST_HEADERS, described
from benchmarks.marks import FLOOR, FRAGMENT_FLOOR
from benchmarks.requests import QUESTION, fresh
from benchmarks.servers import Server, gunicorn, nginx, valkey

# The service counts and logs a tenth of a second later; that belongs to the requests.
_SETTLE_SECONDS = 0.15
_SIZING, _FRAGMENT, _MATRIX = (
    f"/v1/sizing?{QUESTION}",
    f"/v1/fragments/memory?{QUESTION}&lang=de",
    "/v1/matrix",
)
FIRST_QUESTION = _SIZING
_JSON, _HTML = {"Accept": "application/json"}, {"Accept": "text/html"}


@dataclass(frozen=True, slots=True)
class Case:
    """A row: the servers whose CPU time counts, the one that is asked first, and what it is asked."""

    name: str
    servers: Sequence[Server]
    asked: Callable[[], bytes]
    count: int
    status: int = 200

    def measured(self) -> tuple[float, float]:
        """CPU seconds of one request, and requests a second."""
        requests = [self.asked() for _ in range(self.count)]
        with Client(self.servers[0].port) as client:
            before = self._cpu_seconds()
            seconds = client.run(requests, self.status)
            time.sleep(_SETTLE_SECONDS)
            return (self._cpu_seconds() - before) / self.count, self.count / seconds

    def _cpu_seconds(self) -> float:
        return sum(server.cpu_seconds() for server in self.servers)


@dataclass(frozen=True, slots=True)
class Measured:
    """Medians of a row over the rounds."""

    cpu_seconds: float
    per_second: float


def measure(cases: Sequence[Case], rounds: int) -> dict[str, Measured]:
    """Medians over interleaved rounds: each case in turn, so that a busy machine disturbs all alike."""
    for case in cases:
        case.measured()
    seen: dict[str, list[tuple[float, float]]] = {case.name: [] for case in cases}
    for _ in range(rounds):
        for case in cases:
            seen[case.name].append(case.measured())
    return {
        name: Measured(median(cpu for cpu, _ in rows), median(each for _, each in rows))
        for name, rows in seen.items()
    }


@contextmanager
def service_cases(folder: Path, scale: float) -> Iterator[list[Case]]:
    """The service and all cases that are measured with it. scale: of the requests a round."""
    many, few = round(2000 * scale), max(2, round(20 * scale))
    with ExitStack() as running:
        service = running.enter_context(gunicorn("service.wsgi:app", folder))
        with Client(service.port) as client:
            _, json_headers, sizing = client.ask(_SIZING, _JSON)
            _, html_headers, fragment = client.ask(_FRAGMENT, _HTML)
        answers = {
            "/json": described(json_headers, len(sizing)),
            "/html": described(html_headers, len(fragment)),
            "/two": described(json_headers, len(sizing), FEWEST_HEADERS),
        }
        file = folder / "floor.json"
        file.write_text(json.dumps(answers), encoding="utf-8")
        floor = running.enter_context(gunicorn("benchmarks.floor:app", folder, FLOOR_ANSWERS=str(file)))
        unchanged = {**_JSON, "If-None-Match": json_headers["etag"]}
        kept = [
            *_kept_cases(floor, service, unchanged, many),
            *_computed_cases(service, few),
            running.enter_context(_redis_case(folder, 5 * few)),
        ]
        gateway = running.enter_context(nginx(folder, service))
        if gateway is not None:
            both = [gateway, service]
            kept.append(Case("through nginx", both, _same(_SIZING, _JSON), many))
            kept.append(Case("through nginx, 304", both, _same(_SIZING, unchanged), many, 304))
        yield kept


def _kept_cases(floor: Server, service: Server, unchanged: dict[str, str], many: int) -> list[Case]:
    brotli = {"Accept-Encoding": "gzip, br"}
    return [
        Case(FLOOR, [floor], _same("/json", _JSON), many),
        Case("cached JSON", [service], _same(_SIZING, _JSON), many),
        Case("not modified (304)", [service], _same(_SIZING, unchanged), many, 304),
        Case("bare WSGI, two headers", [floor], _same("/two", _JSON), many),
        Case(FRAGMENT_FLOOR, [floor], _same("/html", _HTML), many),
        Case("cached fragment", [service], _same(_FRAGMENT, _HTML), many),
        Case("cached fragment, brotli", [service], _same(_FRAGMENT, {**_HTML, **brotli}), many),
        Case("matrix, warm", [service], _same(_MATRIX, {**_JSON, **brotli}), many // 4),
    ]


def _computed_cases(service: Server, few: int) -> list[Case]:
    return [
        Case("sizing, uncached", [service], _new(_SIZING, _JSON), few),
        Case("fragment, uncached", [service], _new(_FRAGMENT, _HTML), few),
        Case("matrix, cold", [service], _new(f"{_MATRIX}?gpu_count=1", _JSON), 2),
    ]


@contextmanager
def _redis_case(folder: Path, count: int) -> Iterator[Case]:
    """A service that keeps nothing in its own memory, so that each answer comes from Redis."""
    with (
        valkey(folder) as redis,
        gunicorn(
            "service.wsgi:app",
            folder,
            REDIS_URL=f"redis://127.0.0.1:{redis.port}/0",
            CACHE_MEMORY_BYTES="0",
            WARM_UP_SECONDS="0",
        ) as service,
    ):
        yield Case("from Redis", [service, redis], _same(_SIZING, _JSON), count)


def _same(path: str, headers: dict[str, str]) -> Callable[[], bytes]:
    asked = request(path, headers)
    return lambda: asked


def _new(path: str, headers: dict[str, str]) -> Callable[[], bytes]:
    return lambda: request(fresh(path), headers)
