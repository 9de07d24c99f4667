"""The settings of a command."""

import click

from service.settings import InvalidSettings, Settings, read_settings


def settings() -> Settings:
    """The settings of the environment; what is wrong with them ends the command as click's own error."""
    try:
        return read_settings()
    except InvalidSettings as error:
        raise click.ClickException(str(error)) from None
