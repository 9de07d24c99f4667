"""Which requests the byte cache may answer, and everything that their answers depend on."""

from functools import lru_cache
from wsgiref.types import WSGIEnvironment

from service.api.accept import HTML, JSON, MARKDOWN, choose
from service.cache import answer_key
from service.i18n import negotiate

_OF_THE_MOMENT = ("/health/", "/metrics")
# What resources offer; a header's preference among each of these sets is all that it can decide.
_OFFERS = ((JSON,), (HTML,), ("text/css",), (JSON, HTML, MARKDOWN))
_REMEMBERED_HEADERS = 1024
_LONGEST_HEADER = 2000  # neither negotiation looks further


def classify(environ: WSGIEnvironment) -> str | None:
    """The key of a request's answer: its address, language and representation; None for the probes."""
    if environ.get("PATH_INFO", "").startswith(_OF_THE_MOMENT):
        return None
    return answer_key(
        environ,
        _language(environ.get("HTTP_ACCEPT_LANGUAGE", "")[:_LONGEST_HEADER]),
        _representation(environ.get("HTTP_ACCEPT", "")[:_LONGEST_HEADER]),
    )


@lru_cache(_REMEMBERED_HEADERS)
def _language(header: str) -> str:
    """The language without `lang`, which is part of the address."""
    return negotiate(None, header)


@lru_cache(_REMEMBERED_HEADERS)
def _representation(header: str) -> str:
    return " ".join(str(choose(header, offered)) for offered in _OFFERS)
