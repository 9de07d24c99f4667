"""Pages for people: the API document, and what each problem type means."""

from pathlib import Path

from flask import Blueprint, Response, g, render_template, request
from werkzeug.exceptions import NotFound

from service.api.accept import CSS, HTML
from service.api.answers import bytes_answer, json_answer, negotiated
from service.api.browser_rules import PAGE
from service.api.openapi import build_document
from service.api.openapi_page import resolved, type_text
from service.api.problems import STATUSES
from service.api.reading import read_query
from service.api.schemas import LANGUAGE_QUERY
from service.catalog import Catalog
from service.i18n import content_language, voice
from service.i18n.messages import problem_text
from service.render import REPORT_CSS

_STYLES = {
    "pages.css": (Path(__file__).parent / "assets" / "pages.css").read_bytes(),
    "report.css": REPORT_CSS.read_bytes(),
}


def blueprint(catalog: Catalog) -> Blueprint:
    """The pages over a catalog."""
    pages = Blueprint("pages", __name__)
    document = build_document(catalog)
    pages.add_app_template_filter(type_text)
    pages.add_app_template_filter(lambda response: resolved(document, response), "resolved")

    @pages.get("/openapi.json")
    def openapi() -> Response:
        read_query(LANGUAGE_QUERY, request)
        return json_answer(document)

    @pages.get("/docs")
    def docs() -> Response:
        read_query(LANGUAGE_QUERY, request)
        g.language = "en"  # field names and their meaning are documented in one language
        return _page("docs.html", title=document["info"]["title"], document=document)

    @pages.get("/problems/<slug>")
    def problem(slug: str) -> Response:
        read_query(LANGUAGE_QUERY, request)
        if slug not in STATUSES:
            raise NotFound()
        title, meaning = problem_text(voice(g.language), slug, name="…", architecture="…")
        return _page("problem.html", slug=slug, status=STATUSES[slug], title=title, meaning=meaning)

    @pages.get("/assets/<name>")
    def asset(name: str) -> Response:
        if name not in _STYLES:
            raise NotFound()
        negotiated((CSS,))
        return bytes_answer(_STYLES[name], CSS, localized=False)

    return pages


def _page(template: str, **values: object) -> Response:
    negotiated((HTML,))
    text = render_template(template, lang=content_language(g.language), **values)
    return bytes_answer(text.encode(), HTML, policy=PAGE)
