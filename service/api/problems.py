"""Everything that goes wrong, as application/problem+json (RFC 9457)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus

import structlog
from flask import Flask, Response, current_app, g, request
from werkzeug.exceptions import HTTPException

from service.api import refusals
from service.api.accept import JSON, PROBLEM
from service.api.encoding import to_json
from service.errors import (
    InvalidParameters,
    MalformedBody,
    ParameterError,
    SizingError,
    UnknownGpu,
    UnknownModel,
    UnknownName,
    UnknownSection,
    UnsupportedArchitecture,
)
from service.i18n import Voice, content_language, voice
from service.i18n.messages import parameter_message, problem_text
from service.measurements.errors import Refused, TooManyPending

_LOG = structlog.get_logger("service.problems")
_LONGEST_NAME = 200  # of an unknown name that a problem repeats

# Slug of each problem type, with the status that it is answered with.
STATUSES: Mapping[str, int] = {
    "unknown-model": 404,
    "unknown-gpu": 404,
    "unknown-section": 404,
    "invalid-parameters": 422,
    "unsupported-architecture": 422,
    "malformed-body": 400,
    "not-found": 404,
    "method-not-allowed": 405,
    "not-acceptable": 406,
    "payload-too-large": 413,
    "uri-too-long": 414,
    "unsupported-media-type": 415,
    "too-many-requests": 429,
    "headers-too-large": 431,
    "internal-error": 500,
    "service-unavailable": 503,
    **refusals.STATUSES,
}
_OF_STATUS = {404: "not-found"} | {
    status: slug
    for slug, status in STATUSES.items()
    if status not in (400, 404, 422) and slug not in refusals.STATUSES
}
_OF_DOMAIN: Mapping[type[SizingError], str] = {
    UnknownModel: "unknown-model",
    UnknownGpu: "unknown-gpu",
    UnknownSection: "unknown-section",
    InvalidParameters: "invalid-parameters",
    UnsupportedArchitecture: "unsupported-architecture",
    MalformedBody: "malformed-body",
}
# Statuses that name a number of bytes, and where it is set; a body's limit is that of its address.
_BYTE_LIMITS = {413: None, 414: "MAX_URL_BYTES", 431: "MAX_HEADER_BYTES"}
# Headers that describe the replaced HTML body, not the error.
_BODY_HEADERS = frozenset({"content-type", "content-length"})


class NotAcceptable(Exception):
    """No offered media type satisfies the Accept header."""

    def __init__(self, offered: Sequence[str]) -> None:
        super().__init__(", ".join(offered))
        self.offered = tuple(offered)


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem: its type's slug (None: no type beyond the status), its status, and what goes with it."""

    slug: str | None
    status: int
    values: Mapping[str, object] = field(default_factory=dict)
    errors: Sequence[ParameterError] = ()
    suggestions: Sequence[str] | None = None
    headers: Sequence[tuple[str, str]] = ()


def register(app: Flask) -> None:
    """Answer every error of the application as a problem."""
    app.register_error_handler(SizingError, _domain_error)
    app.register_error_handler(Refused, _refused)
    app.register_error_handler(NotAcceptable, _not_acceptable)
    app.register_error_handler(HTTPException, _http_error)
    app.register_error_handler(Exception, _unexpected)


def _domain_error(error: Exception) -> Response:
    slug = next((slug for kind, slug in _OF_DOMAIN.items() if isinstance(error, kind)), None)
    if slug is None:
        return _unexpected(error)
    problem = Problem(slug, STATUSES[slug])
    if isinstance(error, UnknownName):
        values = {"name": error.name[:_LONGEST_NAME], "suggestions": error.suggestions}
        problem = Problem(slug, STATUSES[slug], values, suggestions=error.suggestions)
    elif isinstance(error, InvalidParameters):
        problem = Problem(slug, STATUSES[slug], errors=error.errors)
    elif isinstance(error, UnsupportedArchitecture):
        problem = _unreadable(error, slug)
    return answer(problem)


def _refused(error: Exception) -> Response:
    assert isinstance(error, Refused)
    slug = refusals.SLUGS[type(error)]
    if STATUSES[slug] == HTTPStatus.SERVICE_UNAVAILABLE:
        _LOG.warning("storage refused", problem=slug, reason=error.values.get("reason"))
    if isinstance(error, TooManyPending):  # a key that leaked looks like this
        _LOG.warning("an API key is at its limit", **error.values)
    return answer(Problem(slug, STATUSES[slug], error.values, headers=refusals.headers(error)))


def _unreadable(error: UnsupportedArchitecture, slug: str) -> Problem:
    """A config that cannot be read, with every field that is missing or out of range."""
    faults = [ParameterError(f"{error.place}.{name}", "missing") for name in error.missing]
    faults += [
        ParameterError(f"{error.place}.{name}", "out_of_range", (0, most), {"minimum": 0, "maximum": most})
        for name, most in error.excessive.items()
    ]
    values = {
        "architecture": error.architecture[:_LONGEST_NAME],
        "missing": (*error.missing, *error.excessive),
    }
    return Problem(slug, STATUSES[slug], values, errors=faults)


def _not_acceptable(error: Exception) -> Response:
    assert isinstance(error, NotAcceptable)
    fault = ParameterError("Accept", "not_allowed", error.offered)
    return answer(Problem("not-acceptable", STATUSES["not-acceptable"], errors=(fault,)))


def _http_error(error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    underlying = error.get_response(request.environ)
    status = underlying.status_code
    if status < HTTPStatus.BAD_REQUEST:  # a redirect
        return Response(underlying.get_data(), status, underlying.headers)
    headers = [(name, value) for name, value in underlying.headers if name.lower() not in _BODY_HEADERS]
    values: dict[str, object] = {}
    if status in _BYTE_LIMITS:
        setting = _BYTE_LIMITS[status]
        values["limit_bytes"] = current_app.config[setting] if setting else request.max_content_length
    if status == HTTPStatus.UNSUPPORTED_MEDIA_TYPE:
        headers.append(("Accept", JSON))
    return answer(Problem(_OF_STATUS.get(status), status, values, headers=headers))


def _unexpected(error: Exception) -> Response:
    _LOG.error("unexpected error", path=request.path, exc_info=error)
    return answer(Problem("internal-error", STATUSES["internal-error"]))


def answer(problem: Problem) -> Response:
    """The response of a problem in the request's language."""
    language = g.language
    response = Response(
        to_json(_document(problem, voice(language))), problem.status, problem.headers, mimetype=PROBLEM
    )
    response.headers["Content-Language"] = content_language(language)
    response.headers["Cache-Control"] = "no-store"
    response.vary.update(("Accept", "Accept-Language"))
    return response


def _document(problem: Problem, speaker: Voice) -> dict[str, object]:
    if problem.slug is None:
        title = detail = HTTPStatus(problem.status).phrase
    else:
        title, detail = problem_text(speaker, problem.slug, **problem.values)
    document: dict[str, object] = {
        "type": "about:blank" if problem.slug is None else f"/problems/{problem.slug}",
        "title": title,
        "status": problem.status,
        "detail": detail,
        "instance": request.path,
    }
    if problem.suggestions is not None:
        document["suggestions"] = list(problem.suggestions)
    if problem.errors:
        document["errors"] = [_error(error, speaker) for error in problem.errors]
    document |= {name: problem.values[name] for name in refusals.MEMBERS.get(problem.slug or "", ())}
    if problem.slug == "internal-error":
        document["request_id"] = request.environ.get("sizing.request_id")
    return document


def _error(error: ParameterError, speaker: Voice) -> dict[str, object]:
    document: dict[str, object] = {
        "parameter": error.parameter,
        "code": error.code,
        "message": parameter_message(speaker, error),
    }
    if error.allowed is not None:
        document["allowed"] = list(error.allowed)
    return document
