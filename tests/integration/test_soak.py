"""Load for as long as SOAK_SECONDS says: memory stays flat, nothing fails, whatever becomes of Redis."""

import os
import time
from pathlib import Path
from statistics import median

import pytest
from redis import Redis

from tests.integration.conftest import RedisServer
from tests.integration.load import HANG_SECONDS, Load, assert_nothing_is_lost, resident_bytes
from tests.integration.test_gunicorn import Server
from tests.integration.uploading import new_key, stored, workers

MIB = 2**20
SECONDS = float(os.environ.get("SOAK_SECONDS", "300"))
SAMPLE_SECONDS = 12.0
# What is kept in memory is bounded low, so that it is full early and growth after that is a leak.
CACHE_BYTES = 4 * MIB
MOST_GROWTH = 24 * MIB  # of two workers, from the second quarter of a run to its last


@pytest.fixture
def site(redis_server: RedisServer, tmp_path: Path):
    """Two workers with Redis and SQLite, a key of each scope."""
    state = {"STATE_PATH": str(tmp_path / "state"), "DATABASE_URL": ""}
    options = {"REDIS_URL": redis_server.url, "CACHE_MEMORY_BYTES": str(CACHE_BYTES), "LOG_LEVEL": "ERROR"}
    unlimited = {"RATE_LIMIT_WRITES": "off", "MAX_PENDING_PER_KEY": "1000000"}
    server = Server(tmp_path, **unlimited, **options, **state)
    yield server, new_key("submit", **state), new_key("review", **state)
    server.stop()


def soak(site, seconds: float) -> tuple[Load, list[int]]:
    """The load, and the workers' memory once a second or a hundredth of the run."""
    server, submitter, _ = site
    memory: list[int] = []
    before = workers(server)
    with Load(server, submitter).running() as load:
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            time.sleep(max(0.5, seconds / 100))
            memory.append(resident_bytes(server))
    assert workers(server) == before, "a worker ended"
    return load, memory


def growth(memory: list[int]) -> float:
    """Median of the last quarter minus that of the second one, in bytes."""
    quarter = len(memory) // 4
    return median(memory[-quarter:]) - median(memory[quarter : 2 * quarter])


def check(site, load: Load, memory: list[int]) -> None:
    server, _, reviewer = site
    assert set(load.statuses(load.reads)) == {200}
    assert set(load.statuses(load.writes)) == {201}
    assert load.slowest(load.reads + load.writes, 100) < HANG_SECONDS
    assert_nothing_is_lost(load, stored(server, reviewer))
    assert growth(memory) < MOST_GROWTH, [round(size / MIB) for size in memory]


def test_memory_is_flat_for_a_moment(site) -> None:
    """A sample of the run below."""
    check(site, *soak(site, SAMPLE_SECONDS))


@pytest.mark.soak
def test_memory_is_flat_under_mixed_load(site, capsys: pytest.CaptureFixture[str]) -> None:
    """Five minutes, or SOAK_SECONDS, of known and new questions, matrices and submissions."""
    load, memory = soak(site, SECONDS)
    with capsys.disabled():
        answers = load.reads + load.writes
        slow = max(answers, key=lambda answer: answer.seconds)
        print(
            f"\nsoak of {SECONDS:.0f} s: {len(answers)} answers, {len(load.acknowledged)} submissions stored"
        )
        print(f"99 % in {load.slowest(answers):.2f} s; slowest {slow.seconds:.2f} s, {slow.path}")
        print(
            f"memory in MiB, begin to end: {[round(m / MIB) for m in memory[:: max(1, len(memory) // 12)]]}"
        )
        print(f"growth from the second quarter to the last: {growth(memory) / MIB:.1f} MiB")
    check(site, load, memory)


@pytest.mark.soak
def test_redis_may_do_anything_for_long(site, redis_server: RedisServer, capsys) -> None:
    """Frozen, back, frozen in short turns, full, killed, back and emptied: no request fails."""
    server, submitter, _ = site

    def stutter() -> None:
        for _ in range(10):
            redis_server.freeze()
            time.sleep(0.2)
            redis_server.thaw()
            time.sleep(0.2)

    def fill() -> None:
        with Redis.from_url(redis_server.url) as client:
            client.config_set("maxmemory-policy", "noeviction")
            client.config_set("maxmemory", "1mb")

    def empty() -> None:
        with Redis.from_url(redis_server.url) as client:
            client.flushall()

    steps = (
        redis_server.freeze,
        redis_server.thaw,
        stutter,
        fill,
        redis_server.kill,
        redis_server.start,
        empty,
    )
    pause = max(1.0, min(SECONDS, 80) / (len(steps) + 1))
    with Load(server, submitter).running() as load:
        for step in steps:
            time.sleep(pause)
            step()
        time.sleep(pause)
    assert set(load.statuses(load.reads)) == {200}
    assert set(load.statuses(load.writes)) == {201}
    assert load.slowest(load.reads, 99) < HANG_SECONDS / 5
    with capsys.disabled():
        print(f"\nRedis mistreated: {len(load.reads)} reads, 99 % in {load.slowest(load.reads):.2f} s")
