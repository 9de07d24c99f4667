"""Rate limits that processes share through Redis, and what becomes of them when it is away."""

import time

import pytest

from service.app import create_app
from service.settings import Settings

ADDRESS = {"REMOTE_ADDR": "192.0.2.9"}


def ask(app, name):
    """The status of a question that nobody asked before."""
    return app.test_client().get(f"/v1/models/none-{name}", environ_overrides=ADDRESS)


def limited(url, rate):
    return create_app(Settings(redis_url=url, rate_limit_misses=rate))


def test_processes_count_together(redis_server):
    """Two processes with one Redis let a caller have what one of them alone would."""
    first, second = (limited(redis_server.url, "4/hour") for _ in range(2))
    statuses = [ask(app, f"{number}").status_code for number in range(3) for app in (first, second)]
    assert statuses == [404, 404, 404, 404, 429, 429]
    refused = ask(first, "again")
    assert 0 < int(refused.headers["Retry-After"]) <= 3600


def test_a_window_ends(redis_server):
    """A limit that is used up is open again when its window ends, and its count leaves Redis by itself."""
    app = limited(redis_server.url, "1/second")
    assert [ask(app, f"w{number}").status_code for number in range(2)] == [404, 429]
    for _ in range(100):
        if ask(app, "later").status_code == 404:
            break
        time.sleep(0.1)
    else:
        pytest.fail("the window does not end")


@pytest.mark.parametrize("harm", ["kill", "freeze"])
def test_without_redis_each_process_counts_for_itself(redis_server, harm):
    """Redis that is gone or does not answer is no error: every question is answered, and still limited."""
    app = limited(redis_server.url, "6/hour")
    assert ask(app, "0").status_code == 404
    getattr(redis_server, harm)()
    statuses = [ask(app, f"{harm}{number}").status_code for number in range(8)]
    assert statuses == [404] * 6 + [429] * 2


def test_a_full_redis_is_no_error(full_redis_server):
    """A Redis that takes no writes leaves the counting to the process."""
    app = limited(full_redis_server.url, "2/hour")
    assert [ask(app, f"f{number}").status_code for number in range(3)] == [404, 404, 429]


def test_redis_holds_no_address(redis_server):
    """What is stored about a caller does not show its address."""
    import redis

    ask(limited(redis_server.url, "2/hour"), "0")
    with redis.Redis.from_url(redis_server.url) as client:
        keys = client.keys("sizing:limit:*")
    assert len(keys) == 1
    assert b"192.0.2" not in keys[0]
