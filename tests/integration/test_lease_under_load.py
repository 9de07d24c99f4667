"""Two workers and one Redis under concurrent requests: one computation, no failure whatever Redis does."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from threading import Event

import pytest
from redis import Redis
from redis.exceptions import OutOfMemoryError

from tests.integration.conftest import RedisServer
from tests.integration.test_gunicorn import Server
from tests.integration.test_observability import metric

QUESTION = "/v1/sizing?model=qwen3-8b&gpu=rtx-4090"
THREADS = 8
PATIENCE_SECONDS = 2.0


@pytest.fixture
def server(redis_server: RedisServer, tmp_path: Path) -> Iterator[Server]:
    settings = {"REDIS_URL": redis_server.url, "WEB_CONCURRENCY": "2", "WARM_UP_SECONDS": "0"}
    running = Server(tmp_path, **settings)
    yield running
    running.stop()


@pytest.mark.parametrize(
    ("path", "route"),
    [
        ("/v1/report?model=qwen3-32b&gpu=h100&context_tokens=4321", "/v1/report"),
        ("/v1/matrix?context_tokens=4321", "/v1/matrix"),
    ],
    ids=["report", "matrix"],
)
def test_concurrent_cold_requests_are_computed_once(
    server: Server, redis_server: RedisServer, path: str, route: str
) -> None:
    """Sixty-four who ask two processes for the same cold answer cost one computation, which is published."""
    with ThreadPoolExecutor(64) as pool:
        answers = list(pool.map(lambda _: server.get(path), range(64)))
    assert {status for status, _, _ in answers} == {200}
    assert len({(headers["etag"], body) for _, headers, body in answers}) == 1
    assert metric(server, "sizing_compute_seconds_count", route=route) == 1
    with Redis.from_url(redis_server.url) as client:
        assert client.info("commandstats")["cmdstat_eval"]["calls"] == 1
        assert len(client.keys("sizing:*")) == 1


def test_no_request_fails_or_hangs_whatever_redis_does(server: Server, redis_server: RedisServer) -> None:
    """Known and new questions are answered while Redis is frozen, back, full, killed and back again.

    Ninety-nine of a hundred within two seconds: who waited for a lease or a dead connection would wait ten.
    """
    numbers, ended = count(1), Event()

    def ask() -> list[tuple[int, float]]:
        seen = []
        while not ended.is_set():
            number = next(numbers)
            new = f"&reserved_memory_bytes={number}" if number % 4 == 0 else ""
            began = time.monotonic()
            seen.append((server.get(QUESTION + new)[0], time.monotonic() - began))
        return seen

    def fill() -> None:
        with Redis.from_url(redis_server.url) as client:
            client.config_set("maxmemory-policy", "noeviction")
            client.config_set("maxmemory", "1mb")
            with pytest.raises(OutOfMemoryError):
                client.set("proof", b"x")

    with ThreadPoolExecutor(THREADS) as pool:
        asking = [pool.submit(ask) for _ in range(THREADS)]
        disturbances = (redis_server.freeze, redis_server.thaw, fill, redis_server.kill, redis_server.start)
        for disturb in disturbances:
            time.sleep(1.5)
            disturb()
        time.sleep(1.5)
        ended.set()
        seen = [answer for future in asking for answer in future.result()]
    assert {status for status, _ in seen} == {200}
    waits = sorted(seconds for _, seconds in seen)
    assert len(waits) > 100
    assert waits[len(waits) * 99 // 100] < PATIENCE_SECONDS
