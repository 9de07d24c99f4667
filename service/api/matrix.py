"""`GET /v1/matrix`: models x accelerators x formats x contexts, as columns, as rows, as a heat table."""

from flask import Blueprint, Response, g, request

from service.api.accept import CSV, HTML, JSON
from service.api.answers import bytes_answer, negotiated
from service.api.documents.matrix import matrix_csv, matrix_document
from service.api.encoding import to_json
from service.api.matrix_question import asked_matrix
from service.catalog import Catalog
from service.core.engines import ENGINES
from service.core.engines.sheets import as_sheets
from service.core.matrix.cells import Facts
from service.core.matrix.compute import compute
from service.core.matrix.question import MOST_CELLS, Question, check_size
from service.i18n import voice
from service.render.matrix import MOST_SHOWN, heat_table

# Of an engine that plans cell by cell, up to a quarter of a millisecond each.
_MOST_PLANNED = 15_000


def blueprint(catalog: Catalog) -> Blueprint:
    """The resource over a catalog."""
    resource = Blueprint("matrix", __name__)
    facts = Facts(catalog.speed, catalog.costs.offers)

    @resource.get("/v1/matrix")
    def matrix() -> Response:
        question = asked_matrix(request, catalog)
        check_size(question, _most_cells(question))
        media_type = negotiated((JSON, HTML, CSV))
        if media_type == HTML:
            check_size(question, MOST_SHOWN)
        found = compute(question, facts)
        if media_type == JSON:
            return bytes_answer(to_json(matrix_document(found, catalog.digest)), JSON)
        if media_type == CSV:
            return bytes_answer(matrix_csv(found), CSV)
        return bytes_answer(heat_table(found, voice(g.language)), HTML)

    return resource


def _most_cells(question: Question) -> int:
    """The most cells that are computed at once, by the engine that was asked for."""
    engine = ENGINES.get(str(question.values.get("engine", "")))
    return MOST_CELLS if engine is None or as_sheets(engine) else _MOST_PLANNED
