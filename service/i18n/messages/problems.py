"""Problem types (RFC 9457): the title and the detail of each."""

from collections.abc import Mapping, Sequence

from service.i18n.marking import mark
from service.i18n.messages.refusals import REFUSALS
from service.i18n.messages.sentence import say
from service.i18n.voice import Voice

PROBLEMS: Mapping[str, tuple[str, str]] = {
    "unknown-model": (
        mark("Unknown model"),
        mark("The catalog has no model named “%(name)s”."),
    ),
    "unknown-gpu": (
        mark("Unknown GPU"),
        mark("The catalog has no GPU named “%(name)s”."),
    ),
    "unknown-section": (
        mark("Unknown section"),
        mark("The report has no section named “%(name)s”."),
    ),
    "invalid-parameters": (
        mark("Invalid parameters"),
        mark("At least one parameter is wrong; “errors” names each one with its reason."),
    ),
    "unsupported-architecture": (
        mark("Unsupported architecture"),
        mark("The model architecture “%(architecture)s” cannot be read."),
    ),
    "malformed-body": (
        mark("Malformed request body"),
        mark("The request body is not valid JSON, or it is not a JSON object."),
    ),
    "not-found": (
        mark("Not found"),
        mark("There is nothing at this address."),
    ),
    "method-not-allowed": (
        mark("Method not allowed"),
        mark("This address does not accept the request method; the “Allow” header lists those it accepts."),
    ),
    "not-acceptable": (
        mark("Not acceptable"),
        mark("This resource cannot be sent in any media type that the “Accept” header allows."),
    ),
    "unsupported-media-type": (
        mark("Unsupported media type"),
        mark("The request body must be sent as application/json."),
    ),
    "payload-too-large": (
        mark("Request body too large"),
        mark("The request body is larger than the service accepts."),
    ),
    "uri-too-long": (
        mark("Address too long"),
        mark("The address is longer than the service accepts; send the parameters as a JSON body with POST."),
    ),
    "too-many-requests": (
        mark("Too many requests"),
        mark("There were too many requests; try again after the time given in “Retry-After”."),
    ),
    "headers-too-large": (
        mark("Request headers too large"),
        mark("The request has more or longer headers than the service accepts."),
    ),
    "internal-error": (
        mark("Internal error"),
        mark("The service failed to answer. The request ID helps to find the cause."),
    ),
    "service-unavailable": (
        mark("Service unavailable"),
        mark("The service cannot answer at the moment; please try again later."),
    ),
    **REFUSALS,
}
_LIMIT = mark("The limit is %(limit_bytes)s bytes.")
_RATE = mark(
    "The limit is %(limit_requests)s requests in %(limit_seconds)s seconds; heavy ones count several times."
)
_MISSING = mark("These fields are missing or unusable: %(missing)s.")
_SUGGESTIONS = mark("Did you mean %(suggestions)s?")


def problem_text(voice: Voice, problem_type: str, /, **values: object) -> tuple[str, str]:
    """Title and detail of a problem.

    values: what the detail names (`name`, `architecture`), and what adds a sentence when it is there:
    `suggestions` (ids), `missing` (field names), `limit_bytes`, `limit_requests` with `limit_seconds`. An
    unregistered type reads as an internal error.
    """
    title, detail = PROBLEMS.get(problem_type, PROBLEMS["internal-error"])
    return voice.text(title), voice.paragraph([say(voice, detail, values), *_additions(voice, values)])


def _additions(voice: Voice, values: Mapping[str, object]) -> list[str]:
    sentences = []
    limit = values.get("limit_bytes")
    if isinstance(limit, int):
        sentences.append(voice.text(_LIMIT, limit_bytes=voice.integer(limit)))
    requests, seconds = values.get("limit_requests"), values.get("limit_seconds")
    if isinstance(requests, int) and isinstance(seconds, int):
        limits = {"limit_requests": voice.integer(requests), "limit_seconds": voice.integer(seconds)}
        sentences.append(voice.text(_RATE, **limits))
    if missing := _names(values.get("missing")):
        sentences.append(voice.text(_MISSING, missing=voice.list(missing)))
    if suggestions := _names(values.get("suggestions")):
        sentences.append(voice.text(_SUGGESTIONS, suggestions=voice.choices(suggestions)))
    return sentences


def _names(value: object) -> list[str]:
    return [str(item) for item in value] if isinstance(value, Sequence) and not isinstance(value, str) else []
