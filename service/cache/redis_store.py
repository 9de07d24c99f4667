"""The second level: answers that processes and hosts share through Redis or Valkey.

Redis that is down, slow, full or holds nonsense is a miss and never an error.
"""

import zlib
from collections.abc import Callable
from typing import TypeVar

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError, ResponseError
from redis.retry import Retry

from service.cache.answers import CachedAnswer
from service.cache.breaker import CircuitBreaker

DAY_SECONDS = 86_400
_TIMEOUT_SECONDS = 0.08
_COMPRESS_FROM = 1024
_LARGEST_BODY = 64 * 2**20
_PLAIN, _DEFLATED = b"0", b"1"
_Value = TypeVar("_Value")


class RedisStore:
    """Answers under the keys that `Tiers` makes, compressed above 1 KiB, forgotten after `seconds`.

    timeout_seconds: for connecting and for each read; there are no retries, because computing is cheaper.
    """

    def __init__(
        self,
        url: str,
        *,
        seconds: int = DAY_SECONDS,
        timeout_seconds: float = _TIMEOUT_SECONDS,
        breaker: CircuitBreaker | None = None,
    ) -> None:
        self._seconds = seconds
        self._breaker = breaker or CircuitBreaker()
        self._client = Redis.from_url(
            url,
            socket_connect_timeout=timeout_seconds,
            socket_timeout=timeout_seconds,
            retry=Retry(NoBackoff(), 0),
            decode_responses=False,
        )

    def get(self, key: str) -> CachedAnswer | None:
        """The answer of that key; None when Redis does not have it or cannot say."""
        value = self._attempt(lambda: self._client.get(key))
        if not isinstance(value, bytes):
            return None
        try:
            return CachedAnswer.from_bytes(unpacked(value))
        except (ValueError, zlib.error):
            return None

    def put(self, key: str, answer: CachedAnswer) -> None:
        """Keep an answer, if Redis takes it."""
        value = packed(answer)
        self._attempt(lambda: self._client.set(key, value, ex=self._seconds))

    def is_up(self) -> bool:
        """Whether Redis answers now, for the readiness probe."""
        return self._attempt(lambda: bool(self._client.ping())) is True

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _attempt(self, call: Callable[[], _Value]) -> _Value | None:
        if not self._breaker.allows():
            return None
        try:
            value = call()
        except ResponseError:
            # It answered, if only to refuse (full, read-only): the next read may well work.
            self._breaker.succeeded()
            return None
        except (RedisError, OSError, ValueError):
            self._breaker.failed()
            return None
        self._breaker.succeeded()
        return value


def packed(answer: CachedAnswer) -> bytes:
    """An answer as Redis holds it: one digit for plain or deflated, then the bytes."""
    data = answer.to_bytes()
    if len(data) <= _COMPRESS_FROM or answer.header("Content-Encoding"):
        return _PLAIN + data
    return _DEFLATED + zlib.compress(data, level=1)


def unpacked(value: bytes) -> bytes:
    """The inverse of `packed`. Raises ValueError or zlib.error for anything else."""
    kind, data = value[:1], value[1:]
    if kind == _PLAIN:
        return data
    if kind != _DEFLATED:
        raise ValueError("neither plain nor deflated")
    inflater = zlib.decompressobj()
    result = inflater.decompress(data, _LARGEST_BODY)
    if not inflater.eof:
        raise ValueError("cut off or too large")
    return result
