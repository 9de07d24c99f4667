"""`GET|POST /v1/sizing`: one scenario in, the core answer out."""

from flask import Blueprint, Response, g, request

from service.api.answers import json_answer
from service.api.documents.sizing import sizing_document
from service.api.scenarios import asked
from service.catalog import Catalog
from service.i18n import voice


def blueprint(catalog: Catalog) -> Blueprint:
    """The resource over a catalog."""
    resource = Blueprint("sizing", __name__)

    @resource.route("/v1/sizing", methods=["GET", "POST"])
    def sizing() -> Response:
        question = asked(request, catalog)
        assert question.sizing is not None  # an accelerator was demanded
        return json_answer(
            sizing_document(question.sizing, catalog.digest, voice(g.language), question.explain)
        )

    return resource
