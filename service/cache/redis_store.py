"""The second level: answers that processes and hosts share through Redis or Valkey.

Redis that is down, slow, full or holds nonsense is a miss and never an error.
"""

import os
import time
from collections.abc import Callable
from functools import partial
from threading import Lock
from typing import Any, TypeVar
from uuid import uuid4

from service.cache.answers import CachedAnswer
from service.cache.breaker import CircuitBreaker
from service.cache.lease import LEASE_SECONDS, Claim, Found, Standing
from service.cache.stored import packed, unpacked

DAY_SECONDS = 86_400
_TIMEOUT_SECONDS = 0.08
_FRUITLESS = b"-"
_FRUITLESS_MS = 1000
_LEASE = ":lease"
# Keep the answer if there is room, and end the lease if it is still ours. Both keys have one hash tag.
_PUBLISH = """
redis.pcall('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
if redis.call('GET', KEYS[2]) == ARGV[3] then redis.call('DEL', KEYS[2]) end
"""
_GIVE_UP = """
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.pcall('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
"""
# One window: it begins with the first count, and ends by itself.
_COUNT = """
local count = redis.call('INCRBY', KEYS[1], ARGV[1])
local left = redis.call('PTTL', KEYS[1])
if left < 0 then redis.call('PEXPIRE', KEYS[1], ARGV[2]); left = tonumber(ARGV[2]) end
return {count, left}
"""
_Value = TypeVar("_Value")


class RedisStore:
    """Answers under the keys that `Tiers` makes, compressed above 1 KiB.

    seconds: an answer is forgotten after so many. fresh_seconds: older ones are served, and computed again by
    one reader; default half of `seconds`. lease_seconds: how long a host may compute before another one does.
    timeout_seconds, ca_file: see `connect`. failed: is told the name of the error of each failed question.
    """

    def __init__(
        self,
        url: str,
        *,
        seconds: int = DAY_SECONDS,
        fresh_seconds: float | None = None,
        lease_seconds: float = LEASE_SECONDS,
        timeout_seconds: float = _TIMEOUT_SECONDS,
        ca_file: str | None = None,
        breaker: CircuitBreaker | None = None,
        failed: Callable[[str], None] = lambda _kind: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._seconds = seconds
        self._fresh_seconds = seconds / 2 if fresh_seconds is None else fresh_seconds
        self.lease_seconds = lease_seconds
        self._breaker = breaker or CircuitBreaker()
        self._failed = failed
        self._clock = clock
        from service.cache import redis_client  # here: who has no Redis need not load its client

        self._connect: Callable[[], Any] = partial(redis_client.connect, url, timeout_seconds, ca_file)
        self._refusal, self._faults = redis_client.REFUSAL, redis_client.FAULTS
        self._client: tuple[int, Any] | None = None
        self._lock = Lock()

    def find(self, key: str) -> Found | None:
        """The answer of that key and whether it is stale; None when Redis does not have it or cannot say."""
        value = self._attempt(lambda client: client.get(key))
        if not isinstance(value, bytes):
            return None
        try:
            written, data = unpacked(value)
            return Found(CachedAnswer.from_bytes(data), self._clock() - written > self._fresh_seconds)
        except ValueError:
            return None

    def get(self, key: str) -> CachedAnswer | None:
        """The answer of that key, fresh or stale."""
        found = self.find(key)
        return found.answer if found else None

    def put(self, key: str, answer: CachedAnswer) -> None:
        """Keep an answer, if Redis takes it."""
        value = packed(answer, self._clock())
        self._attempt(lambda client: client.set(key, value, ex=self._seconds))

    def claim(self, key: str) -> Claim:
        """Ask for the lease of a key, which ends by itself after `lease_seconds`."""
        token = uuid4().hex
        milliseconds = max(1, round(1000 * self.lease_seconds))

        def ask(client: Any) -> tuple[Any]:
            return (client.set(key + _LEASE, token, nx=True, px=milliseconds, get=True),)

        answered = self._attempt(ask)
        if answered is None:
            return Claim(Standing.UNAVAILABLE, token)  # perhaps won and not heard of: `publish` ends it
        holder = answered[0]
        if holder is None:
            return Claim(Standing.WON, token)
        return Claim(Standing.FRUITLESS if holder == _FRUITLESS else Standing.HELD)

    def publish(self, key: str, answer: CachedAnswer, token: str) -> None:
        """Keep an answer and end the lease of that token, in one round trip."""
        if not token:
            self.put(key, answer)
            return
        value = packed(answer, self._clock())
        self._attempt(
            lambda client: client.eval(_PUBLISH, 2, key, key + _LEASE, value, self._seconds, token) or True
        )

    def give_up(self, key: str, token: str) -> None:
        """End a lease without an answer; for a second others compute without asking for it."""
        self._attempt(
            lambda client: client.eval(_GIVE_UP, 1, key + _LEASE, token, _FRUITLESS, _FRUITLESS_MS) or True
        )

    def count(self, key: str, amount: int, seconds: int) -> tuple[int, float] | None:
        """Add to a count that lasts `seconds`; its sum and its end in epoch seconds, None without Redis."""
        found = self._attempt(lambda client: client.eval(_COUNT, 1, key, amount, 1000 * seconds))
        return None if found is None else (int(found[0]), self._clock() + found[1] / 1000)

    def is_up(self) -> bool:
        """Whether Redis answers now, for the readiness probe."""
        return self._attempt(lambda client: bool(client.ping())) is True

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            if self._client is not None:
                self._client[1].close()
            self._client = None

    def _connected(self) -> Any:
        """The client of this process: a forked worker makes its own, at its first question."""
        with self._lock:
            if self._client is None or self._client[0] != os.getpid():
                self._client = (os.getpid(), self._connect())
            return self._client[1]

    def _attempt(self, call: Callable[[Any], _Value]) -> _Value | None:
        if not self._breaker.allows():
            return None
        try:
            value = call(self._connected())
        except self._refusal as error:
            self._failed(type(error).__name__)
            # It answered, if only to refuse (full, read-only): the next read may well work.
            self._breaker.succeeded()
            return None
        except self._faults as error:
            self._failed(type(error).__name__)
            self._breaker.failed()
            return None
        self._breaker.succeeded()
        return value
