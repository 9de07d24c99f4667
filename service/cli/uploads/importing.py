"""`sizing import-measurements`: a file of measurements as if it were submitted, row by row."""

import json
import sys
import time
from pathlib import Path

import click
from rich.console import Console
from rich.progress import track

from service.api.submission_fields import MOST_ROWS
from service.api.submitting import csv_rows, read_row
from service.catalog import Catalog, load_catalog
from service.cli.environment import settings
from service.cli.uploads.storage import database
from service.errors import InvalidParameters, MalformedBody
from service.i18n import voice
from service.i18n.messages import parameter_message
from service.measurements.keys import Key, Scope
from service.measurements.store import COMMAND_LINE, Act, import_rows
from service.measurements.submission import Submission

_OPERATOR = Key(COMMAND_LINE, "command line", frozenset(Scope), 0)


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def command(file: Path) -> None:
    """Store the measurements of FILE (CSV, or JSON like that of the API) as pending.

    Rows that were imported before are left out, so that an import can be repeated. Rows that are wrong are
    named with the reason, and end the command with status 1; the others are stored all the same.
    """
    given = settings()
    catalog = load_catalog(given.config_path, given.catalog_path)
    rows = _rows(file)
    progress = Console(stderr=True, markup=False, highlight=False, emoji=False)
    found: list[Submission] = []
    refused = 0
    for number, row in enumerate(track(rows, "checking", console=progress, transient=True), start=1):
        try:
            found.append(_read(row, catalog))
        except InvalidParameters as error:
            refused += 1
            said = " ".join(parameter_message(voice("en"), fault) for fault in error.errors)
            click.echo(f"{file.name}, row {number}: {said}", err=True)
    stored = 0
    act = Act(_OPERATOR, time.time())
    starts = range(0, len(found), MOST_ROWS)
    with database() as opened:
        for start in track(starts, "storing", console=progress, transient=True):
            stored += import_rows(opened, found[start : start + MOST_ROWS], act)
    click.echo(f"{stored} stored, {len(found) - stored} there already, {refused} refused")
    if refused:
        sys.exit(1)


def _read(row: object, catalog: Catalog) -> Submission:
    if not isinstance(row, dict):
        raise click.ClickException("A row is not an object.")
    return read_row(row, catalog, time.time())


def _rows(file: Path) -> list[object]:
    """The raw rows of a CSV, a list, an object with `measurements`, or a single object."""
    content = file.read_bytes()
    try:
        if file.suffix.lower() == ".csv":
            return [*csv_rows(content, most=None)]
        body = json.loads(content)
    except (ValueError, MalformedBody) as error:
        raise click.ClickException(f"{file}: {error}") from None
    except InvalidParameters as error:
        said = parameter_message(voice("en"), error.errors[0])
        raise click.ClickException(f"{file}: {said}") from None
    if isinstance(body, dict):
        body = body.get("measurements", [body])
    if not isinstance(body, list):
        raise click.ClickException(f"{file}: neither a list nor an object of measurements.")
    return body
