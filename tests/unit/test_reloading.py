"""What a reload does in the server's own process, without a server."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from flask import Flask

from service import reloading
from service.app import create_app, facts_state
from service.settings import InvalidSettings, Settings
from service.settings.last import LastSettings
from tests.operators import GPUS, example, lay


@dataclass
class Holder:
    callable: Flask


@dataclass
class Arbiter:
    app: Holder


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> LastSettings:
    """The server's settings, of an environment that the test changes."""
    monkeypatch.setenv("WARM_UP_SECONDS", "0")
    found = LastSettings()
    monkeypatch.setattr(reloading, "SETTINGS", found)
    monkeypatch.setattr("service.app.configure_logs", lambda level: None)
    return found


@pytest.fixture
def server() -> Arbiter:
    return Arbiter(Holder(create_app(Settings())))


def test_a_reload_gives_the_workers_another_application(
    settings: LastSettings, server: Arbiter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The application of before stays as it was; the next one has the files of now."""
    before = server.app.callable
    monkeypatch.setenv("CATALOG_PATH", str(lay(tmp_path)))
    settings.read()
    assert reloading.replace_application(server)
    after = server.app.callable
    assert after is not before
    assert before.test_client().get("/v1/models/support-8b").status_code == 404
    assert after.test_client().get("/v1/models/support-8b").status_code == 200


def test_wrong_files_leave_the_application_and_mark_it(
    settings: LastSettings, server: Arbiter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes on, degraded, until a reload succeeds; that one is current again."""
    before = server.app.callable
    lay(tmp_path, {GPUS: example()[GPUS].replace("gb: 24", "gb: much")})
    monkeypatch.setenv("CATALOG_PATH", str(tmp_path))
    settings.read()
    assert not reloading.replace_application(server)
    assert server.app.callable is before
    assert before.test_client().get("/health/ready").json["status"] == "degraded"
    lay(tmp_path)
    assert reloading.replace_application(server)
    assert facts_state(server.app.callable).current
    assert not facts_state(before).current


def test_a_wrong_environment_is_a_fault_only_after_a_right_one(
    settings: LastSettings, server: Arbiter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the start it stops the server, at a reload the settings from before hold and the reload fails."""
    monkeypatch.setenv("CATALOG_PATH", "/no/such/folder")
    with pytest.raises(InvalidSettings):
        settings.read()
    monkeypatch.delenv("CATALOG_PATH")
    right = settings.read()
    assert settings.fault is None
    monkeypatch.setenv("CATALOG_PATH", "/no/such/folder")
    assert settings.read() == right
    assert settings.fault is not None
    assert "CATALOG_PATH: No such folder" in settings.fault
    before = server.app.callable
    assert not reloading.replace_application(server)
    assert server.app.callable is before
    monkeypatch.delenv("CATALOG_PATH")
    assert settings.read() == right
    assert settings.fault is None
