"""An uploaded measurement as JSON: the record that is compared, and what was submitted."""

from datetime import UTC, datetime
from typing import Any

from service.api.documents.measurements import measurement_document
from service.catalog import Catalog
from service.core.measurements import UPLOADED, Measurement
from service.i18n import Voice
from service.measurements.reading import Event
from service.measurements.submission import SUBMITTED, Status, Stored, measurement

CATALOG = "catalog"


def shipped_document(row: Measurement, catalog: Catalog, voice: Voice) -> dict[str, Any]:
    """A record of the catalog's files, which are published as they are."""
    published = str(Status.PUBLISHED)
    return {
        **measurement_document(row, catalog, voice),
        "provenance": CATALOG,
        "status": published,
        "uploaded": None,
    }


def uploaded_document(found: Stored, catalog: Catalog, voice: Voice) -> dict[str, Any]:
    """A record that was uploaded; `uploaded` has every field as it was submitted."""
    return {
        **measurement_document(measurement(found), catalog, voice),
        "provenance": UPLOADED,
        "status": str(found.status),
        "uploaded": {
            "version": found.version,
            "submitted_at": instant(found.created_at),
            "changed_at": instant(found.updated_at),
            "submitted": {name: getattr(found.submission, name) for name in SUBMITTED},
        },
    }


def event_document(found: Event) -> dict[str, Any]:
    """One step of the history. key: id of the API key that took it."""
    return {
        "version": found.version,
        "status": str(found.status),
        "note": found.note,
        "key": found.key_id,
        "at": instant(found.at),
    }


def instant(seconds: int) -> str:
    """A time in UTC, ISO 8601."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
