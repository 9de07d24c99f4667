"""Costs as JSON: the offers that run a scenario, and its own hardware rented, powered and bought."""

from typing import Any

from service.api.documents.sizing import scenario_document, versions
from service.core.cost.result import Comparison
from service.core.sizing import Sizing
from service.i18n import Voice
from service.render import costs
from service.render.amounts import fit
from service.render.spoken import with_messages


def costs_document(
    sizing: Sizing, found: Comparison, data_digest: str, voice: Voice, explain: bool | None
) -> dict[str, Any]:
    """The scenario, whether its own hardware runs it, and what hardware that runs it costs."""
    document = {
        "scenario": scenario_document(sizing.scenario, voice.language.tag, explain),
        "fit": {**fit(sizing), "utilization": sizing.utilization},
        **costs.comparison(found),
        "versions": versions(sizing.scenario.engine, data_digest),
    }
    spoken: dict[str, Any] = with_messages(document, voice)
    return spoken
