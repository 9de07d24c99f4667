"""Memory, then Redis, then the computation: the first that has the answer gives it to those before it."""

from collections.abc import Callable
from enum import StrEnum
from hashlib import blake2b

from service.cache.answers import CachedAnswer
from service.cache.encodings import CODINGS
from service.cache.lease import Claim, SharedStore, Standing, answer_or_claim
from service.cache.memory import MemoryCache
from service.cache.refresh import Refresher
from service.cache.single_flight import SingleFlight

_HASH_BYTES = 20


class Level(StrEnum):
    """Where an answer came from."""

    MEMORY = "memory"
    REDIS = "redis"
    COMPUTED = "computed"


def namespace(digest: str, version: str) -> str:
    """What every key starts with: other facts or other code never answer for these."""
    return f"sizing:{digest}:{version}:"


class Tiers:
    """All levels behind one call.

    prefix: see `namespace`; may be set anew at any time, and all that was known is then asked for again.
    shared: None without Redis.
    """

    def __init__(
        self,
        prefix: str,
        memory: MemoryCache,
        shared: SharedStore | None = None,
        flights: SingleFlight[tuple[CachedAnswer, Level, Claim]] | None = None,
    ) -> None:
        self.prefix = prefix
        self.memory = memory
        self.shared = shared
        self._flights = flights or SingleFlight()
        self._refresher = Refresher(shared, self._renew) if shared is not None else None

    def get(self, key: str) -> CachedAnswer | None:
        """The answer, if this process has it; touches nothing else."""
        return self.memory.get(self.full(key))

    def get_or_compute(self, key: str, compute: Callable[[], CachedAnswer]) -> tuple[CachedAnswer, Level]:
        """The answer and the level that had it; `compute` runs once for all who wait, here or on other hosts.

        Only answers that are `storable` are kept. Raises what `compute` raises.
        """
        full = self.full(key)
        known = self.memory.get(full)
        if known is not None:
            return known, Level.MEMORY
        (answer, level, claim), led = self._flights.run(full, lambda: self._look_or_compute(full, compute))
        # After the flight: who waits here need not wait for Redis to take the answer as well.
        if led and level is Level.COMPUTED:
            self._share(full, answer, claim)
        return answer, level

    def full(self, key: str) -> str:
        """The key in memory and in Redis. The prefix stays readable for operators; the rest, as long as a
        caller's URL, is hashed. The braces keep an answer and its lease on one node of a cluster.
        """
        hashed = blake2b(key.encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES)
        return f"{self.prefix}{{{hashed.hexdigest()}}}"

    def _look_or_compute(
        self, full: str, compute: Callable[[], CachedAnswer]
    ) -> tuple[CachedAnswer, Level, Claim]:
        # A flight may have landed between the look into memory and the start of this one.
        known = self.memory.peek(full)
        if known is not None:
            return known, Level.MEMORY, Claim(Standing.UNAVAILABLE)
        claim = Claim(Standing.UNAVAILABLE)
        if self.shared is not None:
            found = self.shared.find(full) or answer_or_claim(self.shared, full)
            if not isinstance(found, Claim):
                self.memory.put(full, found.answer)
                if found.stale and self._refresher is not None:
                    self._refresher.refresh(full, compute)
                return found.answer, Level.REDIS, claim
            claim = found
        answer = self._computed(full, compute, claim)
        return answer, Level.COMPUTED, claim

    def _renew(self, full: str, answer: CachedAnswer) -> None:
        """Take a newer answer; encoded forms of the old one must not outlive it."""
        self.memory.put(full, answer)
        for coding in CODINGS:
            self.memory.forget(full + coding)

    def _computed(self, full: str, compute: Callable[[], CachedAnswer], claim: Claim) -> CachedAnswer:
        try:
            answer = compute()
        except BaseException:
            if self.shared is not None and claim.standing is Standing.WON:
                self.shared.give_up(full, claim.token)
            raise
        if answer.storable:
            self.memory.put(full, answer)
        return answer

    def _share(self, full: str, answer: CachedAnswer, claim: Claim) -> None:
        if self.shared is None:
            return
        if answer.storable:
            self.shared.publish(full, answer, claim.token)
        elif claim.standing is Standing.WON:
            self.shared.give_up(full, claim.token)
