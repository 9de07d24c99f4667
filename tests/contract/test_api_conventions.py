"""What holds for every resource: negotiation, language, caching, CORS, tracing, security headers."""

import re

import pytest

from service.app import create_app
from service.settings import Settings

QUESTION = {"model": "qwen3-8b", "gpu": "rtx-4090"}
MEMORY = "/v1/fragments/memory"
CACHED = [
    "/v1/sizing?model=qwen3-8b&gpu=rtx-4090",
    "/v1/fragments/memory?model=qwen3-8b&gpu=rtx-4090",
    "/v1/report?model=qwen3-8b&gpu=rtx-4090",
    "/report?model=qwen3-8b&gpu=rtx-4090",
    "/v1/models",
    "/v1/models/qwen3-8b",
    "/v1/gpus",
    "/v1/sections",
    "/openapi.json",
    "/docs",
    "/",
]


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        (None, "application/json"),
        ("*/*", "application/json"),
        ("text/html", "text/html"),
        ("text/markdown", "text/markdown"),
        ("text/*", "text/html"),
        ("text/html;q=0.2, text/markdown;q=0.9", "text/markdown"),
        ("text/html;q=0, */*", "application/json"),
        ("application/json;q=0, */*;q=0.1", "text/html"),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "text/html"),
        ("application/json; charset=utf-8", "application/json"),
        ("garbage", "application/json"),
    ],
)
def test_accept_chooses_the_representation(client, accept, expected):
    """The most specific range decides each type's quality, and the highest quality wins."""
    answer = client.get(MEMORY, query_string=QUESTION, headers={"Accept": accept} if accept else {})
    assert answer.status_code == 200
    assert answer.mimetype == expected
    assert "Accept" in answer.headers["Vary"]


def test_not_acceptable_comes_after_the_parameters(client):
    """A refused media type is 406, but wrong parameters are named first."""
    refused = {"Accept": "image/png, */*;q=0"}
    assert client.get("/v1/sizing", query_string=QUESTION, headers=refused).status_code == 406
    wrong = {**QUESTION, "gpu_count": "0"}
    assert client.get("/v1/sizing", query_string=wrong, headers=refused).status_code == 422
    unknown = {**QUESTION, "model": "no-such-model"}
    assert client.get("/v1/sizing", query_string=unknown, headers=refused).status_code == 404


@pytest.mark.parametrize("path", ["/", "/report?model=qwen3-8b&gpu=rtx-4090", "/docs"])
def test_pages_are_html_by_default(client, path):
    """Pages for people are HTML without an Accept header, and may not load or run anything foreign."""
    answer = client.get(path)
    assert answer.mimetype == "text/html"
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy
    text = answer.get_data(as_text=True)
    assert not re.search(r'<script(?! type="module" src="/assets/)', text)
    assert 'style="' not in text


@pytest.mark.parametrize(
    ("lang", "accept", "expected"),
    [
        (None, None, "en"),
        (None, "de-AT,de;q=0.9,en;q=0.5", "de"),
        (None, "zh-CN,zh;q=0.9", "zh-Hans"),
        (None, "fr", "en"),
        ("de", "zh", "de"),
        ("zh-TW", None, "zh-Hans"),
        ("zh-Hans", "de", "zh-Hans"),
        ("en-GB", "de", "en"),
    ],
)
def test_language_is_negotiated(client, lang, accept, expected):
    """`lang` beats Accept-Language, which beats English; the answer says which language it speaks."""
    query = {**QUESTION, **({"lang": lang} if lang else {})}
    answer = client.get(MEMORY, query_string=query, headers={"Accept-Language": accept} if accept else {})
    assert answer.headers["Content-Language"] == expected
    assert "Accept-Language" in answer.headers["Vary"]


@pytest.mark.parametrize("path", CACHED)
def test_answers_can_be_kept_and_revalidated(client, path):
    """Every GET has a strong ETag and freshness; If-None-Match gives 304 with the same validators."""
    answer = client.get(path)
    etag = answer.headers["ETag"]
    assert etag.startswith('"')
    for directive in ("max-age=", "s-maxage=", "stale-while-revalidate="):
        assert directive in answer.headers["Cache-Control"]
    again = client.get(path, headers={"If-None-Match": etag})
    assert again.status_code == 304
    assert again.data == b""
    assert again.headers["ETag"] == etag
    assert again.headers["Vary"] == answer.headers["Vary"]
    assert client.get(path, headers={"If-None-Match": '"other"'}).status_code == 200


def test_etag_follows_language_and_representation(client):
    """Different bytes have different validators, equal bytes the same."""
    tags = {
        client.get(MEMORY, query_string={**QUESTION, "lang": lang}, headers={"Accept": accept}).headers[
            "ETag"
        ]
        for lang in ("de", "en", "zh")
        for accept in ("application/json", "text/html", "text/markdown")
    }
    assert len(tags) == 9
    by_header = client.get(MEMORY, query_string=QUESTION, headers={"Accept-Language": "de"}).headers["ETag"]
    assert by_header in tags


def test_head_has_the_headers_of_get(client):
    """HEAD answers as GET without a body."""
    head = client.head("/v1/models")
    assert head.status_code == 200
    assert head.data == b""
    assert head.headers["ETag"] == client.get("/v1/models").headers["ETag"]


def test_reading_is_open_to_every_site(client):
    """GET and its preflight carry CORS headers, also on problems; POST is not opened."""
    assert client.get("/v1/models").headers["Access-Control-Allow-Origin"] == "*"
    assert client.get("/v1/nothing").headers["Access-Control-Allow-Origin"] == "*"
    preflight = client.options(
        "/v1/sizing", headers={"Origin": "https://example.org", "Access-Control-Request-Method": "GET"}
    )
    assert preflight.status_code == 200
    assert "GET" in preflight.headers["Access-Control-Allow-Methods"]
    assert "Access-Control-Allow-Origin" not in client.post("/v1/sizing", json=QUESTION).headers


def test_request_id_is_echoed_or_made(client):
    """A well-formed X-Request-ID comes back; anything else is replaced, never reflected."""
    assert client.get("/v1/models", headers={"X-Request-ID": "abc-123"}).headers["X-Request-ID"] == "abc-123"
    for bad in ("a b", "x" * 129, "<script>"):
        made = client.get("/v1/models", headers={"X-Request-ID": bad}).headers["X-Request-ID"]
        assert made != bad
        assert made.isalnum()


def test_traceparent_is_passed_on(client):
    """A well-formed W3C trace context is passed on."""
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    assert client.get("/v1/models", headers={"traceparent": trace}).headers["traceparent"] == trace
    assert "traceparent" not in client.get("/v1/models", headers={"traceparent": "x"}).headers


@pytest.mark.parametrize("path", ["/", "/v1/models", "/v1/nothing", "/metrics", "/health/live"])
def test_content_is_never_sniffed(client, path):
    """Every answer forbids content sniffing."""
    assert client.get(path).headers["X-Content-Type-Options"] == "nosniff"


def test_probes_say_what_is_running(client, catalog):
    """The process is alive, ready without a shared cache, and names its version and data."""
    assert client.get("/health/live").json == {"status": "ok"}
    ready = client.get("/health/ready")
    assert ready.status_code == 200
    assert ready.json["cache"] == {"backend": "memory"}
    assert ready.headers["Cache-Control"] == "no-store"
    info = client.get("/health/info").json
    assert info["data_digest"] == catalog.digest
    assert info["models"] == len(catalog.models)


def test_metrics_count_requests_by_route(client):
    """Requests are counted under their route, not their path, so that labels stay bounded."""
    client.get("/v1/models/qwen3-8b")
    text = client.get("/metrics").get_data(as_text=True)
    assert 'route="/v1/models/<path:name>"' in text
    assert "qwen3-8b" not in text
    assert "sizing_build_info{" in text


def test_second_answer_is_the_kept_one(client):
    """A repeated question is answered from memory with the same bytes and validators."""
    first = client.get("/v1/sizing", query_string={**QUESTION, "context_tokens": 12_345})
    second = client.get("/v1/sizing", query_string={**QUESTION, "context_tokens": 12_345})
    assert first.headers["X-Cache"] == "miss"
    assert second.headers["X-Cache"] == "hit-memory"
    assert second.data == first.data
    for name in ("ETag", "Vary", "Cache-Control", "Content-Language", "Content-Type"):
        assert second.headers[name] == first.headers[name]
    assert second.headers["X-Request-ID"] != first.headers["X-Request-ID"]


def test_application_revalidates_without_the_cache():
    """ETag and 304 are the application's own: they do not need the cache in front."""
    bare = create_app(Settings(cache_memory_bytes=0)).test_client()
    etag = bare.get("/v1/languages").headers["ETag"]
    assert bare.get("/v1/languages", headers={"If-None-Match": etag}).status_code == 304
    assert bare.get("/v1/languages").headers["X-Cache"] == "miss"


@pytest.mark.parametrize("path", ["/health/live", "/health/ready", "/metrics"])
def test_probes_are_never_kept(client, path):
    """What is about the moment does not pass through the cache."""
    assert "X-Cache" not in client.get(path).headers
