"""`sizing openapi`."""

import click

from service.app import create_app
from service.cli.environment import settings
from service.logs import configure_logs


@click.command()
def command() -> None:
    """Print the OpenAPI document."""
    configure_logs("ERROR")
    click.echo(create_app(settings()).test_client().get("/openapi.json").get_data(as_text=True))
