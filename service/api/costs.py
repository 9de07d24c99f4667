"""`GET|POST /v1/costs`: what hardware costs that runs a scenario."""

from flask import Blueprint, Response, g, request

from service.api.answers import json_answer
from service.api.documents.costs import costs_document
from service.api.scenarios import asked
from service.catalog import Catalog
from service.core.cost.compare import compare
from service.i18n import voice
from service.render.speed_of import speed_or_reasons_by


def blueprint(catalog: Catalog) -> Blueprint:
    """The resource over a catalog."""
    resource = Blueprint("costs", __name__)

    @resource.route("/v1/costs", methods=["GET", "POST"])
    def costs() -> Response:
        question = asked(request, catalog)
        assert question.sizing is not None  # an accelerator was demanded
        found = compare(question.sizing, catalog.costs, catalog.gpus, speed_or_reasons_by(catalog))
        return json_answer(
            costs_document(question.sizing, found, catalog.digest, voice(g.language), question.explain)
        )

    return resource
