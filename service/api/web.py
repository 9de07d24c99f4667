"""The configurator at `/`, its scripts, and the custom element for other sites."""

import json
from functools import cache
from pathlib import Path

from flask import Blueprint, Response, g, render_template, request
from werkzeug.exceptions import NotFound

from service.api.accept import CSS, HTML, JAVASCRIPT, SVG
from service.api.addresses import address, alternates, tidied, without_language
from service.api.answers import bytes_answer, negotiated
from service.api.browser_rules import PAGE_WITH_SCRIPT
from service.api.configurator import CONFIGURATOR_QUERY, SECOND, default_subject, side
from service.api.reading import read_query
from service.api.schemas import LANGUAGE_QUERY, SCENARIO
from service.catalog import Catalog
from service.i18n import LANGUAGES, content_language, voice
from service.i18n.marking import mark
from service.render.report import sections

_STATIC = Path(__file__).parents[1] / "web" / "static"
_TYPES = {".js": JAVASCRIPT, ".css": CSS, ".svg": SVG}
_ASSETS = {
    path.name: (path.read_bytes(), _TYPES[path.suffix]) for path in _STATIC.iterdir() if path.suffix in _TYPES
}
_EMBED = (_STATIC / "embed.js").read_text(encoding="utf-8")
_TITLE = mark("GPU memory of open-weight models")
_DESCRIPTION = mark("How much GPU memory a model needs, whether it fits, and what to use instead.")
_EMBED_MESSAGES = {
    "loading": mark("Loading…"),
    "failed": mark("The answer could not be loaded."),
}


def blueprint(catalog: Catalog, public_url: str | None) -> Blueprint:
    """The resources over a catalog. public_url: where the pages are reached from outside, if known."""
    web = Blueprint("web", __name__, template_folder="../web/templates")

    @web.get("/")
    def start() -> Response:
        if (elsewhere := tidied(request)) is not None:
            return elsewhere
        read_query(CONFIGURATOR_QUERY, request)
        values = start_values(catalog, public_url)
        negotiated((HTML,))
        page = render_template("configurator.html", **values)
        return bytes_answer(page.encode(), HTML, policy=PAGE_WITH_SCRIPT)

    @web.get("/assets/web/<name>")
    def asset(name: str) -> Response:
        if name not in _ASSETS or name == "embed.js":
            raise NotFound()
        body, media_type = _ASSETS[name]
        negotiated((media_type,))
        return bytes_answer(body, media_type, localized=False)

    @web.get("/embed.js")
    def embed() -> Response:
        read_query(LANGUAGE_QUERY, request)
        negotiated((JAVASCRIPT,))
        return bytes_answer(embed_script(), JAVASCRIPT, localized=False)

    return web


def start_values(catalog: Catalog, public_url: str | None) -> dict[str, object]:
    """What the template of the configurator is filled with, for the current request."""
    speaker, given = voice(g.language), request.args.to_dict()
    first = {**default_subject(catalog), **without_language(request)}
    return {
        "_": speaker.text,
        "lang": content_language(g.language),
        "language": g.language,
        "title": speaker.text(_TITLE),
        "description": speaker.text(_DESCRIPTION),
        "canonical": address("/", {"lang": g.language}, public_url),
        "alternates": alternates("/", {}, public_url),
        "default_language": address("/", {}, public_url),
        "languages": alternates("/", without_language(request)),
        "sides": [side(catalog, speaker, first), side(catalog, speaker, given, SECOND, first)],
        "compared": f"{SECOND}model" in given,
        "with_gpu": sections(with_gpu=True),
        "without_gpu": sections(with_gpu=False),
        "report": address("/report", {**default_subject(catalog), "lang": g.language}),
    }


@cache
def embed_script() -> bytes:
    """The custom element, with the names of the scenario's parameters and its own few sentences."""
    messages = {
        tag: {name: voice(tag).text(text) for name, text in _EMBED_MESSAGES.items()} for tag in LANGUAGES
    }
    parameters = [name for name in SCENARIO if name not in ("lang", "explain")]
    script = _EMBED.replace('"__MESSAGES__"', json.dumps(messages, ensure_ascii=False))
    return script.replace('"__PARAMETERS__"', json.dumps(parameters)).encode()
