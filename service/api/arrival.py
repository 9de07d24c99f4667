"""What happens to every request before its resource sees it, and to its response after."""

from wsgiref.types import WSGIEnvironment

from flask import Flask, Response, current_app, g, request
from werkzeug.exceptions import NotFound, RequestHeaderFieldsTooLarge, RequestURITooLarge

from service.errors import InvalidParameters
from service.i18n import negotiate


def register(app: Flask) -> None:
    """Hook into the application."""
    app.before_request(_listen)
    app.after_request(_tell)


def _listen() -> None:
    """Decide the language, also of a problem with `lang` itself, and refuse what is too long."""
    header = request.headers.get("Accept-Language")
    given = request.args.getlist("lang")
    try:
        g.language = negotiate(given[0] if len(given) == 1 else None, header)
    except InvalidParameters:
        g.language = negotiate(None, header)
    if not request.environ.get("PATH_INFO"):
        raise NotFound()  # else a redirect to /, which would name what the caller calls this host
    length = len(request.environ.get("PATH_INFO", "")) + len(request.environ.get("QUERY_STRING", ""))
    if length > current_app.config["MAX_URL_BYTES"]:
        raise RequestURITooLarge()
    if _header_bytes(request.environ) > current_app.config["MAX_HEADER_BYTES"]:
        raise RequestHeaderFieldsTooLarge()


def _header_bytes(environ: WSGIEnvironment) -> int:
    """Characters of names and values; the server decodes each byte as one."""
    headers = ((name, value) for name, value in environ.items() if name.startswith("HTTP_"))
    return sum(len(name) - len("HTTP_") + len(value) for name, value in headers)


def _tell(response: Response) -> Response:
    """Leave what the outer layers record in the environ."""
    request.environ["sizing.language"] = g.language
    request.environ["sizing.route"] = request.url_rule.rule if request.url_rule else "none"
    return response
