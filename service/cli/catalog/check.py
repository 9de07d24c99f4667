"""`sizing catalog check`: are all facts valid, and which prices and measurements are old?"""

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from service.catalog import Catalog, load_catalog
from service.catalog.ages import Aged, measurements, prices
from service.cli.console import console
from service.cli.environment import settings
from service.core.provenance import ProvidedBy
from service.errors import CatalogError

_HALF_A_YEAR = 180


@click.command()
@click.option(
    "--folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of your own facts; default CATALOG_PATH.",
)
@click.option(
    "--older-than",
    "days",
    type=click.IntRange(min=0),
    default=_HALF_A_YEAR,
    show_default=True,
    help="List prices and measurements that are older than so many days.",
)
@click.option("--strict", is_flag=True, help="End with status 1 when anything is listed.")
def command(folder: Path | None, days: int, strict: bool) -> None:
    """Load all facts as the server does, and list prices and measurements that are old.

    Ends with status 1 when a fact is wrong, and names its file and place.
    """
    given = settings()
    try:
        catalog = load_catalog(given.config_path, folder or given.catalog_path)
    except CatalogError as error:
        raise click.ClickException(str(error)) from None
    today = datetime.now(UTC).date()
    old_prices = [entry for entry in prices(catalog, today) if entry.is_older(days)]
    old_runs = list(measurements(catalog, today, days))
    output = console()
    output.print(f"All facts are valid; digest {catalog.digest}.")
    output.print(_counts(catalog))
    _print_shared_names(output, catalog)
    _print_aged(output, f"Prices older than {days} days", old_prices)
    _print_aged(output, f"Measurements older than {days} days, by source", old_runs)
    if strict and (old_prices or old_runs):
        sys.exit(1)


def _counts(catalog: Catalog) -> Table:
    table = Table("Facts", "All", "Your own")
    kinds: dict[str, Iterable[ProvidedBy]] = {
        "Models": [model.provided_by for model in catalog.models.values()],
        "GPUs": [gpu.provided_by for gpu in catalog.gpus.values()],
        "Offers": [offer.provided_by for offer in catalog.costs.offers],
    }
    for kind, providers in kinds.items():
        counted = Counter(providers)
        table.add_row(kind, str(counted.total()), str(counted[ProvidedBy.OPERATOR]))
    table.add_row("Measurements", str(sum(map(len, catalog.measurements.values()))), "–")
    return table


def _print_shared_names(output: Console, catalog: Catalog) -> None:
    """Names that find nothing because two entries claim them."""
    shared = {**catalog.model_names.ambiguous(), **catalog.gpu_names.ambiguous()}
    if shared:
        output.print("Names that more than one entry claims, so that none answers to them:")
        table = Table("Name", "Entries")
        for name, ids in shared.items():
            table.add_row(name, ", ".join(ids))
        output.print(table)


def _print_aged(output: Console, title: str, entries: Sequence[Aged]) -> None:
    if not entries:
        output.print(f"{title}: none.")
        return
    output.print(f"{title}: {sum(entry.count for entry in entries)}.")
    table = Table("Kind", "What", "Seen", "Days", "Provided by", "Source")
    for entry in sorted(entries, key=_oldest_first):
        days = "unknown" if entry.days is None else "in the future" if entry.days < 0 else str(entry.days)
        seen = entry.seen or "undated"
        table.add_row(entry.kind, entry.what, seen, days, entry.provided_by, entry.source)
    output.print(table)


def _oldest_first(entry: Aged) -> tuple[bool, int, str]:
    return (entry.days is not None, -(entry.days or 0), entry.what)
