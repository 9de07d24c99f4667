"""The other catalogs: accelerators, engines, formats, offers, languages."""

from collections.abc import Mapping, Sequence
from typing import Any

from flask import Blueprint, Response, request

from service.api.answers import json_answer
from service.api.documents.facts import (
    engine_document,
    gpu_document,
    gpu_item,
    offer_document,
    quantization_document,
)
from service.api.paging import page
from service.api.reading import read_query
from service.api.schemas import LANGUAGE_QUERY, LIST_QUERY
from service.catalog import Catalog
from service.core.engines import ENGINES
from service.i18n import DEFAULT, LANGUAGES


def blueprint(catalog: Catalog) -> Blueprint:
    """The resources over a catalog."""
    resource = Blueprint("facts", __name__)
    lists: dict[str, Sequence[Mapping[str, Any]]] = {
        "gpus": [gpu_item(gpu) for gpu in catalog.gpus.values()],
        "engines": [engine_document(facts) for id_, facts in catalog.engines.items() if id_ in ENGINES],
        "quantizations": [quantization_document(q) for q in catalog.quantizations.values()],
        "offers": [offer_document(offer) for offer in catalog.offers],
        "languages": [
            {"id": tag, "name": language.endonym, "content_language": language.content_tag}
            | {"default": tag == DEFAULT}
            for tag, language in LANGUAGES.items()
        ],
    }

    @resource.get(f"/v1/<any({', '.join(lists)}):name>")
    def items(name: str) -> Response:
        return json_answer(page(lists[name], read_query(LIST_QUERY, request)))

    @resource.get("/v1/gpus/<path:name>")
    def gpu(name: str) -> Response:
        read_query(LANGUAGE_QUERY, request)
        return json_answer(gpu_document(catalog.find_gpu(name), catalog))

    return resource
