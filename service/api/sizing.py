"""`GET|POST /v1/sizing`: one scenario in, the core answer out."""

from collections.abc import Sequence
from typing import Any

from flask import Blueprint, Response, request

from service.api.answers import json_answer
from service.api.documents.measurements import measured_documents
from service.api.documents.sizing import sizing_document
from service.api.scenarios import asked
from service.catalog import Catalog
from service.core.cost.estimate import cost
from service.core.cost.result import Cost
from service.core.sizing import Sizing
from service.core.speed.result import Speed, Withheld
from service.render.costs import block
from service.render.speed_of import speed_by, speed_or_reasons_by
from service.render.steps import further_steps, steps


def _trace(
    sizing: Sizing, catalog: Catalog, speed: Speed | Withheld | None, priced: Cost | None
) -> Sequence[dict[str, Any]]:
    """The steps of memory, of speed and of cost."""
    return steps(sizing, *further_steps(sizing, catalog.speed, speed, priced))


def blueprint(catalog: Catalog) -> Blueprint:
    """The resource over a catalog."""
    resource = Blueprint("sizing", __name__)

    @resource.route("/v1/sizing", methods=["GET", "POST"])
    def sizing() -> Response:
        question = asked(request, catalog)
        assert question.sizing is not None  # an accelerator was demanded
        speaker = question.speaker
        speed = speed_or_reasons_by(catalog)(question.sizing)
        priced = cost(question.sizing, catalog.costs, speed)
        measured = measured_documents(question.sizing.scenario, catalog, speaker, speed_by(catalog))
        return json_answer(
            sizing_document(
                question.sizing,
                catalog.digest,
                speaker,
                question.explain,
                measured,
                None if priced is None else block(priced, catalog.costs.as_of),
                speed,
                _trace(question.sizing, catalog, speed, priced) if question.explain else (),
                question.currency,
            )
        )

    return resource
