"""`POST /v1/models/inspect`: the facts of a model that no catalog has, from its published files."""

from dataclasses import asdict
from typing import Any

from flask import Blueprint, Response, current_app, g, request

from service.api.answers import json_answer
from service.api.documents.models import model_document
from service.api.documents.notes import told
from service.api.json_body import whole_body
from service.api.posted import known
from service.api.reading import read_body, read_query
from service.api.schemas import INSPECT_BODY, LANGUAGE_QUERY
from service.catalog import Catalog
from service.core.catalogued import Model
from service.core.evidence import Evidence
from service.core.posted import Stated, build_model
from service.core.recognition import Known
from service.core.remarks import remarks_of
from service.errors import InvalidParameters, ParameterError, UnsupportedArchitecture
from service.i18n import voice
from service.inspection import Inspected, NotGguf, inspect_gguf, read_header, total_size

GGUF = "application/octet-stream"
# A tokenizer stands before the list of tensors and takes up to a dozen MiB.
GGUF_FACTOR = 16  # of the limit of other bodies
_INDEX_SOURCE = "metadata.total_size of the given model.safetensors.index.json"
_GGUF_SOURCE = "the tensor list of the given GGUF header"


def blueprint(catalog: Catalog) -> Blueprint:
    """The resource over a catalog."""
    resource = Blueprint("inspect", __name__)
    catalogued = known(catalog)

    @resource.post("/v1/models/inspect")
    def inspect() -> Response:
        read_query(LANGUAGE_QUERY, request)
        if request.mimetype == GGUF:
            return json_answer(_gguf(_first_bytes(), catalog, catalogued))
        return json_answer(_document(_described(catalogued), catalog))

    return resource


def _described(catalogued: Known) -> Model:
    """The model of a config.json, its size by the index where that is given."""
    given = read_body(INSPECT_BODY, request)
    size = total_size(given["index"]) if "index" in given else None
    if "index" in given and size is None:
        raise InvalidParameters(ParameterError("index.metadata.total_size", "missing"))
    stated = Stated(given.get("model_name"), weight_bytes=size, weights_source=_INDEX_SOURCE)
    try:
        return build_model(given["config"], stated, catalogued)
    except UnsupportedArchitecture as error:
        error.place = "config"
        raise


def _first_bytes() -> bytes:
    return whole_body(request, GGUF_FACTOR * current_app.config["MAX_CONTENT_LENGTH"], keep=False)


def _gguf(body: bytes, catalog: Catalog, catalogued: Known) -> dict[str, Any]:
    try:
        found = inspect_gguf(read_header(body), catalogued)
    except NotGguf:
        raise InvalidParameters(ParameterError("body", "not_gguf")) from None
    except UnsupportedArchitecture as error:
        error.place = "gguf"
        raise
    document = _document(found.model, catalog)
    _weigh_file(document["weight_bytes_by_format"], found)
    return {**document, "gguf": asdict(found.file)}


def _weigh_file(formats: dict[str, Any], found: Inspected) -> None:
    """The file's own format has the bytes of its own tensors."""
    name, size = found.file.quantization, found.file.tensor_bytes
    if name in formats and size is not None:
        exact = {"bytes": size, "evidence": Evidence.CHECKPOINT, "source": _GGUF_SOURCE}
        formats[name] = {**formats[name], **exact}


def _document(model: Model, catalog: Catalog) -> dict[str, Any]:
    warnings = told(remarks_of(model), voice(g.language))
    return {**model_document(model, catalog), "warnings": warnings}
