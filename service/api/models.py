"""`/v1/models` and `/v1/models/{id}`."""

from flask import Blueprint, Response, request

from service.api.answers import json_answer
from service.api.documents.models import model_document, model_item
from service.api.paging import page
from service.api.reading import read_query
from service.api.schemas import LANGUAGE_QUERY, LIST_QUERY
from service.catalog import Catalog


def blueprint(catalog: Catalog) -> Blueprint:
    """The resources over a catalog."""
    resource = Blueprint("models", __name__)
    items = [model_item(model) for model in catalog.models.values()]

    @resource.get("/v1/models")
    def models() -> Response:
        return json_answer(page(items, read_query(LIST_QUERY, request)))

    @resource.get("/v1/models/<path:name>")
    def model(name: str) -> Response:
        read_query(LANGUAGE_QUERY, request)
        return json_answer(model_document(catalog.find_model(name), catalog))

    return resource
