"""`sizing backup`: a copy of the SQLite file while the service writes to it."""

import sqlite3
from contextlib import closing
from pathlib import Path

import click

from service.cli.uploads.storage import database


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
def command(file: Path) -> None:
    """Copy keys, measurements, their history and the audit log to FILE, which must not exist yet.

    The copy is of one moment, and checked; a server need not stop for it. To restore it, put it in the place
    of the file in STATE_PATH while no server runs.
    """
    with database() as opened:
        if not opened.is_sqlite:
            raise click.ClickException(
                "The database is PostgreSQL: use pg_dump, or export-measurements for the measurements alone."
            )
        if not opened.exists():
            raise click.ClickException(f"There is nothing to back up: {opened.path} does not exist.")
        if file.exists():
            raise click.ClickException(f"{file} exists already.")
        partial = file.with_name(f"{file.name}.partial")
        try:
            _copy(opened.path, partial)
            partial.rename(file)
        except (sqlite3.Error, OSError) as error:
            partial.unlink(missing_ok=True)
            raise click.ClickException(str(error)) from None
    click.echo(f"{file.stat().st_size} bytes written to {file}")


def _copy(source: Path, target: Path) -> None:
    target.unlink(missing_ok=True)
    target.touch(0o600)  # it holds the digests of keys
    with closing(sqlite3.connect(source)) as original, closing(sqlite3.connect(target)) as copy:
        original.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it
        (found,) = copy.execute("PRAGMA integrity_check").fetchone()
        if found != "ok":
            raise sqlite3.DatabaseError(f"the copy is damaged: {found}")
