"""Text from a caller is inert wherever it comes out: HTML, Markdown, CSV, JSON, headers, redirects."""

import json
import re
from functools import cache
from html.parser import HTMLParser

import pytest

from service.api.browser_rules import FRAGMENT
from service.api.fields import Text
from service.api.matrix_question import QUERY_PARAMETERS
from service.api.schemas import LISTED, MEASURED, SCENARIO
from service.app import create_app
from service.settings import Settings

# Each has the letters "zqx", by which it is found again; none of it may become a tag, an attribute or a link.
PAYLOADS = [
    "<script>zqx()</script>",
    "\"><img src=zqx onerror=zqx()><a href='javascript:zqx()'>",
    "' onmouseover='zqx()' x='",
    "</section></title></style><svg onload=zqx()>",
    "{{ zqx() }}{% raw %}zqx{# zqx #}${zqx}",
    "[zqx](javascript:zqx()) ![zqx](//zqx.example/x) | zqx | `zqx` *zqx* <b>zqx</b>",
    '=HYPERLINK("http://zqx.example")',
    "@SUM(zqx)",
    "+zqx",
    "-zqx|' /C calc'!A0",
    "\tzqx",
    "zqx\r\nX-Zqx: yes\r\n\r\n<html>",
    "zqx\u2028\u202e\u0000\u0085zqx",
]
MARKED = "zqx"
HTML, MARKDOWN, JSON, CSV = "text/html", "text/markdown", "application/json", "text/csv"
TEXTS = [name for name, parameter in SCENARIO.items() if isinstance(parameter, Text)]
CONFIG = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "hidden_size": 1024,
    "num_hidden_layers": 2,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "intermediate_size": 3072,
    "vocab_size": 151_936,
    "max_position_embeddings": 40_960,
    "tie_word_embeddings": True,
}
CARD = {"name": "Card", "memory_gib": 24, "memory_bandwidth_gbs": 1000, "fp16_tflops": 100}


class Page(HTMLParser):
    """What a browser would make of a page: its tags, attributes and addresses."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]


def inert(answer):
    """Nothing that was sent became more than text."""
    text = answer.get_data(as_text=True)
    kind = answer.mimetype
    assert answer.headers.get("X-Content-Type-Options") == "nosniff"
    for name, value in answer.headers:
        assert "\r" not in value
        assert "\n" not in value
        assert name.lower() != "x-zqx"
    if kind == HTML:
        check_html(text)
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    elif kind == MARKDOWN:
        check_markdown(text)
    elif kind == CSV:
        check_csv(text)
    elif answer.status_code != 302:
        assert kind in (JSON, "application/problem+json", "application/xml"), kind
        if kind != "application/xml":
            json.loads(text)


def check_html(text):
    page = Page(text)
    assert not {tag for tag in page.tags if MARKED in tag}
    assert "img" not in page.tags
    for name, value in page.attributes:
        assert MARKED not in name
        assert not name.startswith("on"), (name, value)
        assert not value.lower().lstrip().startswith("javascript:"), value
        if name in ("href", "src", "action"):  # addresses of ours: the text is a value in their query
            assert value.startswith(("/", "#", "https://", "http://")), value
            assert MARKED not in value.split("?")[0], value


def check_markdown(text):
    code = re.sub(r"^(`{3,})[^\n]*\n.*?^\1$", "", text, flags=re.S | re.M)
    bare = re.sub(r"(?<!\\)(`+).*?(?<!`)\1(?!`)", "", re.sub(r"\\[^\w\s]", "", code))
    for line in bare.splitlines():
        if MARKED in line:
            assert not re.search(r"<[a-z/!]|\]\(|\*zqx|`", line), line


def check_csv(text):
    for line in text.split("\r\n"):
        for cell in re.findall(r'(?:^|,)("(?:[^"]|"")*"|[^,]*)', line):
            plain = cell[1:-1] if cell.startswith('"') else cell
            assert not re.match(r"[=+@\t\r-](?!\d)", plain), line


@cache
def client_with(**settings):
    """An application without a cache, so that every question is answered anew."""
    return create_app(Settings(cache_memory_bytes=0, **settings)).test_client()


@pytest.fixture
def browser():
    return client_with()


@pytest.mark.parametrize("payload", PAYLOADS)
@pytest.mark.parametrize("accept", [HTML, MARKDOWN, JSON])
def test_texts_of_a_scenario(browser, payload, accept):
    """Every text parameter of a scenario, by query, at every resource that takes it."""
    question = {"model": "qwen3-8b", "gpu": "rtx-4090"}
    for path in ("/v1/sizing", "/v1/fragments/memory", "/v1/report", "/report", "/"):
        # Many names with one value differ no more than their problems: the long pages see two of them.
        for name in (*TEXTS, payload) if path == "/v1/fragments/memory" else ("model", "lang"):
            query = {**question, name: payload}
            inert(browser.get(path, query_string=query, headers={"Accept": accept}))


@pytest.mark.parametrize("payload", PAYLOADS)
@pytest.mark.parametrize("accept", [HTML, JSON, CSV])
def test_texts_of_lists_and_matrices(browser, payload, accept):
    """Filters, cursors, names and axes of the lists."""
    texts = {name: QUERY_PARAMETERS[name] for name in ("models", "gpus", "quantizations", "family", "vendor")}
    for path, parameters in (
        ("/v1/matrix", texts),
        ("/v1/models", LISTED),
        ("/v1/gpus", LISTED),
        ("/v1/measurements", MEASURED),
        ("/v1/plan", dict.fromkeys(("model", "gpu", "gpus", "engine"))),
        ("/v1/finetuning", dict.fromkeys(("model", "gpu", "method", "targets"))),
    ):
        for name in parameters:
            inert(browser.get(path, query_string={name: payload}, headers={"Accept": accept}))


@pytest.mark.parametrize("payload", PAYLOADS)
def test_texts_of_paths(browser, payload):
    """Names in the path, and in the path of a problem."""
    for path in ("/v1/models/", "/v1/gpus/", "/v1/fragments/", "/problems/", "/assets/", "/"):
        for accept in (HTML, MARKDOWN, JSON):
            inert(browser.get(path + payload.replace("/", ""), headers={"Accept": accept}))


@pytest.mark.parametrize("payload", PAYLOADS)
@pytest.mark.parametrize("accept", [HTML, MARKDOWN, JSON])
def test_texts_of_a_posted_model_and_card(browser, payload, accept):
    """The name of a posted model, the texts of its config, and the name of a posted card."""
    bodies = [
        {"model_config": CONFIG, "model_name": payload, "gpu_spec": {**CARD, "name": payload}},
        {"model_config": {**CONFIG, "architectures": [payload]}, "gpu": "rtx-4090"},
        {"model_config": {**CONFIG, "model_type": payload, "torch_dtype": payload}, "gpu": "rtx-4090"},
        {"model_config": {**CONFIG, payload: payload}, "gpu": "rtx-4090"},
        {"model_config": {**CONFIG, "hidden_size": payload}, "gpu": "rtx-4090"},
        {"model": "qwen3-8b", "gpu_spec": {**CARD, payload: payload}},
        {"model": payload, "gpu": payload, payload: payload},
    ]
    shown = 0
    inert(browser.post("/v1/report", json=bodies[0], headers={"Accept": accept}))
    for body in bodies:
        for path in ("/v1/sizing", "/v1/fragments/memory", "/v1/fragments/commands", "/v1/costs"):
            answer = browser.post(path, json=body, headers={"Accept": accept})
            inert(answer)
            shown += MARKED in answer.get_data(as_text=True)
    assert shown >= 5, "the payloads are not shown anywhere: this test would see nothing"


@pytest.mark.parametrize("payload", PAYLOADS)
def test_texts_of_headers(browser, payload):
    """A header that comes back comes back whole and harmless, or not at all."""
    sendable = payload.replace("\r", "").replace("\n", "").encode("latin-1", "ignore").decode("latin-1")
    names = ("X-Request-ID", "traceparent", "Accept", "Accept-Language", "If-None-Match", "Origin", "Referer")
    for name in names:
        inert(browser.get("/v1/sizing?model=qwen3-8b&gpu=rtx-4090", headers={name: sendable}))
        inert(browser.get("/v1/none", headers={name: sendable}))


HOSTS = ["evil.example", "evil.example:80", "a.example@evil.example", "[::1]", "xn--zqx", '"><script>']


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("trusted", [0, 1])
def test_an_untrusted_host_is_never_repeated(host, trusted):
    """No link, redirect or header is built from what the caller or a proxy calls the service."""
    client = client_with(trusted_proxies=trusted)
    headers = {
        "Host": host,
        "X-Forwarded-Host": host,
        "X-Forwarded-Proto": "gopher",
        "X-Forwarded-Prefix": "/evil.example",
        "X-Forwarded-For": "evil.example",
        "Forwarded": f'host="{host}"',
        "X-Original-URL": "/evil.example",
    }
    for path in (
        "/",
        "/report?model=qwen3-8b",
        "/docs",
        "/problems/not-found",
        "/v1/models?limit=1",
        "/none",
    ):
        answer = client.get(path, headers=headers)
        assert answer.status_code in (200, 404)
        assert "evil.example" not in answer.get_data(as_text=True)
        assert "evil.example" not in str(answer.headers)


@pytest.mark.parametrize("host", HOSTS)
def test_links_are_built_from_the_public_address_only(host):
    """With PUBLIC_URL the canonical link names it, whatever the Host header says."""
    client = client_with(public_url="https://sizing.example.org", trusted_proxies=1)
    headers = {"Host": host, "X-Forwarded-Host": host}
    text = client.get("/report?model=qwen3-8b", headers=headers).get_data(as_text=True)
    [canonical] = re.findall(r'<link rel="canonical" href="([^"]+)"', text)
    assert canonical.startswith("https://sizing.example.org/report?")
    assert "evil.example" not in text


@pytest.mark.parametrize("path", ["/", "/report"])
@pytest.mark.parametrize("extra", ["", "&x=//evil.example", "&//evil.example=", "&x=%0d%0aX-Zqx:%20yes"])
def test_redirects_stay_here(client, path, extra):
    """The one redirect that there is leads to the same path, by a relative address, whatever is in it."""
    answer = client.get(f"{path}?engine=&model=qwen3-8b{extra}", headers={"Host": "evil.example"})
    assert answer.status_code == 302
    assert answer.headers["Location"].startswith(f"{path}?model=qwen3-8b")
    assert "\n" not in answer.headers["Location"]
    assert "X-Zqx" not in answer.headers


@pytest.mark.parametrize(
    "path", ["//evil.example", "/\\evil.example", "///evil.example/%2e%2e", "/%2f/evil.example", ""]
)
def test_no_path_is_a_redirect(client, path):
    """Doubled slashes, an empty path and their like are wrong addresses, not ways out."""
    answer = client.get("/", environ_overrides={"PATH_INFO": path, "HTTP_HOST": "evil.example"})
    assert answer.status_code == 404
    assert "evil.example" not in str(answer.headers)


@pytest.mark.parametrize("path", ["/", "/report?model=qwen3-8b", "/docs", "/problems/not-found"])
def test_pages_are_strict(client, path):
    """Pages load and run their own files only, may not be framed, and have no powers of the device."""
    answer = client.get(path)
    policy = dict(part.strip().split(" ", 1) for part in answer.headers["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert policy.get("script-src", "'self'") == "'self'"
    assert not re.search(r"unsafe|\*|https?:", answer.headers["Content-Security-Policy"])
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert "camera=()" in answer.headers["Permissions-Policy"]
    page = Page(answer.get_data(as_text=True))
    assert not [name for name, _ in page.attributes if name == "style" or name.startswith("on")]
    assert "style" not in page.tags


def test_who_may_frame_pages_is_a_setting():
    """FRAME_ANCESTORS names who may; the old header, which cannot, is then left out."""
    client = create_app(Settings(frame_ancestors="https://example.org")).test_client()
    headers = client.get("/docs").headers
    assert headers["Content-Security-Policy"].endswith("frame-ancestors https://example.org")
    assert "X-Frame-Options" not in headers


@pytest.mark.parametrize("method", ["get", "post"])
def test_fragments_may_be_framed_by_anyone(client, method):
    """A fragment shown by itself runs nothing and sends nothing, and any site may frame it."""
    question = {"model": "qwen3-8b", "gpu": "rtx-4090"}
    sent = {"query_string": question} if method == "get" else {"json": question}
    answer = getattr(client, method)("/v1/fragments/memory", headers={"Accept": HTML}, **sent)
    assert answer.headers["Content-Security-Policy"] == FRAGMENT
    assert "frame-ancestors *" in FRAGMENT
    assert "script-src" not in FRAGMENT
    assert "X-Frame-Options" not in answer.headers


@cache
def secure_client():
    return create_app(Settings(hsts_seconds=31_536_000)).test_client()


@pytest.mark.parametrize("path", ["/", "/v1/models", "/v1/none", "/health/live", "/embed.js"])
def test_transport_security_is_a_setting(client, path):
    """HSTS_SECONDS is told with every answer, kept or not; without it nothing is."""
    assert "Strict-Transport-Security" not in client.get(path).headers
    secure = secure_client()
    for _ in range(2):
        assert secure.get(path).headers["Strict-Transport-Security"] == "max-age=31536000"
    assert secure.post("/v1/sizing", json={}).headers["Strict-Transport-Security"] == "max-age=31536000"
