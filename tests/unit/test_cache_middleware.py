"""The byte cache before the application, over a real WSGI call."""

from io import BytesIO
from wsgiref.util import setup_testing_defaults
from wsgiref.validate import validator

import pytest

from service.cache import ByteCache, MemoryCache, Tiers, answer_key
from service.cache.conditional import matches

BODY = b'{"total": 1}'


class Application:
    """Answers /ok with an ETag, /broken with 422, /boom with an exception; counts its calls."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self.closed = 0

    def __call__(self, environ, start_response):
        path = environ["PATH_INFO"]
        self.calls.append((environ["REQUEST_METHOD"], path))
        environ["sizing.language"] = "de"
        if path == "/boom":
            raise RuntimeError("boom")
        if path == "/broken":
            start_response("422 Unprocessable Content", [("Content-Type", "application/problem+json")])
            return _Chunks(self, [b"{}"])
        headers = [
            ("Content-Type", "application/json"),
            ("ETag", '"v1"'),
            ("Cache-Control", "public, max-age=300"),
            ("Content-Language", "de"),
            ("Vary", "Accept, Accept-Language"),
            ("Content-Length", str(len(BODY))),
            ("Set-Cookie", "a=b"),
            ("X-Request-ID", "of-the-first"),
        ]
        # An application that answered conditionally would poison the cache with an empty 304.
        if environ.get("HTTP_IF_NONE_MATCH"):
            start_response("304 Not Modified", headers)
            return _Chunks(self, [])
        start_response("200 OK", headers)
        return _Chunks(self, [BODY[:3], BODY[3:]] if environ["REQUEST_METHOD"] == "GET" else [])


class _Chunks:
    def __init__(self, application, chunks):
        self._application, self._chunks = application, chunks

    def __iter__(self):
        return iter(self._chunks)

    def close(self):
        self._application.closed += 1


def classify(environ):
    if environ["PATH_INFO"] == "/uncached":
        return None
    return answer_key(environ, environ.get("HTTP_ACCEPT_LANGUAGE", "en"))


@pytest.fixture
def application() -> Application:
    return Application()


@pytest.fixture
def cached(application: Application) -> ByteCache:
    return ByteCache(application, Tiers("p:", MemoryCache()), classify)


def call(app, path="/ok", method="GET", query="", **headers):
    """Status, headers as a dictionary, body, and the environ after the call."""
    environ = {
        "REQUEST_METHOD": method,
        "SCRIPT_NAME": "",
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": BytesIO(),
        "wsgi.errors": BytesIO(),
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
        **{f"HTTP_{name.upper()}": value for name, value in headers.items()},
    }
    started = []

    def start_response(status, given, exc_info=None):
        started.append((status, dict(given)))
        return lambda data: None

    chunks = app(environ, start_response)
    body = b"".join(chunks)
    if hasattr(chunks, "close"):
        chunks.close()
    status, given = started[-1]
    return int(status[:3]), given, body, environ


def test_the_second_request_never_enters_the_application(cached: ByteCache, application: Application) -> None:
    """Same status, ETag and bytes; X-Cache says miss, then hit-memory."""
    first, second = call(cached), call(cached)
    assert len(application.calls) == 1
    assert (first[0], second[0]) == (200, 200)
    assert first[2] == second[2] == BODY
    assert first[1]["ETag"] == second[1]["ETag"] == '"v1"'
    assert (first[1]["X-Cache"], second[1]["X-Cache"]) == ("miss", "hit-memory")


def test_a_hit_tells_logs_what_a_miss_told(cached: ByteCache) -> None:
    """The language that the application left for the log line is left on a hit as well."""
    for level in ("miss", "hit-memory"):
        environ = call(cached)[3]
        assert (environ["sizing.language"], environ["sizing.cache"]) == ("de", level)


def test_what_belongs_to_one_request_is_not_given_to_another(cached: ByteCache) -> None:
    """Cookies and request IDs are not part of an answer."""
    call(cached)
    headers = call(cached)[1]
    assert "Set-Cookie" not in headers
    assert "X-Request-ID" not in headers
    assert headers["Content-Language"] == "de"
    assert headers["Content-Length"] == str(len(BODY))


@pytest.mark.parametrize("value", ['"v1"', 'W/"v1"', '"x", "v1"', 'W/"x",W/"v1"', "*", ' "v1" '])
def test_a_client_that_has_the_answer_gets_304(
    cached: ByteCache, application: Application, value: str
) -> None:
    """Cold or warm, a matching If-None-Match gives 304 with validators and without a body."""
    for _ in range(2):
        status, headers, body, _ = call(cached, if_none_match=value)
        assert (status, body) == (304, b"")
        assert headers["ETag"] == '"v1"'
        assert headers["Cache-Control"] == "public, max-age=300"
        assert headers["Vary"] == "Accept, Accept-Language"
        assert "Content-Length" not in headers
        assert "Content-Type" not in headers
    assert len(application.calls) == 1


@pytest.mark.parametrize("value", ['"v2"', "v1", '"v1', "", "W/v1", '"*"', "* , x"])
def test_a_client_with_another_answer_gets_this_one(cached: ByteCache, value: str) -> None:
    """Another, unquoted or malformed validator does not match."""
    assert call(cached, if_none_match=value)[0] == 200


def test_a_conditional_first_request_does_not_spoil_the_cache(cached: ByteCache) -> None:
    """The kept answer is the whole one, whoever asked first."""
    call(cached, if_none_match='"v1"')
    assert call(cached)[2] == BODY


def test_head_is_get_without_the_body(cached: ByteCache, application: Application) -> None:
    """HEAD shares the answer of GET, its length included, in both orders."""
    status, headers, body, _ = call(cached, method="HEAD")
    assert (status, body, headers["Content-Length"]) == (200, b"", str(len(BODY)))
    assert call(cached)[2] == BODY
    assert application.calls == [("GET", "/ok")]


def test_language_and_query_make_different_answers(cached: ByteCache, application: Application) -> None:
    """Whatever the key holds is told apart; query strings count as they were sent."""
    call(cached, accept_language="de")
    call(cached, accept_language="zh")
    call(cached, query="a=1&b=2")
    call(cached, query="b=2&a=1")
    assert len(application.calls) == 4


@pytest.mark.parametrize(("path", "method"), [("/uncached", "GET"), ("/ok", "POST"), ("/ok", "OPTIONS")])
def test_what_is_not_classified_passes_through(
    cached: ByteCache, application: Application, path: str, method: str
) -> None:
    """Other methods and unclassified paths see the application each time, headers untouched."""
    for _ in range(2):
        assert "X-Cache" not in call(cached, path=path, method=method)[1]
    assert application.calls == [(method, path)] * 2


def test_who_shows_credentials_is_classified_each_time(application: Application) -> None:
    """What is kept for everybody is not given to a caller for whom the classifier wants a new answer."""
    cached = ByteCache(
        application,
        Tiers("p:", MemoryCache()),
        lambda environ: None if "HTTP_AUTHORIZATION" in environ else classify(environ),
    )
    for _ in range(2):
        call(cached)
    assert len(application.calls) == 1
    for _ in range(2):
        assert "X-Cache" not in call(cached, authorization="Bearer key")[1]
    assert len(application.calls) == 3
    assert call(cached)[1]["X-Cache"] == "hit-memory"


def test_problems_are_answered_but_not_kept(cached: ByteCache, application: Application) -> None:
    """A 422 reaches the client whole and is computed again."""
    for _ in range(2):
        status, headers, body, _ = call(cached, path="/broken")
        assert (status, body, headers["X-Cache"]) == (422, b"{}", "miss")
    assert len(application.calls) == 2


def test_a_problem_is_never_304(cached: ByteCache) -> None:
    """If-None-Match: * asks about a representation that an error is not."""
    assert call(cached, path="/broken", if_none_match="*")[0] == 422


def test_an_exception_stays_the_applications(cached: ByteCache) -> None:
    """The cache neither hides nor keeps it."""
    for _ in range(2):
        with pytest.raises(RuntimeError, match="boom"):
            call(cached, path="/boom")


def test_the_applications_iterable_is_closed(cached: ByteCache, application: Application) -> None:
    """WSGI: who consumes an iterable closes it."""
    call(cached)
    assert application.closed == 1


def test_both_sides_speak_wsgi() -> None:
    """wsgiref's validator finds nothing wrong above or below the cache, cold, warm and conditional."""
    app = validator(ByteCache(validator(Application()), Tiers("p:", MemoryCache()), classify))
    statuses = []
    for headers in ({}, {}, {"HTTP_IF_NONE_MATCH": '"v1"'}):
        environ = {"SCRIPT_NAME": "", "PATH_INFO": "/ok", "QUERY_STRING": "", **headers}
        setup_testing_defaults(environ)
        chunks = app(environ, lambda status, *_: statuses.append(status[:3]))
        list(chunks)
        chunks.close()
    assert statuses == ["200", "200", "304"]


def test_keys_cannot_be_confused_by_clever_addresses() -> None:
    """Parts have their lengths in the key: a separator inside an address moves nothing."""
    one = answer_key({"PATH_INFO": "/a?b", "QUERY_STRING": ""}, "de")
    two = answer_key({"PATH_INFO": "/a", "QUERY_STRING": "b"}, "de")
    three = answer_key({"PATH_INFO": "/a", "QUERY_STRING": "", "SCRIPT_NAME": "?b"}, "de")
    assert len({one, two, three}) == 3


def test_weak_comparison() -> None:
    """RFC 9110 13.1.2 compares weakly; without an ETag nothing matches, not even `*`."""
    assert matches('W/"a"', '"a"')
    assert not matches('"A"', '"a"')
    assert not matches("*", "")
