"""Stored encodings and aliases of the byte cache."""

import gzip
from collections import Counter

import pytest

from service.cache import ByteCache, CachedAnswer, MemoryCache, Tiers
from service.cache.aliases import Aliases
from service.cache.encodings import encoded, finished, negotiate_encoding
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
        ("gzip, deflate, br, zstd", "gzip"),
        ("br;q=1.0, gzip;q=0.8, *;q=0.1", "gzip"),
        ("*", "gzip"),
        ("*;q=0", ""),
        ("gzip;q=0", ""),
        ("gzip;q=0.000, *", ""),
        ("identity", ""),
        ("identity, gzip;q=0.5", ""),
        ("identity;q=0.5, gzip", "gzip"),
        ("br", ""),
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


def test_an_encoded_answer_is_the_same_content_under_its_own_tag():
    """gzip's bytes decode to the plain ones; length, coding and strong ETag are its own; Vary says so."""
    app = application()
    cache = cached(app)
    plain, packed = call(cache), call(cache, accept_encoding="gzip")
    assert gzip.decompress(packed[2]) == plain[2] == BODY
    assert len(packed[2]) < len(BODY) / 5
    assert (plain[1]["ETag"], packed[1]["ETag"]) == ('"v1"', '"v1-gzip"')
    assert packed[1]["Content-Encoding"] == "gzip"
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


def test_each_encoding_is_revalidated_by_its_own_tag():
    """304 for the tag of the negotiated encoding, weak as a proxy may make it; 200 for the other's."""
    cache = cached(application())
    for tag in ('"v1-gzip"', 'W/"v1-gzip"', '"x", "v1-gzip"'):
        status, headers, body, _ = call(cache, accept_encoding="gzip", if_none_match=tag)
        assert (status, body, headers["ETag"]) == (304, b"", '"v1-gzip"')
        assert headers["Vary"] == "Accept, Accept-Language, Accept-Encoding"
    assert call(cache, accept_encoding="gzip", if_none_match='"v1"')[0] == 200
    assert call(cache, if_none_match='"v1-gzip"')[0] == 200
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


def test_encoding_twice_changes_nothing():
    """Bytes do not depend on the time: equal answers have equal encodings."""
    answer = finished(CachedAnswer(200, HEADERS, BODY, '"v1"'))
    assert encoded(answer, "gzip") == encoded(answer, "gzip")
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


def test_aliases_are_bounded():
    """The least recently used alias makes room; a canonical address takes none."""
    aliases = Aliases(entries=2)
    for name in ("a", "b"):
        aliases.put(name, "canonical")
    assert aliases.get("a") == "canonical"
    aliases.put("c", "canonical")
    aliases.put("canonical", "canonical")
    assert (aliases.get("b"), aliases.get("a"), len(aliases)) == ("b", "canonical", 2)
