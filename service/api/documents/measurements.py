"""A real measurement as JSON."""

from typing import Any

from service.catalog import Catalog
from service.core.measurements import Measurement
from service.core.scenario import Scenario
from service.i18n import Voice
from service.i18n.messages.measured import REASONS
from service.render import measured


def measurement_document(row: Measurement, catalog: Catalog, voice: Voice) -> dict[str, Any]:
    """The record as published, what is missing, and why it is or is not compared."""
    return _told(measured.record(row, catalog), voice)


def measured_documents(
    scenario: Scenario, catalog: Catalog, voice: Voice, estimator: measured.Estimator | None = None
) -> list[dict[str, Any]]:
    """At most three records that come closest to the scenario, and how they differ from it.

    estimator: the speed that each record is compared with under its own conditions.
    """
    return [_told(entry, voice) for entry in measured.closest_records(scenario, catalog, estimator)]


def _told(entry: dict[str, Any], voice: Voice) -> dict[str, Any]:
    """The same record, a sentence beside the code of each reason."""
    reasons = [{"code": code, "message": voice.text(REASONS[code])} for code in entry["reasons"]]
    return {**entry, "reasons": reasons}
