"""The outermost layer: what every answer carries, whoever made it, and the record of each request."""

import re
from collections.abc import Callable, Iterable
from time import perf_counter
from types import TracebackType
from typing import Any
from uuid import uuid4
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import structlog

from service.api.metrics import observe

_LOG = structlog.get_logger("service.requests")
_REQUEST_ID = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_LONGEST_TRACE = 55
# Reading is open to every site; nothing here depends on cookies.
_OPEN_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_CORS = [
    ("Access-Control-Allow-Origin", "*"),
    ("Access-Control-Expose-Headers", "ETag, Content-Language, X-Request-ID, Retry-After"),
]
_PREFLIGHT = [
    ("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS"),
    (
        "Access-Control-Allow-Headers",
        "Accept, Accept-Language, Authorization, Content-Type, If-None-Match, X-Request-ID, traceparent",
    ),
    ("Access-Control-Max-Age", "86400"),
]
_SECURITY = [
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "cross-origin"),
]

_ExcInfo = tuple[type[BaseException], BaseException, TracebackType] | tuple[None, None, None] | None


class Envelope:
    """Wraps a WSGI application: request ID, trace context, CORS, security headers, log line, metrics.

    Inner layers say what they know in the environ: `sizing.language`, `sizing.route`, `sizing.cache`.
    """

    def __init__(self, inner: WSGIApplication) -> None:
        self._inner = inner

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request."""
        started = perf_counter()
        given = environ.get("HTTP_X_REQUEST_ID", "")
        request_id = given if _REQUEST_ID.fullmatch(given) else uuid4().hex
        environ["sizing.request_id"] = request_id
        extra = _extra_headers(environ, request_id)

        def start(
            status: str, headers: list[tuple[str, str]], exc_info: _ExcInfo = None
        ) -> Callable[..., Any]:
            _record(environ, status, perf_counter() - started)
            return start_response(status, headers + extra, exc_info)

        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        return self._inner(environ, start)


def _extra_headers(environ: WSGIEnvironment, request_id: str) -> list[tuple[str, str]]:
    extra = [("X-Request-ID", request_id), *_SECURITY]
    trace = environ.get("HTTP_TRACEPARENT", "")
    if _TRACEPARENT.fullmatch(trace):
        extra.append(("traceparent", trace))
    if environ["REQUEST_METHOD"] in _OPEN_METHODS:
        extra += _CORS
    if environ["REQUEST_METHOD"] == "OPTIONS":
        extra += _PREFLIGHT
    return extra


def _record(environ: WSGIEnvironment, status: str, seconds: float) -> None:
    observe(environ, status, seconds)
    _LOG.info(
        "request",
        method=environ["REQUEST_METHOD"],
        path=environ.get("PATH_INFO", ""),
        status=int(status[:3]),
        duration_ms=round(seconds * 1000, 3),
        language=environ.get("sizing.language"),
        cache=environ.get("sizing.cache", "none"),
        traceparent=environ.get("HTTP_TRACEPARENT", "")[:_LONGEST_TRACE] or None,
    )
