"""The shared cache on a real server: present, absent, slow, full, and full of nonsense."""

import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest
from redis import Redis
from redis.exceptions import OutOfMemoryError

from service.cache import CachedAnswer, CircuitBreaker, Level, MemoryCache, RedisStore, Tiers, namespace
from tests.integration.conftest import RedisServer, free_port

ROOT = Path(__file__).resolve().parents[2]
BODY = '{"name": "千问 Größe"}'.encode() * 300
ANSWER = CachedAnswer(200, (("Content-Type", "application/json"), ("ETag", '"a"')), BODY, '"a"')

OTHER_PROCESS = """
import sys
from service.cache import MemoryCache, RedisStore, Tiers, namespace

def compute():
    raise AssertionError("should have come from Redis")

tiers = Tiers(namespace(sys.argv[2], "1.0"), MemoryCache(), RedisStore(sys.argv[1], timeout_seconds=5))
answer, level = tiers.get_or_compute("key", compute)
sys.stdout.buffer.write(level.encode() + b"|" + answer.etag.encode() + b"|" + answer.body)
"""


def tiers(url: str, digest: str, breaker: CircuitBreaker | None = None) -> Tiers:
    """A new process's levels, as far as the cache can tell."""
    return Tiers(
        namespace(digest, "1.0"), MemoryCache(), RedisStore(url, timeout_seconds=0.5, breaker=breaker)
    )


def patient() -> CircuitBreaker:
    """A breaker that never opens, so that each call really goes to the server."""
    return CircuitBreaker(failures=10**9)


def within(seconds: float, call):
    """The call's result; fails when it hangs."""
    results: list = []
    thread = Thread(target=lambda: results.append(call()), daemon=True)
    thread.start()
    thread.join(seconds)
    assert results, "it hangs, or it raised"
    return results[0]


def test_a_second_process_answers_from_redis(redis_url: str, digest: str) -> None:
    """What one process computed, another one with the same facts and code gives without computing."""
    assert tiers(redis_url, digest).get_or_compute("key", lambda: ANSWER) == (ANSWER, Level.COMPUTED)
    other = subprocess.run(
        [sys.executable, "-c", OTHER_PROCESS, redis_url, digest],
        cwd=ROOT,
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert other.stdout == b'redis|"a"|' + BODY


def test_other_facts_find_nothing_in_redis(redis_url: str, digest: str) -> None:
    """The digest is part of the key."""
    tiers(redis_url, digest).get_or_compute("key", lambda: ANSWER)
    assert tiers(redis_url, digest[::-1] + "x").get_or_compute("key", lambda: ANSWER)[1] is Level.COMPUTED


def test_large_answers_are_compressed_and_expire(redis_url: str, digest: str) -> None:
    """Nothing stays for ever, and repetitive JSON takes a fraction of its size."""
    tiers(redis_url, digest).get_or_compute("key", lambda: ANSWER)
    with Redis.from_url(redis_url) as client:
        [key] = client.keys(f"sizing:{digest}:1.0:*")
        assert 0 < client.ttl(key) <= 86_400
        assert client.strlen(key) < len(BODY) / 5
        client.delete(key)


def test_a_server_killed_in_the_middle_is_a_miss(redis_server: RedisServer, digest: str) -> None:
    """Requests go on without Redis, and use it again when it is back."""
    levels = tiers(redis_server.url, digest, patient())
    assert levels.get_or_compute("one", lambda: ANSWER)[1] is Level.COMPUTED
    redis_server.kill()
    assert levels.get_or_compute("two", lambda: ANSWER) == (ANSWER, Level.COMPUTED)
    assert levels.get_or_compute("one", lambda: ANSWER) == (ANSWER, Level.MEMORY)
    assert levels.shared.is_up() is False
    redis_server.start()
    assert levels.shared.is_up() is True
    levels.get_or_compute("three", lambda: ANSWER)
    assert tiers(redis_server.url, digest).get_or_compute("three", pytest.fail) == (ANSWER, Level.REDIS)


def test_a_server_that_was_never_there_is_a_miss(digest: str) -> None:
    """A wrong REDIS_URL costs the shared cache, not the service."""
    levels = tiers(f"redis://127.0.0.1:{free_port()}/0", digest)
    for number in range(10):
        assert levels.get_or_compute(str(number), lambda: ANSWER) == (ANSWER, Level.COMPUTED)
    assert levels.shared.is_up() is False


def test_a_name_that_does_not_resolve_is_a_miss(digest: str) -> None:
    """The same for a host that does not exist (RFC 6761 reserves .invalid)."""
    levels = tiers("redis://cache.invalid:6379/0", digest)
    assert levels.get_or_compute("key", lambda: ANSWER) == (ANSWER, Level.COMPUTED)


def test_a_frozen_server_is_a_miss(redis_server: RedisServer, digest: str) -> None:
    """A server that accepts and never answers is given up, on an old connection and on a new one."""
    old = tiers(redis_server.url, digest, patient())
    assert old.shared.is_up()
    redis_server.freeze()
    new = tiers(redis_server.url, digest, patient())
    for levels in (old, new):
        assert within(20, lambda levels=levels: levels.get_or_compute("k", lambda: ANSWER)) == (
            ANSWER,
            Level.COMPUTED,
        )
    redis_server.thaw()
    assert old.shared.is_up()


def test_a_late_answer_is_never_taken_for_another(redis_server: RedisServer, digest: str) -> None:
    """After a timeout the reply that comes late must not answer the next question on that connection."""
    store = RedisStore(redis_server.url, timeout_seconds=0.5, breaker=patient())
    other = CachedAnswer(200, ANSWER.headers, b"other", '"b"')
    store.put(f"sizing:{digest}:a", ANSWER)
    store.put(f"sizing:{digest}:b", other)
    redis_server.freeze()
    assert store.get(f"sizing:{digest}:a") is None
    redis_server.thaw()
    assert store.get(f"sizing:{digest}:b") == other


def test_the_breaker_stops_asking_a_dead_server(digest: str) -> None:
    """After three failures nothing is tried for a while, so a dead server costs nothing."""
    breaker = CircuitBreaker(failures=3, open_seconds=3600)
    store = RedisStore(f"redis://127.0.0.1:{free_port()}/0", breaker=breaker)
    for _ in range(3):
        assert not breaker.is_open
        assert store.get(digest) is None
    assert breaker.is_open
    assert not breaker.allows()


def test_a_full_server_is_a_miss_that_does_not_stop_reading(
    full_redis_server: RedisServer, digest: str
) -> None:
    """OOM on a write keeps nothing and raises nothing; the server counts as up."""
    levels = tiers(full_redis_server.url, digest)
    with Redis.from_url(full_redis_server.url) as client, pytest.raises(OutOfMemoryError):
        client.set("proof", b"x")
    for number in range(5):
        assert levels.get_or_compute(str(number), lambda: ANSWER) == (ANSWER, Level.COMPUTED)
    assert levels.shared.is_up()
    with Redis.from_url(full_redis_server.url) as client:
        assert client.keys(f"sizing:{digest}:*") == []


@pytest.mark.parametrize(
    "value",
    [b"", b"0", b"1", b"2SZA1", b"0SZA1\0\0\0\0\0\0\0\2[]", b"1not deflated", b"\x80\x04N.", b"\xff" * 3000],
)
def test_a_corrupt_value_is_a_miss_and_is_replaced(redis_url: str, digest: str, value: bytes) -> None:
    """Nonsense under our key is computed over, not served and not fatal."""
    tiers(redis_url, digest).get_or_compute("key", lambda: ANSWER)
    with Redis.from_url(redis_url) as client:
        [key] = client.keys(f"sizing:{digest}:*")
        client.set(key, value)
        assert tiers(redis_url, digest).get_or_compute("key", lambda: ANSWER) == (ANSWER, Level.COMPUTED)
        assert tiers(redis_url, digest).get_or_compute("key", pytest.fail) == (ANSWER, Level.REDIS)
        client.delete(key)


def test_a_value_of_another_type_is_a_miss(redis_url: str, digest: str) -> None:
    """A list where a string should be makes Redis refuse the read; that is a miss as well."""
    levels = tiers(redis_url, digest)
    levels.get_or_compute("key", lambda: ANSWER)
    with Redis.from_url(redis_url) as client:
        [key] = client.keys(f"sizing:{digest}:*")
        client.delete(key)
        client.lpush(key, "a", "b")
        assert tiers(redis_url, digest).get_or_compute("key", lambda: ANSWER) == (ANSWER, Level.COMPUTED)
        client.delete(key)


def test_problems_are_not_stored(redis_url: str, digest: str) -> None:
    """Only successes with a validator reach Redis."""
    problem = CachedAnswer(422, (), b"{}", "")
    assert tiers(redis_url, digest).get_or_compute("key", lambda: problem) == (problem, Level.COMPUTED)
    with Redis.from_url(redis_url) as client:
        assert client.keys(f"sizing:{digest}:*[^e]") == []  # no answer; the lease is still there for a second
