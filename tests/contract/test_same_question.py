"""Which addresses ask the same, through the whole service; and proxies, drains and what is prepared."""

import pytest
from flask import request

from service.api.warming import first_addresses, warm_up
from service.app import create_app, prepare
from service.settings import Settings

QUESTION = "model=qwen3-8b&gpu=rtx-4090&context_tokens=7777"
SAME = [
    "context_tokens=7777&gpu=rtx-4090&model=qwen3-8b",
    "gpu=RTX-4090&model=Qwen3-8B&context_tokens=7777",
    "model=Qwen/Qwen3-8B&gpu=rtx-4090&context_tokens=7777",
    "model=Qwen%2FQwen3-8B&gpu=rtx%2D4090&context_tokens=7777",
]


@pytest.fixture(scope="module")
def fresh():
    """A service that has answered nothing."""
    return create_app(Settings()).test_client()


@pytest.mark.parametrize("path", ["/v1/sizing", "/v1/fragments/memory"])
def test_order_case_and_aliases_do_not_matter(fresh, path):
    """One computation for every spelling of a question, and the same bytes."""
    first = fresh.get(f"{path}?{QUESTION}")
    assert (first.status_code, first.headers["X-Cache"]) == (200, "miss")
    for query in SAME:
        again = fresh.get(f"{path}?{query}")
        assert (again.headers["X-Cache"], again.data) == ("hit-memory", first.data), query


def test_a_language_that_is_asked_for_outweighs_every_header(fresh):
    """With `lang` browsers of all languages share an answer; without it they do not."""
    path = f"/v1/fragments/memory?{QUESTION}&lang="
    seen = [
        fresh.get(path + lang, headers={"Accept-Language": header}).headers["X-Cache"]
        for lang, header in [("de", "fr"), ("de", "zh-CN"), ("de-AT", "en"), ("DE", "de")]
    ]
    assert seen == ["miss", "hit-memory", "hit-memory", "hit-memory"]
    assert fresh.get(path + "zh", headers={"Accept-Language": "de"}).headers["Content-Language"] == "zh-Hans"


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("model=qwen3-8b&gpu=rtx-4090&gpu=rtx-4090", 422),
        ("model=qwen3-8b&gpu=", 422),
        ("model=qwen3-8b&gpu=rtx-4090&lang=xx", 422),
        ("model=no-such-model&gpu=rtx-4090", 404),
        ("model=" + "qwen3-8b " * 30 + "&gpu=rtx-4090", 422),
    ],
)
def test_faults_stay_faults(fresh, query, status):
    """What is wrong with an address is told as it was sent, each time, and not kept."""
    for _ in range(2):
        answer = fresh.get(f"/v1/sizing?{query}")
        assert (answer.status_code, answer.headers["X-Cache"]) == (status, "miss")


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [("gzip", "gzip"), ("gzip, deflate, br, zstd", "br"), ("gzip;q=0.5, zstd", "zstd")],
)
def test_encodings_of_the_service(fresh, accepted, coding):
    """A real answer is offered in each encoding under a tag of its own, and is revalidated with it."""
    path = f"/v1/fragments/memory?{QUESTION}"
    packed = fresh.get(path, headers={"Accept-Encoding": accepted})
    plain = fresh.get(path)
    assert packed.headers["Content-Encoding"] == coding
    assert packed.headers["ETag"] != plain.headers["ETag"]
    assert "Accept-Encoding" in plain.headers["Vary"]
    sent = {"Accept-Encoding": accepted, "If-None-Match": packed.headers["ETag"]}
    assert fresh.get(path, headers=sent).status_code == 304


@pytest.mark.parametrize(
    ("trusted", "expected"),
    [
        (0, ("127.0.0.1", "http", "localhost")),
        (1, ("198.51.100.7", "https", "sizing.example.org")),
        (2, ("203.0.113.9", "https", "sizing.example.org")),
    ],
)
def test_forwarded_headers_count_as_far_as_proxies_are_trusted(trusted, expected):
    """Without the setting nobody's X-Forwarded-* is believed; with it the given number of proxies are."""
    app = create_app(Settings(trusted_proxies=trusted))
    seen = []

    @app.post("/probe")
    def probe():
        seen.append((request.remote_addr, request.scheme, request.host))
        return ""

    forwarded = {
        "X-Forwarded-For": "192.0.2.1, 203.0.113.9, 198.51.100.7",
        "X-Forwarded-Proto": "https, https",
        "X-Forwarded-Host": "sizing.example.org, sizing.example.org",
    }
    app.test_client().post("/probe", headers=forwarded)
    assert seen == [expected]


def test_what_is_prepared_is_answered_from_memory():
    """After preparing the first visitor's page comes from memory."""
    app = create_app(Settings())
    assert prepare(app, 0) == 0
    parts = app.extensions["sizing"]
    first = next(first_addresses(parts.catalog))
    assert warm_up(parts.own, [first], 60) == 1
    answer = app.test_client().get(f"{first.path}?{first.query}", headers={"Accept": first.accept})
    assert (answer.status_code, answer.headers["X-Cache"]) == (200, "hit-memory")


def test_preparing_stops_when_its_time_is_over():
    """A slow machine starts late by the given time, not by the length of the list."""
    parts = create_app(Settings()).extensions["sizing"]
    ticks = iter(range(100))
    answered = warm_up(parts.own, first_addresses(parts.catalog), 3, clock=lambda: next(ticks))
    assert answered == 2


def test_everything_that_is_prepared_is_an_address(app):
    """Each address of the list that is not a model's is answered with 200."""
    client = app.test_client()
    others = [a for a in first_addresses(app.extensions["sizing"].catalog) if a.path != "/v1/sizing"]
    for address in others:
        headers = {"Accept": address.accept} if address.accept else {}
        assert client.get(f"{address.path}?{address.query}", headers=headers).status_code == 200, address
