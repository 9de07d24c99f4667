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
    "MAX_HEADER_BYTES": "2048",
    "MAX_PENDING_PER_KEY": "100",
    "RATE_LIMIT_MISSES": "10/second",
    "RATE_LIMIT_WRITES": "off",
    "HSTS_SECONDS": "60",
    "FRAME_ANCESTORS": "'self'",
    "PUBLIC_URL": "https://sizing.example.org",
    "LOG_LEVEL": "DEBUG",
    "PROMETHEUS_MULTIPROC_DIR": "metrics",
    "STATE_PATH": "elsewhere",
    "DATABASE_URL": "postgresql://sizing@localhost/sizing",
    "TRACING_ENDPOINT": "http://collector:4318/v1/traces",
}


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch):
    for name in (*VARIABLES, "REDIS_URL_FILE", "DATABASE_URL_FILE", "CONFIG_PATH", "CATALOG_PATH"):
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
    monkeypatch.setenv("CATALOG_PATH", str(tmp_path / ".."))
    read, default = read_settings(), Settings()
    unchanged = [f.name for f in fields(Settings) if getattr(read, f.name) == getattr(default, f.name)]
    assert unchanged == []
    assert (read.port, read.config_path) == (9000, tmp_path)
    assert read.catalog_path == tmp_path / ".."


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
        ("RATE_LIMIT_MISSES", "many"),
        ("TRACING_ENDPOINT", "collector:4318"),
        ("RATE_LIMIT_WRITES", "60"),
        ("HSTS_SECONDS", "-1"),
        ("MAX_PENDING_PER_KEY", "0"),
        ("FRAME_ANCESTORS", "'none'; script-src *"),
        ("FRAME_ANCESTORS", "example.org"),
        ("CONFIG_PATH", "/no/such/folder"),
        ("CATALOG_PATH", "/no/such/folder"),
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


def test_a_secret_comes_from_a_file(monkeypatch, tmp_path):
    """The content of the file without its end of line is the value."""
    path = tmp_path / "redis-url"
    for ending in ("", "\n", "\r\n"):
        path.write_text(f"redis://:s3cret@localhost:6379/1{ending}", newline="")
        monkeypatch.setenv("REDIS_URL_FILE", str(path))
        assert read_settings().redis_url == "redis://:s3cret@localhost:6379/1"


def test_a_secret_and_its_file_exclude_each_other(monkeypatch, tmp_path):
    """Which of two values counts is not guessed."""
    (tmp_path / "url").write_text("redis://localhost")
    monkeypatch.setenv("REDIS_URL_FILE", str(tmp_path / "url"))
    monkeypatch.setenv("REDIS_URL", "redis://localhost")
    with pytest.raises(InvalidSettings, match=r"^REDIS_URL_FILE: .*not both"):
        read_settings()


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"s3cret", b"redis://u:s3cret@host:s3cret", b"\xff\xfes3cret", b"s3cret" * 20_000]
)
def test_a_wrong_secret_is_refused_and_never_shown(monkeypatch, tmp_path, content):
    """The message names the file's variable, and repeats nothing of the file; nor does the variable's."""
    (tmp_path / "url").write_bytes(content)
    monkeypatch.setenv("REDIS_URL_FILE", str(tmp_path / "url"))
    with pytest.raises(InvalidSettings, match=r"^REDIS_URL_FILE: ") as refused:
        read_settings()
    assert "s3cret" not in str(refused.value)
    monkeypatch.delenv("REDIS_URL_FILE")
    monkeypatch.setenv("REDIS_URL", "redis://u:s3cret@host:s3cret")
    with pytest.raises(InvalidSettings) as refused:
        read_settings()
    assert "s3cret" not in str(refused.value)


def test_a_missing_secret_file_is_named(monkeypatch, tmp_path):
    """A file that is not there, or is a folder, stops the start."""
    for path in (tmp_path / "none", tmp_path):
        monkeypatch.setenv("REDIS_URL_FILE", str(path))
        with pytest.raises(InvalidSettings, match=f"^REDIS_URL_FILE: The file cannot be read: {path}"):
            read_settings()


def test_the_text_of_the_settings_holds_no_secret():
    """Settings that get into a log or a traceback do not show the password."""
    assert "s3cret" not in repr(Settings(redis_url="redis://:s3cret@host"))


def test_version_is_that_of_the_project():
    """The code's version is the one that pyproject.toml publishes."""
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    assert re.search(r'^version = "([^"]+)"', project, re.MULTILINE)[1] == VERSION
