"""`GET|POST /v1/finetuning`: the memory of a full, LoRA or QLoRA fine-tuning."""

from flask import Blueprint, Response, g, request

from service.api.answers import json_answer
from service.api.documents.finetuning import finetuning_document
from service.api.training import asked_training
from service.catalog import Catalog
from service.core.finetuning.estimate import fine_tune
from service.i18n import voice


def blueprint(catalog: Catalog) -> Blueprint:
    """The resource over a catalog."""
    resource = Blueprint("finetuning", __name__)

    @resource.route("/v1/finetuning", methods=["GET", "POST"])
    def finetuning() -> Response:
        found = fine_tune(asked_training(request, catalog), catalog.gpus.values())
        return json_answer(finetuning_document(found, catalog.digest, voice(g.language)))

    return resource
