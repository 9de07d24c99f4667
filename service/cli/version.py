"""`sizing version`."""

import click

from service.version import VERSION


@click.command()
def command() -> None:
    """Print the version."""
    click.echo(VERSION)
