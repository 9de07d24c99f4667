"""`sizing export-measurements`: what was uploaded, in the form that an import takes."""

import json
from pathlib import Path

import click

from service.api.documents.measurements_csv import table
from service.api.submission_fields import SUBMISSION
from service.cli.uploads.storage import database
from service.measurements.reading import everything
from service.measurements.submission import Status, Stored

_ALL = "all"


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--status",
    type=click.Choice([*map(str, Status), _ALL]),
    default=str(Status.PUBLISHED),
    show_default=True,
    help="Only those of this status.",
)
def command(file: Path, status: str) -> None:
    """Write what was uploaded to FILE, as CSV or JSON by its ending."""
    with database() as opened:
        rows = [row for row in everything(opened) if status in (_ALL, row.status)]
    content = _csv(rows) if file.suffix.lower() == ".csv" else _json(rows)
    file.write_bytes(content)
    click.echo(f"{len(rows)} measurements written to {file}")


def _csv(rows: list[Stored]) -> bytes:
    return table(SUBMISSION, ({name: getattr(row.submission, name) for name in SUBMISSION} for row in rows))


def _json(rows: list[Stored]) -> bytes:
    """Only what is stated; an import takes the rest as not stated."""
    stated = [
        {
            name: getattr(row.submission, name)
            for name in SUBMISSION
            if getattr(row.submission, name) is not None
        }
        for row in rows
    ]
    return json.dumps({"measurements": stated}, ensure_ascii=False, indent=1).encode() + b"\n"
