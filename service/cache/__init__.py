"""Answers kept as final bytes: in the process, in Redis, and before the application is entered."""

from service.cache.answers import CachedAnswer, CorruptAnswer
from service.cache.breaker import CircuitBreaker
from service.cache.lease import Claim, Found, SharedStore, Standing
from service.cache.memory import MemoryCache, MemoryStatistics
from service.cache.middleware import (
    CACHE_HEADER,
    MEMORY_HIT,
    OWN_HEADERS,
    UNASKED,
    ByteCache,
    answer_key,
)
from service.cache.ready import Ready
from service.cache.redis_store import RedisStore
from service.cache.single_flight import SingleFlight
from service.cache.tiers import Level, Tiers, namespace
from service.cache.whole_answer import collect

__all__ = [
    "CACHE_HEADER",
    "MEMORY_HIT",
    "OWN_HEADERS",
    "UNASKED",
    "ByteCache",
    "CachedAnswer",
    "CircuitBreaker",
    "Claim",
    "CorruptAnswer",
    "Found",
    "Level",
    "MemoryCache",
    "MemoryStatistics",
    "Ready",
    "RedisStore",
    "SharedStore",
    "SingleFlight",
    "Standing",
    "Tiers",
    "answer_key",
    "collect",
    "namespace",
]
