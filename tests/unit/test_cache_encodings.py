"""Stored encodings and aliases of the byte cache."""

import gzip
from collections import Counter

import brotli
import pytest
import zstandard

from service.cache import ByteCache, CachedAnswer, MemoryCache, Tiers
from service.cache.aliases import Aliases
from service.cache.encodings import CODINGS, encoded, finished, negotiate_encoding
from service.cache.memory import Entry
from tests.unit.test_cache_middleware import call, classify

BODY = b'{"weights_bytes": 123456789}' * 100
HEADERS = (("Content-Type", "application/json"), ("ETag", '"v1"'), ("Vary", "Accept, Accept-Language"))


def application(body: bytes = BODY, **others: str):
    """An application that counts its calls in `calls`, by query."""
    headers = {**dict(HEADERS), **{name.replace("_", "-"): value for name, value in others.items()}}
    calls: Counter[str] = Counter()

    def app(environ, start_response):
        calls[environ["QUERY_STRING"]] += 1
        assert "HTTP_ACCEPT_ENCODING" not in environ
        start_response("200 OK", list(headers.items()))
        return [body]

    app.calls = calls
    return app


def cached(app, **options) -> ByteCache:
    return ByteCache(app, Tiers("p:", MemoryCache()), classify, **options)


@pytest.mark.parametrize(
    ("header", "coding"),
    [
        ("", ""),
        ("gzip", "gzip"),
        ("x-gzip", "gzip"),
        ("GZIP;q=0.5", "gzip"),
        ("gzip, deflate, br, zstd", "br"),
        ("gzip, deflate, zstd", "zstd"),
        ("br;q=1.0, gzip;q=0.8, *;q=0.1", "br"),
        ("br;q=0.5, zstd;q=0.7, gzip;q=0.6", "zstd"),
        ("br;q=0.5, gzip", "gzip"),
        ("br;q=0, zstd;q=0, *", "gzip"),
        ("deflate", ""),
        ("*", "br"),
        ("*;q=0", ""),
        ("gzip;q=0", ""),
        ("gzip;q=0.000, *", "br"),
        ("br;q=0, zstd;q=0, gzip;q=0, *", ""),
        ("zstd;q=0.001", "zstd"),
        ("identity", ""),
        ("identity, gzip;q=0.5", ""),
        ("identity;q=0.5, gzip", "gzip"),
        ("br", "br"),
        ("BR", "br"),
        ("gzip;q=2", ""),
        ("gzip ; q=0.3", "gzip"),
        ("identity;q=0", ""),
        (",,;;", ""),
        ("gzip" + "," * 100_000, "gzip"),
    ],
)
def test_accept_encoding_is_read_as_the_rfc_says(header, coding):
    """RFC 9110 12.5.3: qualities count, `*` is any other, what is malformed is left out."""
    assert negotiate_encoding(header) == coding


DECODE = {"gzip": gzip.decompress, "br": brotli.decompress, "zstd": zstandard.decompress}


def test_every_coding_is_tried():
    """The tests below hold for all encodings that the service has."""
    assert DECODE.keys() == set(CODINGS)


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("body", [BODY, BODY * 500], ids=["small", "large"])
def test_an_encoded_answer_is_the_same_content_under_its_own_tag(coding, body):
    """The bytes decode to the plain ones; length, coding and strong ETag are its own; Vary says so."""
    app = application(body)
    cache = cached(app)
    plain, packed = call(cache), call(cache, accept_encoding=coding)
    assert DECODE[coding](packed[2]) == plain[2] == body
    assert len(packed[2]) < len(body) / 5
    assert (plain[1]["ETag"], packed[1]["ETag"]) == ('"v1"', f'"v1-{coding}"')
    assert packed[1]["Content-Encoding"] == coding
    assert packed[1]["Content-Length"] == str(len(packed[2]))
    assert "Content-Encoding" not in plain[1]
    assert plain[1]["Vary"] == packed[1]["Vary"] == "Accept, Accept-Language, Accept-Encoding"
    assert app.calls.total() == 1


def test_an_answer_is_compressed_once(monkeypatch):
    """The second client gets the bytes that were made for the first."""
    made = []
    real = gzip.compress
    monkeypatch.setattr(gzip, "compress", lambda *given, **named: made.append(1) or real(*given, **named))
    cache = cached(application())
    bodies = [call(cache, accept_encoding="gzip")[2] for _ in range(3)]
    assert (len(made), len(set(bodies))) == (1, 1)
    assert call(cache, accept_encoding="gzip")[1]["X-Cache"] == "hit-memory"


@pytest.mark.parametrize("coding", CODINGS)
def test_each_encoding_is_revalidated_by_its_own_tag(coding):
    """304 for the tag of the negotiated encoding, weak as a proxy may make it; 200 for any other's."""
    cache, own = cached(application()), f'"v1-{coding}"'
    for tag in (own, f"W/{own}", f'"x", {own}'):
        status, headers, body, _ = call(cache, accept_encoding=coding, if_none_match=tag)
        assert (status, body, headers["ETag"]) == (304, b"", own)
        assert headers["Vary"] == "Accept, Accept-Language, Accept-Encoding"
        assert "Content-Encoding" not in headers
    for other in {"", *CODINGS} - {coding}:
        assert call(cache, accept_encoding=other, if_none_match=own)[0] == 200
    assert call(cache, accept_encoding=coding, if_none_match='"v1"')[0] == 200
    assert call(cache, if_none_match='"v1"')[0] == 304


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b"{}" * 511, {}),
        (BODY, {"Content_Type": "image/png"}),
        (BODY, {"Content_Encoding": "br"}),
        (BODY, {"Cache_Control": "public, no-transform"}),
    ],
)
def test_what_gains_nothing_is_not_compressed(body, headers):
    """Small bodies, images, encoded bodies and those that forbid it have one form, so nothing varies."""
    cache = cached(application(body, **headers))
    for _ in range(2):
        _, given, sent, _ = call(cache, accept_encoding="gzip")
        assert sent == body
        assert given["ETag"] == '"v1"'
        assert given["Vary"] == "Accept, Accept-Language"


def test_head_of_an_encoded_answer_has_its_length():
    """HEAD says what GET would send."""
    cache = cached(application())
    length = str(len(call(cache, accept_encoding="gzip")[2]))
    _, headers, body, _ = call(cache, method="HEAD", accept_encoding="gzip")
    assert (body, headers["Content-Length"], headers["Content-Encoding"]) == (b"", length, "gzip")


@pytest.mark.parametrize("coding", CODINGS)
def test_encoding_twice_changes_nothing(coding):
    """Bytes do not depend on the time: equal answers have equal encodings."""
    answer = finished(CachedAnswer(200, HEADERS, BODY, '"v1"'))
    assert encoded(answer, coding) == encoded(answer, coding)
    assert set(finished(answer).headers) == set(answer.headers)


def by_sorting(environ):
    """Key and query with the parameters in order."""
    query = "&".join(sorted(environ["QUERY_STRING"].split("&")))
    return classify({**environ, "QUERY_STRING": query}) + query, query


def test_addresses_that_ask_the_same_share_one_computation():
    """The application sees the canonical query once; the other spelling is a hit the first time already."""
    app = application()
    cache = cached(app, canonical=by_sorting)
    seen = [call(cache, query=query)[1]["X-Cache"] for query in ("b=2&a=1", "a=1&b=2", "b=2&a=1")]
    assert seen == ["miss", "hit-memory", "hit-memory"]
    assert app.calls == {"a=1&b=2": 1}


def test_a_known_address_is_not_parsed_again():
    """An alias is found by the address as it was sent."""
    parsed = []
    cache = cached(application(), canonical=lambda environ: parsed.append(1) or by_sorting(environ))
    for _ in range(5):
        call(cache, query="b=2&a=1")
    assert len(parsed) == 1


def test_known_requests_are_bounded_by_their_bytes():
    """The oldest makes room, and nobody fills the memory with long addresses or headers."""
    aliases = Aliases(max_bytes=100_000)
    entry = Entry(finished(CachedAnswer(200, HEADERS, BODY, '"v1"')), 1)
    for number in range(10_000):
        aliases.put(("p", f"/{number}"), entry)
    assert 50 < len(aliases) < 200
    assert aliases.get(("p", "/9999")) is entry
    assert aliases.get(("p", "/0")) is None
    aliases.put(("p", "x" * 50_000), entry)
    assert aliases.get(("p", "x" * 50_000)) is None


def test_what_left_the_memory_is_not_served_by_a_known_address():
    """An answer that was evicted, forgotten or replaced is found again, not kept alive by its addresses."""
    memory = MemoryCache()
    app = application()
    cache = ByteCache(app, Tiers("p:", memory), classify)
    for _ in range(2):
        call(cache)
    memory.clear()
    assert call(cache)[1]["X-Cache"] == "miss"
    assert app.calls.total() == 2
    [(key, entry)] = memory._entries.items()
    memory.put(key, finished(CachedAnswer(200, (*HEADERS[:1], ("ETag", '"v2"')), b"{}", '"v2"')))
    assert entry.prepared is None
    assert call(cache)[1]["ETag"] == '"v2"'
    assert call(cache)[2] == b"{}"


def test_another_prefix_forgets_what_was_known():
    """New facts under a running process: what was known before is asked for again, and found apart."""
    app = application()
    tiers = Tiers("one:", MemoryCache())
    cache = ByteCache(app, tiers, classify)
    seen = [call(cache)[1]["X-Cache"], call(cache)[1]["X-Cache"]]
    tiers.prefix = "two:"
    seen += [call(cache)[1]["X-Cache"], call(cache)[1]["X-Cache"]]
    assert seen == ["miss", "hit-memory"] * 2
    assert app.calls.total() == 2
