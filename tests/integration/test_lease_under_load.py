"""Two workers and one Redis under concurrent requests: one computation, no failure whatever Redis does."""

import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from threading import Event

import pytest
from redis import Redis

from tests.integration.conftest import RedisServer
from tests.integration.test_gunicorn import Server

QUESTION = "/v1/sizing?model=qwen3-8b&gpu=rtx-4090"
THREADS = 8


@pytest.fixture
def server(redis_server: RedisServer, tmp_path: Path) -> Iterator[Server]:
    settings = {"REDIS_URL": redis_server.url, "WEB_CONCURRENCY": "2", "WARM_UP_SECONDS": "0"}
    running = Server(tmp_path, **settings)
    yield running
    running.stop()


def test_concurrent_cold_requests_are_computed_once(server: Server, redis_server: RedisServer) -> None:
    """Sixty-four who ask two processes for the same cold answer cost one computation: one is published."""
    path = "/v1/report?model=qwen3-32b&gpu=h100&context_tokens=4321"
    with ThreadPoolExecutor(64) as pool:
        answers = list(pool.map(lambda _: server.get(path), range(64)))
    assert {status for status, _, _ in answers} == {200}
    assert len({(headers["etag"], body) for _, headers, body in answers}) == 1
    with Redis.from_url(redis_server.url) as client:
        said = client.info("commandstats")
        assert said["cmdstat_eval"]["calls"] == 1
        assert len(client.keys("sizing:*")) == 1


def test_no_request_fails_while_redis_is_killed_frozen_and_back(
    server: Server, redis_server: RedisServer
) -> None:
    """Known and new questions are answered within the client's patience through all of it."""
    numbers, ended = count(1), Event()

    def ask() -> Counter[int]:
        seen: Counter[int] = Counter()
        while not ended.is_set():
            number = next(numbers)
            new = f"&reserved_memory_bytes={number}" if number % 4 == 0 else ""
            seen[server.get(QUESTION + new)[0]] += 1
        return seen

    with ThreadPoolExecutor(THREADS) as pool:
        asking = [pool.submit(ask) for _ in range(THREADS)]
        for disturb in (redis_server.freeze, redis_server.thaw, redis_server.kill, redis_server.start):
            time.sleep(1.5)
            disturb()
        time.sleep(1.5)
        ended.set()
        seen = sum((future.result() for future in asking), Counter())
    assert set(seen) == {200}
    assert seen[200] > 100
