"""Which keys of answers change with the uploads, and which requests are never answered from the cache."""

import pytest

from service.api.cache_key import canonical, classify_with
from service.cache import ByteCache, MemoryCache, Tiers
from tests.unit.test_cache_middleware import call

MEASURED = [
    "/v1/measurements",
    "/v1/measurements/x",
    "/v1/sizing",
    "/v1/fragments/speed",
    "/v1/report",
    "/report",
]
OTHERS = ["/", "/v1/models", "/v1/matrix", "/v1/costs", "/v1/plan", "/docs"]


def asked(path, query="model=qwen3-8b", **headers):
    return {"PATH_INFO": path, "QUERY_STRING": query, "REQUEST_METHOD": "GET", **headers}


@pytest.mark.parametrize("path", MEASURED + OTHERS)
def test_only_addresses_with_measurements_depend_on_the_revision(path, catalog):
    """A publication makes those answers anew that may show it, and no other."""
    environ = asked(path)
    keys = [classify_with(lambda revision=revision: revision)(environ) for revision in "ab"]
    known = [canonical(catalog, lambda revision=revision: revision)(environ)[0] for revision in "ab"]
    assert (keys[0] != keys[1]) == (known[0] != known[1]) == (path in MEASURED)


@pytest.mark.parametrize("path", MEASURED + OTHERS)
def test_answers_for_the_owner_of_a_key_are_not_kept(path):
    """Below the measurements an API key decides what is shown; elsewhere it decides nothing."""
    private = path.startswith("/v1/measurements")
    key = classify_with(lambda: "")(asked(path, HTTP_AUTHORIZATION="Bearer x"))
    assert (key is None) == private


def test_a_new_revision_is_asked_for_with_the_next_request():
    """What was answered from memory is made again, once, as soon as the revision is another."""
    now, made = ["1"], []

    def application(environ, start_response):
        made.append(now[0])
        start_response("200 OK", [("ETag", f'"{now[0]}"'), ("Content-Type", "text/plain")])
        return [now[0].encode()]

    cache = ByteCache(
        application,
        Tiers("p:", MemoryCache()),
        classify_with(lambda: now[0]),
        revision=lambda: now[0],
    )
    bodies = []
    for revision in ("1", "1", "2", "2", "1"):
        now[0] = revision
        bodies.append(call(cache, "/v1/sizing")[2])
    assert bodies == [b"1", b"1", b"2", b"2", b"1"]
    assert made == ["1", "2"]
