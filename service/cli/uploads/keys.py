"""`sizing keys`: API keys are made, listed and revoked here and nowhere else."""

import time
from datetime import UTC, datetime

import click
from rich.table import Table

from service.cli.console import console
from service.cli.uploads.storage import database
from service.measurements.errors import KeyUnknown
from service.measurements.keys import Scope, create_key, list_keys, revoke_key
from service.measurements.schema import look, migrate

_SCOPES = [str(scope) for scope in Scope]


@click.group()
def command() -> None:
    """API keys of those who may submit or review measurements."""


@command.command()
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(_SCOPES),
    default=[str(Scope.SUBMIT)],
    show_default=True,
    help="What the key may do; may be given several times.",
)
def create(name: str, scopes: tuple[str, ...]) -> None:
    """Make a key for NAME and print it, once: only its digest is kept."""
    if not name.strip() or not name.isprintable():
        raise click.ClickException("The name must be one line of text.")
    with database() as opened:
        if not opened.is_sqlite and look(opened).schema is None:
            migrate(opened)  # a new database has nothing that a migration could harm
        key, text = create_key(opened, name, frozenset(map(Scope, scopes)), time.time())
    click.echo(f"Key {key.id} with {' and '.join(sorted(key.scopes))}; it is shown this once:", err=True)
    click.echo(text)


@command.command("list")
def list_all() -> None:
    """List the keys, without what opens anything."""
    with database() as opened:
        keys = list_keys(opened)
    table = Table("id", "name", "scopes", "created", "last write", "revoked")
    for key in keys:
        scopes = " ".join(sorted(key.scopes))
        revoked = "" if key.revoked_at is None else _day(key.revoked_at)
        table.add_row(key.id, key.name, scopes, _day(key.created_at), key.last_used_on or "", revoked)
    console().print(table)


@command.command()
@click.argument("key_id")
def revoke(key_id: str) -> None:
    """Revoke the key with KEY_ID, from now on and for good."""
    with database() as opened:
        try:
            key = revoke_key(opened, key_id, time.time())
        except KeyUnknown:
            raise click.ClickException(f"There is no key {key_id}.") from None
    click.echo(f"Key {key.id} of {key.name} is revoked.")


def _day(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()
