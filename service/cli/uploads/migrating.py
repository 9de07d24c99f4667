"""`sizing migrate`: brings the tables to the layout of this version."""

import click

from service.cli.uploads.storage import database
from service.measurements.schema import SCHEMA, migrate

_TARGETS = ["head", *(f"{number:04}" for number in range(1, SCHEMA + 1))]


@click.command()
@click.option(
    "--to", "target", type=click.Choice(_TARGETS), default="head", show_default=True, help="A migration."
)
def command(target: str) -> None:
    """Bring the tables of the database to this version, before its servers start.

    Running it twice, or on two machines at once, does no harm. Servers of the version before go on writing
    while the new ones start. `--to` an older migration drops what the newer ones added.
    """
    with database() as opened:
        before, after = migrate(opened, target)
    if before == after:
        click.echo(f"Nothing to do: the tables are at {_name(after)}.")
    else:
        click.echo(f"Migrated from {_name(before)} to {_name(after)}.")


def _name(schema: int | None) -> str:
    return "nothing" if schema is None else f"{schema:04}"
