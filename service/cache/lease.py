"""One computation across hosts: who holds the lease computes, the others wait for what it writes."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from time import monotonic, sleep
from typing import Protocol

from service.cache.answers import CachedAnswer

LEASE_SECONDS = 10.0
_FIRST_PAUSE = 0.005
_LONGEST_PAUSE = 0.05
_GROWTH = 1.5


class Standing(StrEnum):
    """What came of asking for a lease."""

    WON = "won"  # compute, then publish or give up
    HELD = "held"  # somebody else computes
    FRUITLESS = "fruitless"  # somebody else computed, and the answer may not be kept
    UNAVAILABLE = "unavailable"  # the store cannot say


@dataclass(frozen=True, slots=True)
class Claim:
    """The standing, and the token by which only its owner ends a lease."""

    standing: Standing
    token: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """A stored answer. stale: still right to serve, but one caller should compute it again."""

    answer: CachedAnswer
    stale: bool = False


class SharedStore(Protocol):
    """A level that several processes share. It never raises: what it cannot do is a miss.

    lease_seconds: a lease ends by itself after so long, whatever became of its holder.
    """

    lease_seconds: float

    def find(self, key: str) -> Found | None:
        """The answer of that key."""
        ...

    def claim(self, key: str) -> Claim:
        """Ask for the lease of a key."""
        ...

    def publish(self, key: str, answer: CachedAnswer, token: str) -> None:
        """Keep an answer and end the lease of that token; without a token keep only."""
        ...

    def give_up(self, key: str, token: str) -> None:
        """End a lease without an answer: whoever waits for it computes for himself."""
        ...


def answer_or_claim(
    store: SharedStore,
    key: str,
    clock: Callable[[], float] = monotonic,
    pause: Callable[[float], None] = sleep,
) -> Found | Claim:
    """The answer that another host computes meanwhile, or a claim that is not HELD: then compute here.

    Never waits longer than a lease lasts.
    """
    deadline = clock() + store.lease_seconds
    claim, seconds = store.claim(key), _FIRST_PAUSE
    while claim.standing is Standing.HELD:
        left = deadline - clock()
        if left <= 0:
            return Claim(Standing.UNAVAILABLE)
        pause(min(seconds, left))
        seconds = min(seconds * _GROWTH, _LONGEST_PAUSE)
        found = store.find(key)
        if found is not None:
            return found
        claim = store.claim(key)
    if claim.standing is Standing.WON:
        # The holder before may have published between the last look and this claim.
        found = store.find(key)
        if found is not None and not found.stale:
            store.give_up(key, claim.token)
            return found
    return claim
