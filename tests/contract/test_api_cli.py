"""The console script answers as the API does."""

import json
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest
import structlog
from click.testing import CliRunner

from service.cli import main
from service.version import VERSION


@pytest.fixture(autouse=True)
def own_logs() -> Iterator[None]:
    """The command configures logs for its process; the tests after it keep theirs."""
    before = structlog.get_config()
    yield
    structlog.configure(**before)


def test_version():
    """`sizing version` prints the version alone."""
    assert CliRunner().invoke(main, ["version"]).output == f"{VERSION}\n"


def test_size_prints_the_answer_of_the_api(client):
    """`sizing size` takes the API's parameters and prints its JSON."""
    options = ["--model", "qwen3-8b", "--gpu", "rtx-4090", "--context-tokens", "4096", "--lang", "de"]
    done = CliRunner().invoke(main, ["size", *options])
    assert done.exit_code == 0, done.output
    query = {"model": "qwen3-8b", "gpu": "rtx-4090", "context_tokens": 4096, "lang": "de"}
    assert json.loads(done.output) == client.get("/v1/sizing", query_string=query).json


def test_problem_is_printed_and_fails():
    """A problem is printed as JSON and ends with status 1."""
    done = CliRunner().invoke(main, ["size", "--model", "qwen3-8", "--gpu", "rtx-4090"])
    assert done.exit_code == 1
    assert json.loads(done.output)["type"] == "/problems/unknown-model"


def test_wrong_setting_is_named(monkeypatch):
    """A wrong variable of the environment is named instead of a traceback."""
    monkeypatch.setenv("PORT", "x")
    done = CliRunner().invoke(main, ["serve"])
    assert done.exit_code == 1
    assert "PORT: Not a valid integer." in done.output


def test_serving_waits_for_no_other_command():
    """`sizing serve` imports the settings only: the server that takes its place imports the application."""
    code = (
        "import sys, service.cli.serve; print(sorted({'flask', 'numpy', 'service.app'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_every_command_of_the_list_exists():
    """The commands are imported late, so one that is missing would only be found by who needs it."""
    context = click.Context(main)
    for name in main.list_commands(context):
        assert main.get_command(context, name) is not None, name
    assert CliRunner().invoke(main, ["no-such-command"]).exit_code == 2
