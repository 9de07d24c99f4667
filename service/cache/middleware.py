"""The WSGI layer that answers from the cache before the application is entered."""

from collections.abc import Callable, Iterable, Sequence
from http import HTTPStatus
from threading import get_ident
from time import perf_counter
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from service.cache.aliases import Aliases, Spelling
from service.cache.answers import CachedAnswer, Pairs
from service.cache.encodings import encoded, finished, negotiate_encoding
from service.cache.ready import Ready, ready
from service.cache.single_flight import SingleFlight
from service.cache.tiers import Level, Tiers
from service.cache.whole_answer import collect

CACHE_HEADER = "X-Cache"
_SAID = {Level.MEMORY: "hit-memory", Level.REDIS: "hit-redis", Level.COMPUTED: "miss"}
MEMORY_HIT = _SAID[Level.MEMORY]
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
        "ratelimit",
        "ratelimit-policy",
    }
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
# In the environ, from the application: headers of this one answer, which others must not get.
OWN_HEADERS = "sizing.own_headers"
# In the environ, to the application: nobody waits for this answer; a kept one is computed again.
UNASKED = "sizing.unasked"
_CREDENTIALS = "HTTP_AUTHORIZATION"
# environ -> (key, query) of the same question in its canonical form.
Canonical = Callable[[WSGIEnvironment], tuple[str, str] | None]
# answer -> headers that every answer of its kind has beside its own: those of a 200, those of a 304 as well.
Constants = Callable[[CachedAnswer], tuple[Pairs, Pairs]]


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
      everything that the answer depends on but the encoding, which is dealt with here. It may look at the
      address, Accept and Accept-Language, because what they gave once is known by them from then on, and at
      Authorization: with it every request is classified.
    canonical: environ -> key and query that stand for all spellings of a question, None where there is only
      the one; asked once for each new address. The application then sees the canonical query.
    remember: names of strings in the environ that the application leaves for logs and metrics; a hit leaves
      them again.
    constants: headers that a layer outside gives to all answers, so that hits have them ready.
    revision: of facts that change while the service runs; asked with each request, and with a new one all
      spellings are classified again. Keys must contain it where the answer depends on it.
    computed: is told of each computation, with what the application left in the environ, and its seconds.
    kept: is called after an answer came into the memory, from below or in another encoding.
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
        constants: Constants = lambda _answer: ((), ()),
        computed: Callable[[Pairs, float], None] = lambda _recorded, _seconds: None,
        revision: Callable[[], str] = lambda: "",
        kept: Callable[[], None] = lambda: None,
    ) -> None:
        self._inner = inner
        self._tiers = tiers
        self._classify = classify
        self._remember = tuple(remember)
        self._canonical = canonical
        self._constants = constants
        self._computed = computed
        self._revision = revision
        self._kept = kept
        self._aliases = Aliases()
        self._encodings: SingleFlight[CachedAnswer] = SingleFlight()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request."""
        found = self.known(environ)
        if found is None:
            return self.answer(environ, start_response)
        environ.update(found.recorded)
        environ["sizing.cache"] = MEMORY_HIT
        status, headers, body = found.parts(environ)
        start_response(status, list(headers))
        return body

    def known(self, environ: WSGIEnvironment) -> Ready | None:
        """The hit of a request that this process has answered before, all its constant headers included."""
        if environ["REQUEST_METHOD"] not in _READING or _CREDENTIALS in environ:
            return None
        entry = self._aliases.get(_spelling(environ, self._tiers.prefix, self._revision()))
        if entry is None:
            return None
        entry.used = True
        return entry.prepared

    def answer(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request that is not `known`, without the constant headers."""
        key = self._classify(environ) if environ["REQUEST_METHOD"] in _READING else None
        if key is None:
            return self._inner(environ, start_response)
        coding = negotiate_encoding(environ.get("HTTP_ACCEPT_ENCODING", ""))
        answer, level = self._find(environ, key, coding)
        environ.update(answer.recorded)
        environ["sizing.cache"] = _SAID[level]
        extra = ((CACHE_HEADER, _SAID[level]), *environ.get(OWN_HEADERS, ()))
        status, headers, body = ready(answer, extra).parts(environ)
        start_response(status, list(headers))
        return body

    def _prepare(self, answer: CachedAnswer) -> Ready:
        extra, always = self._constants(answer)
        return ready(answer, ((CACHE_HEADER, MEMORY_HIT), *extra), always)

    def _find(self, environ: WSGIEnvironment, key: str, coding: str) -> tuple[CachedAnswer, Level]:
        """The answer to a request that this process has not answered, not in this spelling or encoding."""
        spelling = _spelling(environ, self._tiers.prefix, self._revision())
        question = self._canonical(environ)
        asked, query = question if question is not None else (key, environ.get("QUERY_STRING", ""))
        asker = get_ident()
        plain, level = self._tiers.get_or_compute(asked, lambda: self._compute(environ, query, asker))
        if plain.status == HTTPStatus.TOO_MANY_REQUESTS and OWN_HEADERS not in environ:
            # Refused to another caller, who asked at the same time.
            plain = self._compute(environ, query, asker)
        if not plain.storable:
            return plain, level
        full = self._tiers.full(asked)
        answer = self._in(coding, full, plain)
        entry = self._tiers.memory.prepare(full + coding, self._prepare)
        if entry is not None:
            self._aliases.put(spelling, entry)
        self._kept()
        return answer, level

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

    def _compute(self, environ: WSGIEnvironment, query: str, asker: int) -> CachedAnswer:
        """The application's whole answer to the request as an unconditional GET with that query.

        asker: the thread that waits for it; in another one the answer is only refreshed.
        """
        request = {name: value for name, value in environ.items() if name not in _CONDITIONS}
        request |= {"REQUEST_METHOD": "GET", "QUERY_STRING": query, UNASKED: get_ident() != asker}
        began = perf_counter()
        status, headers, body = collect(self._inner, request)
        recorded = tuple(
            (name, request[name]) for name in self._remember if isinstance(request.get(name), str)
        )
        self._computed(recorded, perf_counter() - began)
        if OWN_HEADERS in request and not request[UNASKED]:
            environ[OWN_HEADERS] = request[OWN_HEADERS]
        kept = tuple((name, value) for name, value in headers if name.lower() not in _NOT_KEPT)
        etag = next((value for name, value in kept if name.lower() == "etag"), "")
        return finished(CachedAnswer(status, kept, body, etag, recorded))


def _spelling(environ: WSGIEnvironment, prefix: str, revision: str) -> Spelling:
    """All of a request that decides about its answer, as it was sent."""
    get = environ.get
    return (
        prefix,
        revision,
        get("SCRIPT_NAME", ""),
        get("PATH_INFO", ""),
        get("QUERY_STRING", ""),
        get("HTTP_ACCEPT", ""),
        get("HTTP_ACCEPT_LANGUAGE", ""),
        get("HTTP_ACCEPT_ENCODING", ""),
    )
