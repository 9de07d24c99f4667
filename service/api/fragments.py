"""`/v1/sections` and `GET|POST /v1/fragments/{section}`: parts of a report in JSON, HTML or Markdown."""

from typing import Any

from flask import Blueprint, Response, g, request

from service.api.accept import HTML, JSON, MARKDOWN
from service.api.answers import bytes_answer, json_answer, negotiated
from service.api.paging import page
from service.api.reading import closest, read_query
from service.api.scenarios import asked
from service.api.schemas import LIST_QUERY
from service.catalog import Catalog
from service.errors import UnknownSection
from service.i18n import Voice, voice
from service.render.fragments import SECTIONS, render_with

_REPRESENTATIONS = (JSON, HTML, MARKDOWN)


def blueprint(catalog: Catalog) -> Blueprint:
    """The resources over a catalog."""
    resource = Blueprint("fragments", __name__)

    @resource.get("/v1/sections")
    def sections() -> Response:
        return json_answer(page(_items(voice(g.language)), read_query(LIST_QUERY, request)))

    @resource.route("/v1/fragments/<section>", methods=["GET", "POST"])
    def fragment(section: str) -> Response:
        if section not in SECTIONS:
            raise UnknownSection(section, closest(section, SECTIONS))
        needs_model = SECTIONS[section].compute_of_gpu is None
        question = asked(request, catalog, needs_gpu=False, needs_model=needs_model)
        media_type = negotiated(_REPRESENTATIONS)
        body = render_with(question.speaker, section, question.sizing, catalog, media_type, question.subject)
        return bytes_answer(body, media_type)

    return resource


def _items(speaker: Voice) -> list[dict[str, Any]]:
    return [
        {
            "id": section.name,
            "title": speaker.text(section.title),
            "needs_gpu": section.needs_gpu,
            "available": section.available,
            "path": f"/v1/fragments/{section.name}",
        }
        for section in SECTIONS.values()
    ]
