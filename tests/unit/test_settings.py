"""Settings: every variable is read, checked at the start, and named when it is wrong."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from service.settings import InvalidSettings, Settings, read_settings
from service.version import VERSION

VARIABLES = {
    "HOST": "0.0.0.0",
    "PORT": "9000",
    "WEB_CONCURRENCY": "3",
    "THREADS": "5",
    "GRACEFUL_TIMEOUT_SECONDS": "7",
    "REDIS_URL": "redis://localhost:6379/1",
    "REDIS_CA_FILE": __file__,
    "TRUSTED_PROXIES": "2",
    "WARM_UP_SECONDS": "0.5",
    "CACHE_MEMORY_BYTES": "1000",
    "CACHE_MAX_AGE_SECONDS": "1",
    "CACHE_SHARED_MAX_AGE_SECONDS": "2",
    "CACHE_STALE_SECONDS": "3",
    "MAX_BODY_BYTES": "4096",
    "MAX_URL_BYTES": "1024",
    "PUBLIC_URL": "https://sizing.example.org",
    "LOG_LEVEL": "DEBUG",
    "PROMETHEUS_MULTIPROC_DIR": "metrics",
}


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch):
    for name in (*VARIABLES, "CONFIG_PATH"):
        monkeypatch.delenv(name, raising=False)


def test_defaults_stand_for_an_empty_environment():
    """Without variables the settings are the documented defaults."""
    assert read_settings() == Settings()
    assert (Settings().host, Settings().port, Settings().redis_url) == ("127.0.0.1", 8000, None)


def test_every_setting_comes_from_its_variable(monkeypatch, tmp_path):
    """Each field changes with its variable, and there is no field without one."""
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("CONFIG_PATH", str(tmp_path))
    read, default = read_settings(), Settings()
    unchanged = [f.name for f in fields(Settings) if getattr(read, f.name) == getattr(default, f.name)]
    assert unchanged == []
    assert (read.port, read.config_path) == (9000, tmp_path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "http"),
        ("PORT", "70000"),
        ("WEB_CONCURRENCY", "0"),
        ("CACHE_MEMORY_BYTES", "-1"),
        ("REDIS_URL", "localhost:6379"),
        ("REDIS_URL", "redis:localhost"),
        ("REDIS_URL", "redis://localhost:port"),
        ("REDIS_URL", "redis://a:6379,b:6379"),
        ("REDIS_URL", "redis+cluster://a:6379,b:none"),
        ("REDIS_URL", "redis+sentinel://a,b"),
        ("REDIS_CA_FILE", "/no/such/file"),
        ("TRUSTED_PROXIES", "-1"),
        ("WARM_UP_SECONDS", "61"),
        ("PUBLIC_URL", "sizing.example.org"),
        ("PUBLIC_URL", "https://sizing.example.org/?q=1"),
        ("LOG_LEVEL", "loud"),
        ("CONFIG_PATH", "/no/such/folder"),
    ],
)
def test_wrong_variable_is_named(monkeypatch, name, value):
    """A wrong value stops the start with a message that names its variable."""
    monkeypatch.setenv(name, value)
    with pytest.raises(InvalidSettings, match=rf"^{name}: "):
        read_settings()


def test_all_wrong_variables_are_named_at_once(monkeypatch):
    """One message names every wrong variable."""
    monkeypatch.setenv("PORT", "x")
    monkeypatch.setenv("THREADS", "x")
    with pytest.raises(InvalidSettings, match=r"PORT: .*; THREADS: "):
        read_settings()


def test_version_is_that_of_the_project():
    """The code's version is the one that pyproject.toml publishes."""
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    assert re.search(r'^version = "([^"]+)"', project, re.MULTILINE)[1] == VERSION
