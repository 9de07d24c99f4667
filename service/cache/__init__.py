"""Answers kept as final bytes: in the process, in Redis, and before the application is entered."""

from service.cache.answers import CachedAnswer, CorruptAnswer
from service.cache.breaker import CircuitBreaker
from service.cache.lease import Claim, Found, SharedStore, Standing
from service.cache.memory import MemoryCache, MemoryStatistics
from service.cache.middleware import CACHE_HEADER, ByteCache, answer_key, collect, respond
from service.cache.redis_store import RedisStore
from service.cache.single_flight import SingleFlight
from service.cache.tiers import Level, Tiers, namespace

__all__ = [
    "CACHE_HEADER",
    "ByteCache",
    "CachedAnswer",
    "CircuitBreaker",
    "Claim",
    "CorruptAnswer",
    "Found",
    "Level",
    "MemoryCache",
    "MemoryStatistics",
    "RedisStore",
    "SharedStore",
    "SingleFlight",
    "Standing",
    "Tiers",
    "answer_key",
    "collect",
    "namespace",
    "respond",
]
