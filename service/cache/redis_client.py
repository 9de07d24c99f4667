"""Connecting to Redis as the setting names it: one server, a cluster, or the master that Sentinel knows."""

from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from redis import Redis, RedisCluster
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode
from redis.exceptions import RedisClusterException, RedisError, ResponseError
from redis.retry import Retry
from redis.sentinel import Sentinel

from service.cache.redis_socket import bound

REFUSAL = ResponseError  # the server answers, if only to refuse
FAULTS = (RedisError, RedisClusterException, OSError, ValueError)
_MOST_CONNECTIONS = 32
_REDIS_PORT, _SENTINEL_PORT = 6379, 26_379
SCHEMES = (
    "redis://",
    "rediss://",
    "unix://",
    "redis+cluster://",
    "rediss+cluster://",
    "redis+sentinel://",
    "rediss+sentinel://",
)


def connect(url: str, timeout_seconds: float, ca_file: str | None = None) -> Any:
    """A client for `url`, one of SCHEMES; there are no retries, because computing is cheaper.

    `redis+cluster://` and `redis+sentinel://` take several `host:port` with commas between them; the path of
    the latter is `/<master>` or `/<master>/<db>`. `rediss` is TLS, checked against `ca_file` or else the
    system's authorities. timeout_seconds: for connecting and for each whole answer.
    Raises ValueError for a wrong address, RedisError or OSError when a cluster or Sentinel does not answer.
    """
    options: dict[str, Any] = {
        "socket_connect_timeout": timeout_seconds,
        "socket_timeout": timeout_seconds,
        "retry": Retry(NoBackoff(), 0),
        "decode_responses": False,
        "max_connections": _MOST_CONNECTIONS,
        "redis_connect_func": bound,
    }
    parts = urlsplit(url)
    kind, _, variant = parts.scheme.partition("+")
    if kind == "rediss" and ca_file is not None:
        options["ssl_ca_certs"] = ca_file
    if variant == "cluster":
        return _cluster(parts, kind, options)
    if variant == "sentinel":
        return _sentinel(parts, kind, options)
    return Redis.from_url(url, **options)


def _cluster(parts: SplitResult, kind: str, options: dict[str, Any]) -> Any:
    nodes = [
        ClusterNode(host, port)  # type: ignore[no-untyped-call]
        for host, port in hosts(parts.netloc, _REDIS_PORT)
    ]
    named: dict[str, Any] = {"ssl": kind == "rediss", **_login(parts), **options}
    return RedisCluster(startup_nodes=nodes, **named)


def _sentinel(parts: SplitResult, kind: str, options: dict[str, Any]) -> Any:
    master, _, database = parts.path.strip("/").partition("/")
    if not master:
        raise ValueError("the address of Sentinel names no master")
    secure = {"ssl": True} if kind == "rediss" else {}  # who names the master is checked as the master is
    asking = {
        name: value for name, value in options.items() if name.startswith(("socket_", "ssl_", "redis_"))
    }
    sentinel = Sentinel(  # type: ignore[no-untyped-call]
        hosts(parts.netloc, _SENTINEL_PORT), sentinel_kwargs={**asking, **secure, "retry": options["retry"]}
    )
    named: dict[str, Any] = {"db": int(database or 0), **secure, **_login(parts), **options}
    return sentinel.master_for(master, **named)  # type: ignore[no-untyped-call]


def hosts(netloc: str, port: int) -> list[tuple[str, int]]:
    """Host and port of each address of a list. Raises ValueError for a wrong port."""
    found = []
    for address in netloc.rpartition("@")[2].split(","):
        parts = urlsplit(f"//{address}")
        if parts.hostname:
            found.append((parts.hostname, parts.port or port))
    if not found:
        raise ValueError("no host")
    return found


def _login(parts: SplitResult) -> dict[str, str]:
    login = parts.netloc.rpartition("@")[0]
    name, _, password = login.partition(":")
    given = {"username": unquote(name), "password": unquote(password)}
    return {key: value for key, value in given.items() if value}
