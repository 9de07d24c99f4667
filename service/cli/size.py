"""`sizing size`: one more client of the API, with the same parameters, answers and problems."""

import sys
from collections.abc import Callable
from typing import Any

import click

from service.api.schemas import SCENARIO
from service.app import create_app
from service.cli.environment import settings
from service.logs import configure_logs


def _scenario_options(command: Callable[..., None]) -> Callable[..., None]:
    """One option for each parameter of the API, `--gpu-count` for `gpu_count`."""
    for name, parameter in reversed(SCENARIO.items()):
        option = click.option(f"--{name.replace('_', '-')}", name, help=parameter.metadata["description"])
        command = option(command)
    return command


@click.command()
@_scenario_options
def command(**given: Any) -> None:
    """Print the sizing of one scenario as JSON; a problem is printed too and ends with status 1."""
    configure_logs("ERROR")
    parameters = {name: value for name, value in given.items() if value is not None}
    answer = create_app(settings()).test_client().get("/v1/sizing", query_string=parameters)
    click.echo(answer.get_data(as_text=True))
    if answer.status_code != 200:
        sys.exit(1)
