"""`GET|POST /v1/sizing`: one scenario in, the core answer out."""

from typing import Any

from flask import Blueprint, Response, g, request

from service.api.answers import json_answer
from service.api.documents.measurements import measured_documents
from service.api.documents.sizing import sizing_document
from service.api.scenarios import asked
from service.catalog import Catalog
from service.core.cost.estimate import cost
from service.core.sizing import Sizing
from service.core.speed.result import Speed, Withheld
from service.i18n import voice
from service.render.costs import block
from service.render.speed_of import speed_by, speed_or_reasons_by


def _cost(sizing: Sizing, catalog: Catalog, speed: Speed | Withheld | None) -> dict[str, Any] | None:
    """The cost of the sized hardware; None unless the scenario runs."""
    found = cost(sizing, catalog.costs, speed)
    return None if found is None else block(found, catalog.costs.as_of)


def blueprint(catalog: Catalog) -> Blueprint:
    """The resource over a catalog."""
    resource = Blueprint("sizing", __name__)

    @resource.route("/v1/sizing", methods=["GET", "POST"])
    def sizing() -> Response:
        question = asked(request, catalog)
        assert question.sizing is not None  # an accelerator was demanded
        speaker = voice(g.language)
        speed = speed_or_reasons_by(catalog)(question.sizing)
        measured = measured_documents(question.sizing.scenario, catalog, speaker, speed_by(catalog))
        return json_answer(
            sizing_document(
                question.sizing,
                catalog.digest,
                speaker,
                question.explain,
                measured,
                _cost(question.sizing, catalog, speed),
                speed,
            )
        )

    return resource
