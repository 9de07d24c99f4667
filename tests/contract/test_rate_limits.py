"""Rate limits: what is computed and what is written is limited by caller, what is kept never."""

import re
from dataclasses import replace

import pytest

from service.api.rate_limits import network
from service.app import create_app
from service.settings import Settings
from tests.uploads import Site

SIZING = "/v1/sizing?model=qwen3-8b&gpu=rtx-4090"


def app_with(**settings):
    return create_app(Settings(**settings))


def asked(client, context, address="192.0.2.1", **options):
    """A question that nobody asked before when `context` is new."""
    path = f"{SIZING}&context_tokens={context}"
    return client.get(path, environ_overrides={"REMOTE_ADDR": address}, **options)


def remaining(answer):
    return int(re.search(r"r=(\d+)", answer.headers["RateLimit"])[1])


def test_misses_are_limited_by_caller():
    """The limit of one address does not touch another; what is over it is a 429 that says until when."""
    client = app_with(rate_limit_misses="3/hour").test_client()
    assert [asked(client, context).status_code for context in (1001, 1002, 1003, 1004)] == [200] * 3 + [429]
    refused = asked(client, 1005)
    assert refused.json["type"] == "/problems/too-many-requests"
    assert 0 < int(refused.headers["Retry-After"]) <= 3600
    assert refused.headers["Cache-Control"] == "no-store"
    assert remaining(refused) == 0
    assert asked(client, 1005, address="192.0.2.2").status_code == 200


def test_what_is_kept_is_never_limited():
    """A caller whose limit is used up still gets every answer that is kept, also as a 304."""
    client = app_with(rate_limit_misses="2/hour").test_client()
    first = asked(client, 2001)
    assert [asked(client, context).status_code for context in (2002, 2003)] == [200, 429]
    for _ in range(20):
        again = asked(client, 2001)
        assert (again.status_code, again.headers["X-Cache"]) == (200, "hit-memory")
    assert asked(client, 2001, headers={"If-None-Match": first.headers["ETag"]}).status_code == 304


def test_headers_tell_the_limit_and_are_not_kept():
    """A computed answer says what is left in the form of the IETF draft; a kept one says nothing of it."""
    client = app_with(rate_limit_misses="5/minute").test_client()
    first = asked(client, 3001)
    assert first.headers["RateLimit-Policy"] == '"misses";q=5;w=60'
    assert re.fullmatch(r'"misses";r=4;t=\d{1,2}', first.headers["RateLimit"])
    assert remaining(asked(client, 3002)) == 3
    kept = asked(client, 3001)
    assert kept.headers["X-Cache"] == "hit-memory"
    assert not {"RateLimit", "RateLimit-Policy"} & set(kept.headers.keys())
    assert "RateLimit" in first.headers["Access-Control-Expose-Headers"]


def test_heavy_questions_count_several_times():
    """A plan costs five points, a body two, the files of a model ten."""
    client = app_with(rate_limit_misses="100/minute").test_client()
    before = remaining(asked(client, 4001))
    after_plan = remaining(
        client.get("/v1/plan?model=qwen3-8b", environ_overrides={"REMOTE_ADDR": "192.0.2.1"})
    )
    assert before - after_plan == 5
    body = {"model": "qwen3-8b", "gpu": "rtx-4090"}
    posted = client.post("/v1/sizing", json=body, environ_overrides={"REMOTE_ADDR": "192.0.2.1"})
    assert after_plan - remaining(posted) == 2
    after_body = remaining(posted)
    inspected = client.post(
        "/v1/models/inspect", json={"config": {}}, environ_overrides={"REMOTE_ADDR": "192.0.2.1"}
    )
    assert after_body - remaining(inspected) == 10


@pytest.mark.parametrize("path", ["/health/live", "/health/ready", "/metrics", "/assets/report.css"])
def test_probes_and_assets_are_free(path):
    """Whoever watches the service is never refused."""
    client = app_with(rate_limit_misses="1/hour").test_client()
    assert [client.get(path).status_code for _ in range(3)] == [200] * 3


def test_problems_count_too():
    """Asking for nothing that exists is no way around the limit."""
    client = app_with(rate_limit_misses="3/hour").test_client()
    statuses = [client.get(f"/v1/models/none-{number}").status_code for number in range(4)]
    assert statuses == [404, 404, 404, 429]
    assert client.get("/nowhere").status_code == 429


@pytest.mark.parametrize("lang", ["de", "zh", "en"])
def test_the_refusal_names_the_limit(lang):
    """The problem speaks the caller's language and names the limit."""
    client = app_with(rate_limit_misses="1/minute").test_client()
    client.get("/v1/models/none-1")
    refused = client.get(f"/v1/models/none-2?lang={lang}")
    assert refused.status_code == 429
    assert sorted(re.findall(r"\d+", refused.json["detail"])) == ["1", "60"]
    assert refused.headers["Content-Language"].startswith(lang)


def test_writes_have_a_limit_of_their_own():
    """Writes are limited by default, and do not use up the limit of questions."""
    client = app_with(rate_limit_writes="2/minute", rate_limit_misses="100/minute").test_client()
    answers = [client.post("/v1/measurements", json={}) for _ in range(3)]
    assert answers[2].status_code == 429
    assert answers[0].status_code != 429
    assert answers[0].headers["RateLimit-Policy"] == '"writes";q=2;w=60'
    assert remaining(client.get("/v1/models/none-1")) == 99


def test_a_key_has_one_limit_from_all_its_addresses(tmp_path):
    """Writes of one API key count together; another key at the same time is not refused."""
    site = Site(tmp_path)
    client = create_app(replace(site.settings, rate_limit_writes="3/minute")).test_client()

    def write(key, number):
        place = {"REMOTE_ADDR": f"192.0.2.{number}"}
        return client.post("/v1/measurements", json={}, headers=key, environ_overrides=place)

    answers = [write(site.submitter, number) for number in range(4)]
    assert [answer.status_code for answer in answers] == [422, 422, 422, 429]
    assert 0 < int(answers[3].headers["Retry-After"]) <= 60
    assert write(site.reviewer, 9).status_code != 429


def test_without_limits_there_are_no_headers():
    """Limits that are off leave no trace."""
    client = app_with(rate_limit_writes=None).test_client()
    assert "RateLimit" not in asked(client, 5001).headers
    assert "RateLimit" not in client.post("/v1/measurements", json={}).headers


def test_the_caller_is_the_one_before_the_proxies():
    """Behind a trusted proxy the forwarded address counts; without one the header is not believed."""
    for trusted, expected in ((1, [200, 200]), (0, [200, 429])):
        client = app_with(rate_limit_misses="1/hour", trusted_proxies=trusted).test_client()
        statuses = [
            asked(client, 6001 + number, headers={"X-Forwarded-For": f"198.51.100.{number}"}).status_code
            for number in range(2)
        ]
        assert statuses == expected


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", "unknown"),
        ("unix:", "unix:"),
    ],
)
def test_an_ipv6_caller_is_its_network(address, expected):
    """One customer has 2^64 addresses: they count as one."""
    assert network(address) == expected
