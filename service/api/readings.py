"""Gauges of the facts and of the database, read when somebody scrapes."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from service.api.metrics import Reading, Source
from service.catalog import Catalog
from service.measurements.schema import Condition, State
from service.measurements.uploads import Uploads

_NEWEST = "Unix time of the newest day on which a price was seen, or a measurement was published."


def of_facts(catalog: Catalog) -> Source:
    """How old the facts are that age by themselves: prices and measurements."""
    days = {
        "offers": [offer.as_of for offer in catalog.offers],
        "measurements": [found.date for of_model in catalog.measurements.values() for found in of_model],
    }
    readings = [
        Reading("sizing_facts_newest_timestamp_seconds", _NEWEST, newest, {"facts": name})
        for name, found in days.items()
        if (newest := max(filter(None, map(_timestamp, found)), default=None)) is not None
    ]
    return lambda: readings


def of_database(state: Callable[[], State]) -> Source:
    """How the database of uploaded measurements is, by the last look at it."""

    def read() -> Iterable[Reading]:
        found = state()
        for condition in Condition:
            yield Reading(
                "sizing_database_condition",
                "1 for the condition of the database of uploaded measurements.",
                int(condition is found.condition),
                {"condition": condition.value},
            )
        yield Reading(
            "sizing_database_revision", "Rises with each change of what is published.", found.revision
        )

    return read


def of_uploads(uploads: Uploads) -> Source:
    """The same, when it last answered, and how many uploads wait for review; looking goes on from now."""
    condition = of_database(uploads.watched_state)

    def read() -> Iterable[Reading]:
        yield from condition()
        if uploads.answered_at is not None:
            answered = "Unix time when the database last answered; it is asked every second."
            yield Reading("sizing_database_answered_timestamp_seconds", answered, uploads.answered_at)
        if uploads.pending is not None:
            waiting = "Uploaded measurements that wait for review; counted every ten seconds."
            yield Reading("sizing_uploads_pending", waiting, uploads.pending)

    return read


def _timestamp(day: str | None) -> float | None:
    """Midnight UTC of a whole day, ISO 8601; None for a month or a year alone."""
    try:
        return datetime.strptime(day or "", "%Y-%m-%d").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None
