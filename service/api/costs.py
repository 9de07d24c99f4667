"""`GET|POST /v1/costs`: what hardware costs that runs a scenario."""

from flask import Blueprint, Response, request

from service.api.answers import json_answer
from service.api.documents.costs import costs_document
from service.api.scenarios import asked
from service.catalog import Catalog
from service.core.cost.compare import compare
from service.render.speed_of import speed_or_reasons_by
from service.render.steps import steps_of_costs


def blueprint(catalog: Catalog) -> Blueprint:
    """The resource over a catalog."""
    resource = Blueprint("costs", __name__)

    @resource.route("/v1/costs", methods=["GET", "POST"])
    def costs() -> Response:
        question = asked(request, catalog)
        assert question.sizing is not None  # an accelerator was demanded
        speed_of = speed_or_reasons_by(catalog)
        found = compare(question.sizing, catalog.costs, catalog.gpus, speed_of)
        trace = steps_of_costs(found, question.sizing, speed_of) if question.explain else ()
        asked_for = (question.speaker, question.explain, trace, question.currency)
        return json_answer(costs_document(question.sizing, found, catalog.digest, *asked_for))

    return resource
