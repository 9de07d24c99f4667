"""The WSGI layer that answers from the cache before the application is entered."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from http import HTTPStatus
from types import TracebackType
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from service.cache.aliases import Aliases
from service.cache.answers import CachedAnswer, Pairs
from service.cache.conditional import matches
from service.cache.encodings import encoded, finished, negotiate_encoding
from service.cache.single_flight import SingleFlight
from service.cache.tiers import Level, Tiers

_ExcInfo = tuple[type[BaseException], BaseException, TracebackType] | tuple[None, None, None] | None

CACHE_HEADER = "X-Cache"
_SAID = {Level.MEMORY: "hit-memory", Level.REDIS: "hit-redis", Level.COMPUTED: "miss"}
_READING = frozenset({"GET", "HEAD"})
# Belong to one request or connection, so another must not get them.
_NOT_KEPT = frozenset(
    {
        "connection",
        "keep-alive",
        "transfer-encoding",
        "date",
        "server",
        "set-cookie",
        "x-request-id",
        "traceparent",
    }
)
# RFC 9110 15.4.5: what a 304 repeats of the 200.
_OF_NOT_MODIFIED = frozenset(
    {"cache-control", "content-language", "content-location", "etag", "expires", "vary"}
)
# Left out of the request that computes an answer, which must be the whole, plain one whoever asks first.
_CONDITIONS = (
    "HTTP_IF_NONE_MATCH",
    "HTTP_IF_MODIFIED_SINCE",
    "HTTP_IF_MATCH",
    "HTTP_RANGE",
    "HTTP_IF_RANGE",
    "HTTP_ACCEPT_ENCODING",
)
# environ -> (key, query) of the same question in its canonical form.
Canonical = Callable[[WSGIEnvironment], tuple[str, str] | None]


def answer_key(environ: WSGIEnvironment, *negotiated: str) -> str:
    """A key from the address as it was sent and what was negotiated (language, representation, encoding).

    Lengths keep the parts apart, whatever characters an address holds.
    """
    parts = (
        environ.get("SCRIPT_NAME", ""),
        environ.get("PATH_INFO", ""),
        environ.get("QUERY_STRING", ""),
        *negotiated,
    )
    return "".join(f"{len(part)}:{part}" for part in parts)


class ByteCache:
    """Wraps a WSGI application; answers GET and HEAD from the tiers, lets all else through.

    classify: environ -> key (see `answer_key`), None for what is not to be cached; the key must depend on
      everything that the answer depends on but the encoding, which is dealt with here.
    canonical: environ -> key and query that stand for all spellings of a question, None where there is only
      the one; asked once for each new address. The application then sees the canonical query.
    remember: names of strings in the environ that the application leaves for logs and metrics; a hit leaves
      them again.
    Says where an answer came from in `X-Cache` (hit-memory, hit-redis, miss) and in the environ under
    `sizing.cache`. The request's ID is the business of the layer outside.
    """

    def __init__(
        self,
        inner: WSGIApplication,
        tiers: Tiers,
        classify: Callable[[WSGIEnvironment], str | None],
        remember: Sequence[str] = ("sizing.language", "sizing.route"),
        canonical: Canonical = lambda _environ: None,
    ) -> None:
        self._inner = inner
        self._tiers = tiers
        self._classify = classify
        self._remember = tuple(remember)
        self._canonical = canonical
        self._aliases = Aliases()
        self._encodings: SingleFlight[CachedAnswer] = SingleFlight()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request."""
        key = self._classify(environ) if environ["REQUEST_METHOD"] in _READING else None
        if key is None:
            return self._inner(environ, start_response)
        coding = negotiate_encoding(environ.get("HTTP_ACCEPT_ENCODING", ""))
        level = Level.MEMORY
        answer = self._tiers.memory.get(self._aliases.get(self._tiers.full(key)) + coding)
        if answer is None:
            answer, level = self._find(environ, key, coding)
        environ.update(answer.recorded)
        environ["sizing.cache"] = _SAID[level]
        return respond(answer, environ, start_response, ((CACHE_HEADER, _SAID[level]),))

    def _find(self, environ: WSGIEnvironment, key: str, coding: str) -> tuple[CachedAnswer, Level]:
        """The answer to a request that this process has not answered, not in this spelling or encoding."""
        question = self._canonical(environ)
        asked, query = question if question is not None else (key, environ.get("QUERY_STRING", ""))
        plain, level = self._tiers.get_or_compute(asked, lambda: self._compute(environ, query))
        if not plain.storable:
            return plain, level
        full = self._tiers.full(asked)
        self._aliases.put(self._tiers.full(key), full)
        return self._in(coding, full, plain), level

    def _in(self, coding: str, full: str, plain: CachedAnswer) -> CachedAnswer:
        """The encoded form of a plain answer, made once and kept beside it."""
        if not coding:
            return plain
        form = full + coding

        def make() -> CachedAnswer:
            known = self._tiers.memory.peek(form)
            if known is None:
                known = encoded(plain, coding)
                self._tiers.memory.put(form, known)
            return known

        return self._encodings.run(form, make)[0]

    def _compute(self, environ: WSGIEnvironment, query: str) -> CachedAnswer:
        """The application's whole answer to the request as an unconditional GET with that query."""
        request = {name: value for name, value in environ.items() if name not in _CONDITIONS}
        request |= {"REQUEST_METHOD": "GET", "QUERY_STRING": query}
        status, headers, body = collect(self._inner, request)
        recorded = tuple(
            (name, request[name]) for name in self._remember if isinstance(request.get(name), str)
        )
        kept = tuple((name, value) for name, value in headers if name.lower() not in _NOT_KEPT)
        etag = next((value for name, value in kept if name.lower() == "etag"), "")
        return finished(CachedAnswer(status, kept, body, etag, recorded))


def respond(
    answer: CachedAnswer, environ: WSGIEnvironment, start_response: StartResponse, extra: Pairs = ()
) -> list[bytes]:
    """Send a kept answer, as `finished` returns it: 304 when the client has it, no body for HEAD."""
    if answer.status == HTTPStatus.OK and matches(environ.get("HTTP_IF_NONE_MATCH", ""), answer.etag):
        kept = [(name, value) for name, value in answer.headers if name.lower() in _OF_NOT_MODIFIED]
        start_response("304 Not Modified", [*kept, *extra])
        return []
    start_response(_status_line(answer.status), [*answer.headers, *extra])
    return [] if environ["REQUEST_METHOD"] == "HEAD" else [answer.body]


def collect(application: WSGIApplication, environ: WSGIEnvironment) -> tuple[int, Pairs, bytes]:
    """Status, headers and whole body of an application's answer. Raises what the application raises."""
    started: list[tuple[int, Pairs]] = []
    written: list[bytes] = []

    def start(
        status: str,
        headers: list[tuple[str, str]],
        exc_info: _ExcInfo = None,  # noqa: ARG001 - the WSGI signature
    ) -> Callable[[bytes], Any]:
        started.append((int(status[:3]), tuple(headers)))
        return written.append

    chunks = application(environ, start)
    try:
        written.extend(chunks)
    finally:
        close = getattr(chunks, "close", None)
        if close is not None:
            close()
    status, headers = started[-1]
    return status, headers, b"".join(written)


@cache
def _status_line(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"{status} Unknown"
