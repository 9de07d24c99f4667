"""`sizing serve`: imports little, for the server that takes its place imports the application anyway."""

import os
import sys

import click

from service.cli.environment import settings

_ENTRY = "service.wsgi:app"


@click.command()
def command() -> None:
    """Serve HTTP with gunicorn; the settings come from the environment."""
    configuration = settings().config_path / "gunicorn.conf.py"
    words = [sys.executable, "-m", "gunicorn", "--config", str(configuration), _ENTRY]
    os.execv(sys.executable, words)  # noqa: S606 - no shell; the process becomes the server and gets its signals
