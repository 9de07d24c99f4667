"""`sizing warm` on a real server: it fills, goes on where it stopped, and says what is wrong."""

import pytest
from click.testing import CliRunner
from redis import Redis

from service.app import create_app
from service.cli import main
from service.settings import Settings
from tests.integration.conftest import RedisServer

CHOSEN = ["--model", "Qwen3-8B", "--model", "qwen3-14b", "--gpu", "rtx-4090", "--language", "de"]
NAMES = ("REDIS_URL", "CACHE_MEMORY_BYTES", "PUBLIC_URL")


@pytest.fixture
def redis_url(redis_server: RedisServer) -> str:
    """A server that holds nothing else."""
    return redis_server.url


@pytest.fixture
def warm(monkeypatch, redis_url: str):
    """The command on a server; other settings are at their defaults."""
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("REDIS_URL", redis_url)
    return lambda *options: CliRunner().invoke(main, ["warm", *options])


def test_fills_redis_and_goes_on_where_it_stopped(warm, redis_url: str) -> None:
    """The first run computes; the next finds all of it, and computes only what is new."""
    first = warm(*CHOSEN, "--section", "memory")
    assert first.exit_code == 0, first.output
    assert first.output.splitlines()[-1] == "2 computed, 0 already there, 0 failed"
    with Redis.from_url(redis_url) as client:
        assert len(client.keys("sizing:*")) == 2, "answers, and no lease that was left behind"
    second = warm(*CHOSEN, "--section", "memory", "--section", "summary")
    assert second.output.splitlines()[-1] == "2 computed, 2 already there, 0 failed"


def test_services_find_what_was_warmed(warm, redis_url: str) -> None:
    """A visitor's own spelling of the question is answered from Redis, in his encoding."""
    assert warm(*CHOSEN, "--section", "memory").exit_code == 0
    client = create_app(Settings(redis_url=redis_url)).test_client()
    path = "/v1/fragments/memory?lang=de&model=Qwen/Qwen3-8B&gpu=RTX-4090"
    answer = client.get(path, headers={"Accept": "text/html", "Accept-Encoding": "gzip"})
    assert (answer.status_code, answer.headers["X-Cache"]) == (200, "hit-redis")
    assert answer.headers["Content-Encoding"] == "gzip"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--model", "qwen3-9b"), "qwen3-9b is not known"),
        (("--gpu", "nothing-like-it"), "nothing-like-it is not known"),
    ],
)
def test_unknown_names_are_said(warm, options, said) -> None:
    """A misspelt name ends the command before anything is computed."""
    answer = warm(*options)
    assert answer.exit_code == 1
    assert said in answer.output


def test_a_section_that_cannot_be_answered_is_counted(warm) -> None:
    """What fails is counted, and the command ends with status 1."""
    answer = warm(*CHOSEN, "--section", "no-such-section")
    assert answer.exit_code == 1
    assert answer.output.splitlines()[-1] == "0 computed, 0 already there, 2 failed"


def test_without_redis_there_is_nothing_to_fill(monkeypatch) -> None:
    """Neither an unset address nor a dead server is a success."""
    monkeypatch.delenv("REDIS_URL", raising=False)
    assert "REDIS_URL is not set" in CliRunner().invoke(main, ["warm"]).output
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    answer = CliRunner().invoke(main, ["warm"])
    assert (answer.exit_code, "Redis does not answer" in answer.output) == (1, True)
