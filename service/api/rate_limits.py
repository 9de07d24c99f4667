"""Rate limits by caller: on answers that must be computed, and on writes. What is kept is never limited."""

from collections.abc import Callable, Sequence
from ipaddress import IPv6Address, ip_address
from math import ceil
from time import time

from flask import Flask, Response, current_app, request
from flask_limiter import ApplicationLimit, Limiter, RateLimitExceeded, RequestLimit
from limits import parse_many

from service.api.problems import STATUSES, Problem, answer
from service.cache import OWN_HEADERS, UNASKED, RedisStore
from service.cache.counting import SCHEME

_MISSES, _WRITES = "misses", "writes"
_BY_KEY = "sizing.writes_by_key"
_WRITTEN = ("/v1/measurements",)
_READING = frozenset({"GET", "HEAD"})
_FREE = ("/health/", "/metrics", "/assets/")
# What costs many times a plain answer. Points, not seconds.
_POINTS = {"/v1/matrix": 10, "/v1/models/inspect": 10, "/v1/plan": 5, "/v1/report": 5, "/report": 5}
_POINTS_OF_A_BODY = 2
_NETWORK_BITS = 64  # of an IPv6 address: one customer has as many addresses as it likes


def register(app: Flask, misses: str | None, writes: str | None, shared: RedisStore | None) -> None:
    """Limit the application. misses, writes: points per caller such as `1200/minute`; None does not limit.

    shared: where the processes count together; None lets each count for itself.
    """
    limits = [
        ApplicationLimit(rate, scope=scope, exempt_when=exempt, cost=cost)
        for scope, rate, exempt, cost in (
            (_MISSES, misses, _no_miss, points),
            (_WRITES, writes, _no_write, 1),
        )
        if rate is not None
    ]
    if not limits:
        return
    limiter = Limiter(
        address,
        application_limits=list(limits),
        storage_uri=f"{SCHEME}://",
        storage_options={"shared": shared},  # type: ignore[dict-item]  # handed to our own storage
        strategy="fixed-window",
        headers_enabled=False,
        request_identifier=lambda: "all",
    )
    limiter.init_app(app)
    app.register_error_handler(RateLimitExceeded, lambda _error: _refusal(limiter.current_limits))
    app.register_error_handler(KeyExceeded, lambda error: _refusal([error.limit]))
    app.after_request(_teller(limiter))
    app.extensions[_BY_KEY] = limiter if writes is not None else None
    app.config[_BY_KEY] = writes


class KeyExceeded(Exception):
    """An API key has written more than its limit, from whichever addresses."""

    def __init__(self, limit: RequestLimit) -> None:
        super().__init__(str(limit.limit))
        self.limit = limit


def count_key(key_id: str) -> None:
    """Count a write of an API key that was recognised; its address was counted before. Raises KeyExceeded."""
    limiter: Limiter | None = current_app.extensions.get(_BY_KEY)
    if limiter is None:
        return
    for item in parse_many(current_app.config[_BY_KEY]):
        whose = [f"key {key_id}", _WRITES]
        if not limiter.limiter.hit(item, *whose):
            raise KeyExceeded(RequestLimit(limiter, item, whose, True, True))


def address() -> str:
    """Who asks: the address, of IPv6 only its network."""
    return network(request.remote_addr or "")


def network(address: str) -> str:
    """The address that counts as one caller; what is no address is itself."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address or "unknown"
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return f"{IPv6Address(int(parsed) >> _NETWORK_BITS << _NETWORK_BITS)}/{_NETWORK_BITS}"


def points() -> int:
    """What the current request costs."""
    path = request.path
    if (found := _POINTS.get(path)) is not None:
        return found
    return 1 if request.method in _READING else _POINTS_OF_A_BODY


def told(limits: Sequence[RequestLimit]) -> list[tuple[str, str]]:
    """The headers `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10)."""
    if not limits:
        return []
    policies = [f'"{_scope(limit)}";q={limit.limit.amount};w={limit.limit.get_expiry()}' for limit in limits]
    states = [f'"{_scope(limit)}";r={limit.remaining};t={seconds_left(limit)}' for limit in limits]
    return [("RateLimit-Policy", ", ".join(policies)), ("RateLimit", ", ".join(states))]


def seconds_left(limit: RequestLimit) -> int:
    """Whole seconds until a limit's window ends, at least one."""
    return max(1, ceil(limit.window.reset_time - time()))


def _refusal(limits: Sequence[RequestLimit]) -> Response:
    """429 with the limit that is used up, and when it begins anew."""
    [used_up] = [limit for limit in limits if limit.breached]
    values = {"limit_requests": used_up.limit.amount, "limit_seconds": used_up.limit.get_expiry()}
    retry = ("Retry-After", str(seconds_left(used_up)))
    slug = "too-many-requests"
    return answer(Problem(slug, STATUSES[slug], values, headers=[retry]))


def _scope(limit: RequestLimit) -> str:
    return limit.request_args[-1]


def _teller(limiter: Limiter) -> Callable[[Response], Response]:
    def tell(response: Response) -> Response:
        headers = told(limiter.current_limits)
        # Beside the response: what may be kept of it must not hold them.
        request.environ[OWN_HEADERS] = headers
        response.headers.extend(headers)
        return response

    return tell


def _no_miss() -> bool:
    """Whether a request does not compute for a caller, or is a write, which counts by itself."""
    environ = request.environ
    return (
        bool(environ.get(UNASKED))
        or "REMOTE_ADDR" not in environ  # the service's own, such as warming
        or request.method == "OPTIONS"
        or request.path.startswith(_FREE)
        or not _no_write()
    )


def _no_write() -> bool:
    return request.method in (*_READING, "OPTIONS") or not request.path.startswith(_WRITTEN)
