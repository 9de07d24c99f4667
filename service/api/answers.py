"""Answers that are final bytes: validators, freshness and language in their headers."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, cast

from flask import Response, current_app, g, request

from service.api.accept import HTML, JSON, choose
from service.api.browser_rules import FRAGMENT, browser_rules
from service.api.encoding import to_json
from service.api.problems import NotAcceptable
from service.i18n import content_language

_ETAG_BYTES = 16


def negotiated(offered: Sequence[str]) -> str:
    """The media type that the request's Accept header prefers among the offered ones.

    Raises NotAcceptable; call it only once the parameters are known to be valid.
    """
    media_type = choose(request.headers.get("Accept"), offered)
    if media_type is None:
        raise NotAcceptable(offered)
    return media_type


def json_answer(document: object) -> Response:
    """A document as JSON, the only representation that is offered."""
    negotiated((JSON,))
    return bytes_answer(to_json(document), JSON)


def bytes_answer(body: bytes, media_type: str, *, localized: bool = True, policy: str = FRAGMENT) -> Response:
    """Final bytes; a GET's answer may be kept by caches and is compared by its strong ETag.

    policy: what a page may load, of `browser_rules`.
    """
    response = Response(body, mimetype=media_type)
    if localized:
        response.headers["Content-Language"] = content_language(g.language)
        response.vary.update(("Accept", "Accept-Language"))
    else:
        response.vary.add("Accept")
    if media_type == HTML:
        response.headers.extend(browser_rules(policy))
    if request.method not in ("GET", "HEAD"):
        response.headers["Cache-Control"] = "no-store"
        return response
    response.headers["Cache-Control"] = cast(str, current_app.config["CACHE_CONTROL"])
    response.set_etag(blake2b(body, digest_size=_ETAG_BYTES).hexdigest())
    return cast(Response, response.make_conditional(request))


def plain_answer(document: Any, status: int = 200) -> Response:
    """A JSON document about the moment, such as a probe: never stored."""
    return Response(to_json(document), status, {"Cache-Control": "no-store"}, mimetype=JSON)
