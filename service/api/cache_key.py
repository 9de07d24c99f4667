"""Which requests the byte cache may answer, and everything that their answers depend on."""

from collections.abc import Callable
from functools import lru_cache
from urllib.parse import parse_qsl, quote, urlencode
from wsgiref.types import WSGIEnvironment

from service.api.accept import CSS, CSV, HTML, JAVASCRIPT, JSON, MARKDOWN, TEXT, XML, choose
from service.cache import answer_key
from service.catalog import Catalog
from service.errors import InvalidParameters
from service.i18n import negotiate

_OF_THE_MOMENT = ("/health/", "/metrics")
# Whose answers hold measurements, which users upload while the service runs.
_MEASURED = ("/v1/measurements", "/v1/sizing", "/v1/fragments/", "/v1/report", "/report")
_UPLOADS = _MEASURED[0]
Revision = Callable[[], str]
# What resources offer; a header's preference among each of these sets is all that it can decide.
_OFFERS = (
    (JSON,),
    (HTML,),
    (CSS,),
    (JAVASCRIPT,),
    (XML,),
    (TEXT,),
    (JSON, HTML, MARKDOWN),
    (JSON, HTML, CSV),
    (JSON, CSV),
)
_REMEMBERED_HEADERS = 1024
_LONGEST_HEADER = 2000  # neither negotiation looks further
_LONGEST_QUERY = 2000  # longer ones, far from any real question, stand for themselves
_LONGEST_NAME = 100  # names of the catalog are shorter; a longer text is a fault that must stay one
_LANG = "lang"
_MODELS, _GPUS = frozenset({"model", "b_model"}), frozenset({"gpu", "b_gpu"})


def classify_with(revision: Revision) -> Callable[[WSGIEnvironment], str | None]:
    """What gives the key of a request's answer: its address, language and representation.

    revision: of the uploaded measurements. None for the probes, and for what only the owner of an API key may
    see: that is neither kept nor shared with others who ask at the same time.
    """

    def of(environ: WSGIEnvironment) -> str | None:
        path = environ.get("PATH_INFO", "")
        if path.startswith(_OF_THE_MOMENT) or (path.startswith(_UPLOADS) and "HTTP_AUTHORIZATION" in environ):
            return None
        return answer_key(
            environ,
            _language(_accepted(environ)),
            _representation(_accept(environ)),
            *_revised(path, revision),
        )

    return of


def _revised(path: str, revision: Revision) -> tuple[str, ...]:
    return (revision(),) if path.startswith(_MEASURED) else ()


def canonical(
    catalog: Catalog, revision: Revision = lambda: ""
) -> Callable[[WSGIEnvironment], tuple[str, str] | None]:
    """What `ByteCache` needs to see that two addresses ask the same.

    The canonical query has its parameters in the order of their names, ids for the names of models and GPUs,
    and the tag that `lang` means; with `lang` the Accept-Language header does not count.
    """

    def of(environ: WSGIEnvironment) -> tuple[str, str] | None:
        pairs = _pairs(environ.get("QUERY_STRING", ""))
        if pairs is None:
            return None
        values = {name: _meant(name, value, catalog) for name, value in sorted(pairs.items())}
        # As unreserved as the RFC lets them be: what is asked often stays readable.
        query = urlencode(values, quote_via=quote, safe="/:,")
        spoken = values.get(_LANG)
        language = _spoken(spoken) if spoken else None
        key = answer_key(
            {**environ, "QUERY_STRING": query},
            language or _language(_accepted(environ)),
            _representation(_accept(environ)),
            *_revised(environ.get("PATH_INFO", ""), revision),
        )
        return key, query

    return of


def _pairs(query: str) -> dict[str, str] | None:
    """Each parameter once, None for a query that is not plain: what is wrong with it must be told as sent."""
    if len(query) > _LONGEST_QUERY or not query.isascii():
        return None
    try:
        found = parse_qsl(query, keep_blank_values=True, errors="strict")
    except ValueError:
        return None
    pairs = dict(found)
    # Repeated or empty parameters are faults, or a form's, and end elsewhere.
    return pairs if len(pairs) == len(found) and all(pairs.values()) else None


def _meant(name: str, value: str, catalog: Catalog) -> str:
    if len(value) > _LONGEST_NAME:
        return value
    if name in _MODELS:
        return catalog.model_names.find(value) or value
    if name in _GPUS:
        return catalog.gpu_names.find(value) or value
    return (_spoken(value) or value) if name == _LANG else value


def _spoken(lang: str) -> str | None:
    try:
        return negotiate(lang)
    except InvalidParameters:
        return None


def _accepted(environ: WSGIEnvironment) -> str:
    header: str = environ.get("HTTP_ACCEPT_LANGUAGE", "")
    return header[:_LONGEST_HEADER]


def _accept(environ: WSGIEnvironment) -> str:
    header: str = environ.get("HTTP_ACCEPT", "")
    return header[:_LONGEST_HEADER]


@lru_cache(_REMEMBERED_HEADERS)
def _language(header: str) -> str:
    """The language without `lang`, which is part of the address."""
    return negotiate(None, header)


@lru_cache(_REMEMBERED_HEADERS)
def _representation(header: str) -> str:
    return " ".join(str(choose(header, offered)) for offered in _OFFERS)
