"""What the compose file starts, without an engine: its commands and variables on servers of this host."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.conftest import RedisServer
from tests.integration.postgresql import PostgresServer, postgres_server  # noqa: F401 - a fixture
from tests.integration.test_gateway import NGINX, Gateway
from tests.integration.test_gunicorn import ROOT, Server
from tests.integration.uploading import ask, eventually
from tests.unit.deployment import compose
from tests.uploads import MEASUREMENTS, ROW

pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
SIZING = "/v1/sizing?model=qwen3-8b&gpu=rtx-4090&engine=llama.cpp"


def environment(name: str, cache: RedisServer, secrets: Path) -> dict[str, str]:
    """The variables of a service of the file; names of other services and of secrets are this host's."""
    service = compose()["services"][name]
    found = {
        key: value.replace("cache:6379", f"127.0.0.1:{cache.port}").replace("/run/secrets", str(secrets))
        for key, value in service["environment"].items()
    }
    assert {Path(value).name for value in found.values() if str(secrets) in value} == set(service["secrets"])
    return found


def run(words: list[str], settings: dict[str, str]) -> str:
    """The output of a command of the image."""
    assert words[0] == "python"
    command = [sys.executable, *words[1:]]
    done = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[RedisServer]:
    """The file's Valkey, with its own limits."""
    words = compose()["services"]["cache"]["command"]
    server = RedisServer(tmp_path, *words[words.index("--maxmemory") :])
    yield server
    server.kill()


def test_the_services_of_the_file_work_together(
    postgres_server: PostgresServer,  # noqa: F811
    cache: RedisServer,
    tmp_path: Path,
) -> None:
    """Migrated once; a measurement goes in by the gateway, is reviewed, and is shown by both services."""
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    (secrets / "database-url").write_text(f"{postgres_server.database()}\n")
    run(compose()["services"]["migrate"]["command"], environment("migrate", cache, secrets))
    settings = [environment(name, cache, secrets) for name in ("service-1", "service-2")]
    make = ["python", "-m", "service.cli", "keys", "create", "lab", "--scope"]
    submitter, reviewer = (run([*make, scope], settings[0]).strip() for scope in ("submit", "review"))
    running: list[Server | Gateway] = []
    try:
        for number, values in enumerate(settings):
            home = tmp_path / str(number)
            home.mkdir()
            running.append(Server(home, **values))
        services = list(running)
        gateway = Gateway(tmp_path, *(server.port for server in services))
        running.insert(0, gateway)
        ready = json.loads(gateway.get("/health/ready")[2])
        assert (ready["storage"]["backend"], ready["storage"]["state"]) == ("postgresql", "ok")
        assert (ready["cache"]["backend"], ready["cache"]["available"]) == ("redis", True)
        status, _, stored = ask(gateway, "POST", MEASUREMENTS, submitter, ROW)
        assert status == 201
        path = f"{MEASUREMENTS}/{stored['id']}"
        assert ask(gateway, "PATCH", path, reviewer, {"status": "published"}, If_Match="*")[0] == 200
        for server in (*services, gateway):
            eventually(lambda at=server: stored["id"] in at.get(SIZING)[2].decode())
        audited = run(["python", "-m", "service.cli", "audit", "--json"], settings[1])
        lines = [json.loads(line) for line in audited.splitlines()]
        assert [line["action"] for line in lines] == ["create-key", "create-key", "submit", "published"]
        assert all(line["request_id"] for line in lines[2:])
    finally:
        for server in running:
            server.stop()
