"""Costs as JSON: the offers that run a scenario, and its own hardware rented, powered and bought."""

from collections.abc import Mapping, Sequence
from typing import Any

from service.api.documents.sizing import scenario_document, versions
from service.api.documents.trace import traced
from service.core.cost.result import Comparison
from service.core.sizing import Sizing
from service.i18n import Voice
from service.render import costs
from service.render.amounts import fit
from service.render.currencies import with_currency
from service.render.spoken import with_messages


def costs_document(
    sizing: Sizing,
    found: Comparison,
    data_digest: str,
    voice: Voice,
    explain: bool | None,
    trace: Sequence[Mapping[str, Any]] = (),
    currency: str | None = None,
) -> dict[str, Any]:
    """The scenario, whether its own hardware runs it, and what hardware that runs it costs."""
    document = {
        "scenario": scenario_document(sizing.scenario, voice, explain, currency),
        "fit": {**fit(sizing), "utilization": sizing.utilization},
        **costs.comparison(found),
        "versions": versions(sizing.scenario.engine, data_digest),
    }
    spoken: dict[str, Any] = with_messages(with_currency(document, voice), voice)
    return {**spoken, "trace": traced(trace, voice)} if explain else spoken
