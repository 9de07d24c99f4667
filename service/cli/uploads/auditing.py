"""`sizing audit`: the log of every write, with key, row and request."""

import json
from dataclasses import asdict
from datetime import UTC, datetime

import click
from rich.table import Table

from service.cli.console import console
from service.cli.uploads.storage import database
from service.measurements.reading import Write, writes

_DAY = click.DateTime(formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"])


@click.command()
@click.option("--since", type=_DAY, help="Only what was written from then on, UTC; default all.")
@click.option("--limit", type=click.IntRange(1), help="Of more lines than this only the newest.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def command(since: datetime | None, limit: int | None, as_json: bool) -> None:
    """Print who wrote what: submissions, reviews, keys made and revoked; the oldest first."""
    start = 0 if since is None else int(since.replace(tzinfo=UTC).timestamp())
    with database() as opened:
        found = writes(opened, start, limit)
    if as_json:
        for line in found:
            click.echo(json.dumps({**asdict(line), "at": _moment(line.at)}, ensure_ascii=False))
        return
    table = Table("time (UTC)", "key", "name", "action", "subject", "request")
    for line in found:
        table.add_row(*_cells(line))
    console().print(table)


def _cells(line: Write) -> tuple[str, ...]:
    named = (line.key_id, line.key_name or "", line.action, line.subject, line.request_id or "")
    return (_moment(line.at), *named)


def _moment(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
