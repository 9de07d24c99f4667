"""Single flight and the tiers above it."""

from threading import Barrier, Event, Thread

import pytest

from service.cache import (
    CachedAnswer,
    CircuitBreaker,
    Claim,
    Found,
    Level,
    MemoryCache,
    SingleFlight,
    Standing,
    Tiers,
    namespace,
)

ANSWER = CachedAnswer(200, (("ETag", '"a"'),), b"body", '"a"')
ERROR = CachedAnswer(422, (), b"problem", "")


class Shared:
    """A shared level in a dictionary, with a lease for everybody who asks."""

    lease_seconds = 1.0

    def __init__(self) -> None:
        self.values: dict[str, CachedAnswer] = {}

    def find(self, key: str) -> Found | None:
        return Found(self.values[key]) if key in self.values else None

    def claim(self, key: str) -> Claim:
        return Claim(Standing.WON, "token")

    def publish(self, key: str, answer: CachedAnswer, token: str) -> None:
        self.values[key] = answer

    def give_up(self, key: str, token: str) -> None:
        pass


def together(count: int, call) -> list:
    """Results or errors of `count` threads that start at once."""
    barrier, results = Barrier(count), []

    def work() -> None:
        barrier.wait(10)
        try:
            results.append(call())
        except RuntimeError as error:
            results.append(error)

    threads = [Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return results


def test_sixteen_threads_compute_once() -> None:
    """Concurrent requests for one cold key cost one computation, and all get its answer."""
    calls, tiers = [], Tiers("p:", MemoryCache())

    def compute() -> CachedAnswer:
        calls.append(1)
        Event().wait(0.2)
        return ANSWER

    results = together(16, lambda: tiers.get_or_compute("key", compute)[0])
    assert results == [ANSWER] * 16
    assert len(calls) == 1


def test_an_error_reaches_all_who_wait_and_is_forgotten() -> None:
    """A failed computation fails for its waiters only; the next caller tries again."""
    flights, calls = SingleFlight(), []

    def fail() -> int:
        calls.append(1)
        Event().wait(0.2)
        raise RuntimeError("broken")

    results = together(4, lambda: flights.run("key", fail))
    assert [str(error) for error in results] == ["broken"] * 4
    assert len(calls) == 1
    assert flights.run("key", lambda: 7) == (7, True)


def test_who_waits_too_long_computes_alone() -> None:
    """A stuck leader does not stop the others for ever."""
    flights: SingleFlight[str] = SingleFlight(wait_seconds=0.05)
    started, release = Event(), Event()

    def stuck() -> str:
        started.set()
        release.wait(10)
        return "late"

    leader = Thread(target=lambda: flights.run("key", stuck))
    leader.start()
    started.wait(10)
    assert flights.run("key", lambda: "own") == ("own", True)
    release.set()
    leader.join(10)


def test_different_keys_do_not_wait_for_each_other() -> None:
    """A slow answer holds up only its own key."""
    flights: SingleFlight[str] = SingleFlight()
    assert flights.run("a", lambda: flights.run("b", lambda: "inner")[0]) == ("inner", True)


def test_an_answer_fills_the_levels_before_it() -> None:
    """Computed once, then in memory; another process with the same facts finds it in the shared level."""
    shared = Shared()
    first = Tiers(namespace("d1", "1.0"), MemoryCache(), shared)
    assert first.get_or_compute("k", lambda: ANSWER) == (ANSWER, Level.COMPUTED)
    assert first.get_or_compute("k", pytest.fail) == (ANSWER, Level.MEMORY)
    second = Tiers(namespace("d1", "1.0"), MemoryCache(), shared)
    assert second.get_or_compute("k", pytest.fail) == (ANSWER, Level.REDIS)
    assert second.get_or_compute("k", pytest.fail) == (ANSWER, Level.MEMORY)
    assert second.get("k") == ANSWER


@pytest.mark.parametrize(("digest", "version"), [("d2", "1.0"), ("d1", "1.1")])
def test_other_facts_or_other_code_find_nothing(digest: str, version: str) -> None:
    """Digest and version are in every key, so nothing ever has to be invalidated."""
    shared = Shared()
    Tiers(namespace("d1", "1.0"), MemoryCache(), shared).get_or_compute("k", lambda: ANSWER)
    assert all(key.startswith("sizing:d1:1.0:") for key in shared.values)
    other = Tiers(namespace(digest, version), MemoryCache(), shared)
    assert other.get_or_compute("k", lambda: ANSWER)[1] is Level.COMPUTED


def test_errors_are_not_kept() -> None:
    """A problem answer is computed each time and never stored."""
    shared = Shared()
    tiers = Tiers("p:", MemoryCache(), shared)
    assert tiers.get_or_compute("k", lambda: ERROR) == (ERROR, Level.COMPUTED)
    assert tiers.get_or_compute("k", lambda: ANSWER) == (ANSWER, Level.COMPUTED)
    assert list(shared.values.values()) == [ANSWER]


def test_the_breaker_opens_after_failures_and_tries_again_later() -> None:
    """Three failures stop the trying for five seconds; then one caller may try, and its success closes it."""
    now = [0.0]
    breaker = CircuitBreaker(failures=3, open_seconds=5, clock=lambda: now[0])
    for _ in range(3):
        assert breaker.allows()
        breaker.failed()
    assert breaker.is_open
    assert not breaker.allows()
    now[0] = 5.1
    assert breaker.allows()
    assert not breaker.allows(), "only one tries while it is not known to work"
    breaker.succeeded()
    assert breaker.allows()
    assert not breaker.is_open


def test_failures_must_be_in_a_row() -> None:
    """Now and then a slow answer does not open the breaker."""
    breaker = CircuitBreaker(failures=2, clock=lambda: 0.0)
    for _ in range(5):
        breaker.failed()
        breaker.succeeded()
    assert breaker.allows()
