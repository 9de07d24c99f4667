"""How old prices and measurements are on a given day."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from service.catalog.catalog import Catalog
from service.core.provenance import ProvidedBy

# The first day, month or year that a text such as "2025-11 to 2026-02 (undated)" names.
_PERIOD = re.compile(r"\b(\d{4})(?:-(0[1-9]|1[0-2])(?:-(\d{2}))?)?\b")


@dataclass(frozen=True, slots=True)
class Aged:
    """A price or the measurements of one source.

    what: the thing priced or measured. seen: its date as it is stated. days: its greatest possible age, from
    the first day of the date; below zero for a date to come, None when no date is known.
    """

    kind: str
    what: str
    seen: str
    days: int | None
    source: str
    provided_by: str = ProvidedBy.CATALOG.value
    count: int = 1

    def is_older(self, days: int) -> bool:
        """Whether it may be older than that, or its age is not known or impossible."""
        return self.days is None or self.days < 0 or self.days > days


def age(seen: str, today: date) -> int | None:
    """Days from the first day of a stated date or period to `today`; None for a text without one."""
    found = _PERIOD.search(seen)
    if found is None:
        return None
    year, month, day = (int(part) if part else 1 for part in found.groups())
    try:
        return (today - date(year, month, day)).days
    except ValueError:
        return None


def prices(catalog: Catalog, today: date) -> Iterator[Aged]:
    """Every offer, then every list and street price of an accelerator."""
    for offer in catalog.costs.offers:
        seen = offer.as_of or offer.as_of_estimate or ""
        name = offer.gpu or offer.gpu_name
        what = f"{offer.provider}: {offer.count} × {name}, {offer.commitment}"
        yield Aged("offer", what, seen, age(seen, today), offer.source, str(offer.provided_by))
    for name, row in catalog.gpu_rows.items():
        by = str(catalog.gpus[name].provided_by)
        for kind, seen in _dated(row["price_usd"]):
            yield Aged(kind, name, seen, age(seen, today), "; ".join(row["sources"]), by)


def _dated(price: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    # A list price without a date is the maker's of the day of release: it does not age.
    if price["msrp"] is not None and price["as_of"]:
        yield "list price", price["as_of"]
    if "street" in price:
        yield "street price", price["street"]["as_of"]


def measurements(catalog: Catalog, today: date, days: int) -> Iterator[Aged]:
    """Those that may be older, one entry for each source, with the oldest date."""
    found: dict[str, list[tuple[int | None, str]]] = {}
    for rows in catalog.measurements.values():
        for row in rows:
            seen = row.date or ""
            aged = Aged("measurement", row.id, seen, age(seen, today), row.source)
            if aged.is_older(days):
                found.setdefault(row.source, []).append((aged.days, seen))
    for source, ages in found.items():
        dated = [entry for entry in ages if entry[0] is not None]
        oldest = max(dated, key=lambda entry: entry[0] or 0, default=(None, ""))
        undated = len(ages) - len(dated)
        what = f"{len(ages)} measurements" + (f", {undated} of them undated" if undated else "")
        named = catalog.measurement_sources.get(source)
        yield Aged(
            "measurements", what, oldest[1], oldest[0], named.url if named else source, count=len(ages)
        )
