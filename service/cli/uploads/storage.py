"""The database of a command, and refusals as click's own errors."""

from collections.abc import Iterator
from contextlib import contextmanager

import click

from service.api.refusals import SLUGS
from service.cli.environment import settings
from service.i18n import voice
from service.i18n.messages import problem_text
from service.measurements.database import Database
from service.measurements.errors import Refused


@contextmanager
def database() -> Iterator[Database]:
    """The database of the settings; what it refuses ends the command with the sentence of the API."""
    given = settings()
    opened = Database(given.database_url, given.state_path)
    try:
        yield opened
    except Refused as error:
        _, detail = problem_text(voice("en"), SLUGS[type(error)], **error.values)
        reason = error.values.get("reason")
        raise click.ClickException(f"{detail} ({reason})" if reason else detail) from None
    finally:
        opened.close()
