"""The outermost layer: what every answer carries, whoever made it, and the record of each request."""

import os
import re
from collections.abc import Callable, Iterable
from itertools import count
from time import perf_counter
from types import TracebackType
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import structlog

from service.api.constant_headers import CORS, PREFLIGHT, Pairs, security
from service.api.record import JOURNAL
from service.cache import MEMORY_HIT, ByteCache
from service.journal import Journal, Seen, noted

_REQUEST_ID = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_OPEN_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_RECORDED = ("sizing.language", "sizing.route")
_NOT_MODIFIED = "304"

_ExcInfo = tuple[type[BaseException], BaseException, TracebackType] | tuple[None, None, None] | None


class RequestIds:
    """Ids of 32 hexadecimal digits: half of them chosen at random by the process, the rest counted."""

    def __init__(self) -> None:
        self._begin()
        os.register_at_fork(after_in_child=self._begin)

    def __call__(self) -> str:
        """An id that no other request has."""
        return f"{self._process}{next(self._count):016x}"

    def _begin(self) -> None:
        self._process = os.urandom(8).hex()
        self._count = count(1)


_new_id = RequestIds()


class Envelope:
    """Wraps the byte cache: request ID, trace context, CORS, security headers, the note for log and metrics.

    Inner layers say what they know in the environ: `sizing.language`, `sizing.route`, `sizing.cache`.
    """

    def __init__(
        self,
        inner: ByteCache,
        journal: Journal = JOURNAL,
        always: Pairs = (),
        around: Callable[[WSGIApplication], WSGIApplication] | None = None,
    ) -> None:
        """Wrap a cache. always: headers of every answer that is not `known`, which has them already.

        around: wraps the answering of what is not known, such as in a trace.
        """
        self._known = inner.known
        self._always = always
        self._answer = inner.answer if around is None else around(inner.answer)
        self._note = journal.note

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request."""
        began = perf_counter()
        get = environ.get
        given, trace = get("HTTP_X_REQUEST_ID"), get("HTTP_TRACEPARENT")
        request_id = given if given and _REQUEST_ID.fullmatch(given) else _new_id()
        if trace is None or not _TRACEPARENT.fullmatch(trace):
            trace = ""
        known = self._known(environ)
        if known is None:
            return self._whole(environ, start_response, request_id, trace, began)
        status, headers, body = known.parts(environ)
        own = [*headers, ("X-Request-ID", request_id)]
        if trace:
            own.append(("traceparent", trace))
        start_response(status, own)
        method, path, ended = environ["REQUEST_METHOD"], environ["PATH_INFO"], perf_counter()
        spent = ended - began
        self._note(noted((method, path, status, known.recorded, MEMORY_HIT, request_id, spent, ended, trace)))
        return body

    def _whole(
        self,
        environ: WSGIEnvironment,
        start_response: StartResponse,
        request_id: str,
        trace: str,
        began: float,
    ) -> Iterable[bytes]:
        """An answer that is not in memory."""
        environ["sizing.request_id"] = request_id
        method, path = environ["REQUEST_METHOD"], environ.get("PATH_INFO", "")

        def start(
            status: str, headers: list[tuple[str, str]], exc_info: _ExcInfo = None
        ) -> Callable[..., Any]:
            recorded = tuple((name, environ[name]) for name in _RECORDED if environ.get(name))
            cache, ended = environ.get("sizing.cache", "none"), perf_counter()
            spent = ended - began
            self._note(Seen(method, path, status, recorded, cache, request_id, spent, ended, trace))
            own = [*headers, *_extra(method, status, headers), *self._always, ("X-Request-ID", request_id)]
            if trace:
                own.append(("traceparent", trace))
            return start_response(status, own, exc_info)

        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        return self._answer(environ, start)


def _extra(method: str, status: str, headers: list[tuple[str, str]]) -> Pairs:
    media_type = next((value for name, value in headers if name.lower() == "content-type"), "")
    extra = () if status.startswith(_NOT_MODIFIED) else security(media_type)
    if method in _OPEN_METHODS:
        extra = (*extra, *CORS)
    return (*extra, *PREFLIGHT) if method == "OPTIONS" else extra
