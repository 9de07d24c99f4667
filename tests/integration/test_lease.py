"""One computation across processes on a cold key, on a real server."""

import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

import pytest
from redis import Redis

from service.cache import CachedAnswer, Level, MemoryCache, RedisStore, Standing, Tiers, namespace
from tests.integration.conftest import RedisServer

ROOT = Path(__file__).resolve().parents[2]
ANSWER = CachedAnswer(200, (("ETag", '"a"'),), b"body" * 500, '"a"')
NEWER = CachedAnswer(200, (("ETag", '"b"'),), b"newer", '"b"')
PROBLEM = CachedAnswer(422, (), b"{}", "")

# A process of its own: waits for the start signal, asks, says whether it computed.
ASKER = """
import sys, time
from service.cache import CachedAnswer, MemoryCache, RedisStore, Tiers, namespace

url, digest, seconds = sys.argv[1:]
store = RedisStore(url, timeout_seconds=5, lease_seconds=20)
assert store.is_up()
tiers = Tiers(namespace(digest, "1.0"), MemoryCache(), store)

def compute():
    time.sleep(float(seconds))
    return CachedAnswer(200, (("ETag", '"a"'),), b"body", '"a"')

print("ready", flush=True)
sys.stdin.readline()
answer, level = tiers.get_or_compute("key", compute)
print(level, answer.body.decode(), flush=True)
"""


def store(url: str, **options) -> RedisStore:
    """A new process's store, as far as Redis can tell."""
    return RedisStore(url, timeout_seconds=1, **options)


def tiers(url: str, digest: str, **options) -> Tiers:
    """A new process's levels."""
    return Tiers(namespace(digest, "1.0"), MemoryCache(), store(url, **options))


def start(url: str, digest: str, seconds: float = 0.5) -> subprocess.Popen[str]:
    """A process that has connected and waits."""
    process = subprocess.Popen(
        [sys.executable, "-c", ASKER, url, digest, str(seconds)],
        cwd=ROOT,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout.readline() == "ready\n"
    return process


def test_processes_compute_a_cold_key_once(redis_url: str, digest: str) -> None:
    """Of four processes that ask at the same time, one computes and the others get what it wrote."""
    processes = [start(redis_url, digest) for _ in range(4)]
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    said = sorted(process.communicate(timeout=60)[0].split()[0] for process in processes)
    assert said == ["computed", "redis", "redis", "redis"]


def test_a_dead_leader_is_succeeded(redis_url: str, digest: str) -> None:
    """A process that is killed while it computes holds up nobody longer than its lease."""
    leader = start(redis_url, digest, seconds=3600)
    leader.stdin.write("go\n")
    leader.stdin.flush()
    with Redis.from_url(redis_url) as client:
        key = namespace(digest, "1.0") + "*:lease"
        while not client.keys(key):
            time.sleep(0.02)
        leader.kill()
        leader.communicate(timeout=10)
        # The rest of its twenty seconds is cut, so that the test need not wait for them.
        client.pexpire(client.keys(key)[0], 300)
    assert tiers(redis_url, digest, lease_seconds=20).get_or_compute("key", lambda: ANSWER) == (
        ANSWER,
        Level.COMPUTED,
    )
    assert tiers(redis_url, digest).get_or_compute("key", pytest.fail)[1] is Level.REDIS


def test_nobody_waits_longer_than_a_lease(redis_url: str, digest: str) -> None:
    """A lease that somebody else renews for ever is given up after the time that a lease lasts."""
    levels = tiers(redis_url, digest, lease_seconds=0.3)
    full = levels.full("key")
    with Redis.from_url(redis_url) as client:
        client.set(full + ":lease", "of somebody else", ex=60)
        results: list[Level] = []
        asking = Thread(target=lambda: results.append(levels.get_or_compute("key", lambda: ANSWER)[1]))
        asking.start()
        asking.join(20)
        assert results == [Level.COMPUTED]
        assert client.get(full + ":lease") == b"of somebody else", "only its owner ends a lease"
        client.delete(full, full + ":lease")


def test_a_leader_without_an_answer_to_keep_lets_the_others_compute(redis_url: str, digest: str) -> None:
    """After a problem or an exception who waited computes at once, and nobody queues for the lease."""
    first, second = store(redis_url), store(redis_url)
    claim = first.claim("key" + digest)
    assert claim.standing is Standing.WON
    assert second.claim("key" + digest).standing is Standing.HELD
    first.give_up("key" + digest, claim.token)
    assert second.claim("key" + digest).standing is Standing.FRUITLESS
    levels = tiers(redis_url, digest)
    assert levels.get_or_compute("problem", lambda: PROBLEM) == (PROBLEM, Level.COMPUTED)
    with pytest.raises(ZeroDivisionError):
        levels.get_or_compute("error", lambda: 1 // 0)
    for key in ("problem", "error"):
        assert store(redis_url).claim(levels.full(key)).standing is Standing.FRUITLESS


def test_a_lease_ends_with_its_answer(redis_url: str, digest: str) -> None:
    """Publishing keeps the answer and frees the key, in the slot that a cluster gives both."""
    levels = tiers(redis_url, digest)
    levels.get_or_compute("key", lambda: ANSWER)
    with Redis.from_url(redis_url) as client:
        assert client.keys(f"sizing:{digest}:*") == [levels.full("key").encode()]
        assert 0 < client.ttl(levels.full("key")) <= 86_400


def test_a_stale_answer_is_served_and_computed_again_once(redis_url: str, digest: str) -> None:
    """Past its fresh time an answer is given at once; one reader computes it anew in the background."""
    tiers(redis_url, digest, clock=lambda: time.time() - 3600).get_or_compute("key", lambda: ANSWER)
    readers = [tiers(redis_url, digest, fresh_seconds=60) for _ in range(2)]
    calls: list[int] = []

    def compute() -> CachedAnswer:
        calls.append(1)
        time.sleep(0.3)
        return NEWER

    for reader in readers:
        assert reader.get_or_compute("key", compute) == (ANSWER, Level.REDIS)
    full = readers[0].full("key")
    for reader in readers:
        reader.memory.put(full + "gzip", ANSWER)
    for _ in range(200):
        found = store(redis_url, fresh_seconds=60).find(full)
        if found.answer == NEWER:
            break
        time.sleep(0.05)
    assert (found.answer, found.stale, len(calls)) == (NEWER, False, 1)
    for _ in range(200):
        forms = [(reader.memory.peek(full), reader.memory.peek(full + "gzip")) for reader in readers]
        if (NEWER, None) in forms:
            break
        time.sleep(0.05)
    assert (NEWER, None) in forms, "the reader that computed has forgotten the old encoded form as well"


def test_without_a_lease_the_service_goes_on(full_redis_server: RedisServer, digest: str) -> None:
    """A full server gives no lease and keeps no answer; computing goes on."""
    assert store(full_redis_server.url).claim("key").standing is Standing.UNAVAILABLE
    levels = tiers(full_redis_server.url, digest)
    assert levels.get_or_compute("key", lambda: ANSWER) == (ANSWER, Level.COMPUTED)
