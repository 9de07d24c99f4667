"""The console script `sizing`: serve, size one scenario, print the version."""

import os
import sys
from collections.abc import Callable
from typing import Any

import click

from service.api.schemas import SCENARIO
from service.app import create_app
from service.logs import configure_logs
from service.settings import InvalidSettings, Settings, read_settings
from service.version import VERSION

_ENTRY = "service.wsgi:app"


@click.group()
def main() -> None:
    """How much GPU memory an open-weight model needs, and whether it fits."""


@main.command()
def version() -> None:
    """Print the version."""
    click.echo(VERSION)


@main.command()
def serve() -> None:
    """Serve HTTP with gunicorn; the settings come from the environment."""
    configuration = _settings().config_path / "gunicorn.conf.py"
    command = [sys.executable, "-m", "gunicorn", "--config", str(configuration), _ENTRY]
    os.execv(sys.executable, command)  # noqa: S606 - no shell; the process becomes the server and gets its signals


@main.command()
def openapi() -> None:
    """Print the OpenAPI document."""
    configure_logs("ERROR")
    click.echo(create_app(_settings()).test_client().get("/openapi.json").get_data(as_text=True))


def _scenario_options(command: Callable[..., None]) -> Callable[..., None]:
    """One option for each parameter of the API, `--gpu-count` for `gpu_count`."""
    for name, parameter in reversed(SCENARIO.items()):
        option = click.option(f"--{name.replace('_', '-')}", name, help=parameter.metadata["description"])
        command = option(command)
    return command


@main.command()
@_scenario_options
def size(**given: Any) -> None:
    """Print the sizing of one scenario as JSON; a problem is printed too and ends with status 1."""
    configure_logs("ERROR")
    parameters = {name: value for name, value in given.items() if value is not None}
    # One more client of the API: the same parameters, the same answer, the same problems.
    answer = create_app(_settings()).test_client().get("/v1/sizing", query_string=parameters)
    click.echo(answer.get_data(as_text=True))
    if answer.status_code != 200:
        sys.exit(1)


def _settings() -> Settings:
    try:
        return read_settings()
    except InvalidSettings as error:
        raise click.ClickException(str(error)) from None


if __name__ == "__main__":
    main()
