"""Answers before anyone asks: what a server prepares before it forks, and what `sizing warm` stores."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from io import BytesIO
from itertools import product
from time import perf_counter
from urllib.parse import urlencode
from wsgiref.types import WSGIEnvironment
from wsgiref.util import setup_testing_defaults

from service.api.accept import HTML, JSON
from service.cache import CACHE_HEADER, ByteCache, collect
from service.catalog import Catalog
from service.i18n import DEFAULT, LANGUAGES
from service.render.registry import SECTIONS

# Formats whose weights are asked for most: llama.cpp's default, as published, then the others of llama.cpp.
_FORMATS = ("q4_k_m", "native", "q8_0", "q6_k", "q5_k_m", "iq4_xs", "q3_k_m", "q2_k")
_LISTS = ("/v1/models", "/v1/gpus", "/v1/engines", "/v1/quantizations", "/v1/sections", "/openapi.json")
_PAGES = ("/", "/docs")
_FRAGMENTS = ("summary", "memory")


@dataclass(frozen=True, slots=True)
class Address:
    """One GET: path, query and Accept."""

    path: str
    query: str = ""
    accept: str = ""


def first_addresses(catalog: Catalog) -> Iterator[Address]:
    """What to prepare, the most useful first: pages and lists, then models by format, then other sections."""
    for path, tag in product(_PAGES, LANGUAGES):
        yield Address(path, urlencode({"lang": tag}), HTML)
    for path in _LISTS:
        yield Address(path, accept=JSON)
    model, gpu = _common(catalog)
    for tag, section in product(LANGUAGES, _FRAGMENTS):
        query = {"gpu": gpu, "lang": tag, "model": model}
        yield Address(f"/v1/fragments/{section}", urlencode(query), HTML)
    # With these every path has been taken once; the first plan of a process takes twice as long as the next.
    yield Address("/v1/costs", urlencode({"gpu": gpu, "model": model}), JSON)
    yield Address("/v1/plan", urlencode({"model": model}), JSON)
    # A matrix weighs every model in a format; what figures follow from is kept from then on.
    for quantization in _FORMATS:
        yield Address("/v1/matrix", urlencode({"quantizations": quantization}), JSON)
    # Then the templates of the other sections, of which a page asks for one or two.
    for section in SECTIONS:
        if section not in _FRAGMENTS:
            query = {"gpu": gpu, "lang": DEFAULT, "model": model}
            yield Address(f"/v1/fragments/{section}", urlencode(query), HTML)


def _common(catalog: Catalog) -> tuple[str, str]:
    """The model with the most measurements, and the accelerator it was measured on most."""
    model = max(catalog.models, key=lambda name: len(catalog.measurements.get(name, ())))
    gpus = [found.gpu for found in catalog.measurements.get(model, ()) if found.gpu in catalog.gpus]
    return model, max(gpus, key=gpus.count, default=next(iter(catalog.gpus)))


def warm_up(
    cached: ByteCache, addresses: Iterable[Address], seconds: float, clock: Callable[[], float] = perf_counter
) -> int:
    """Ask for addresses in order until the time is over; how many were answered.

    It stops after `seconds`, in the middle of the list: a late start helps nobody.
    """
    deadline, answered = clock() + seconds, 0
    for address in addresses:
        if clock() >= deadline:
            break
        ask(cached, address)
        answered += 1
    return answered


def fragments(
    models: Iterable[str],
    gpus: Iterable[str],
    sections: Iterable[str],
    languages: Iterable[str],
    media_types: Iterable[str],
) -> Iterator[Address]:
    """The fragments of every combination."""
    for model, gpu, section, tag, accept in product(models, gpus, sections, languages, media_types):
        query = urlencode({"gpu": gpu, "lang": tag, "model": model})
        yield Address(f"/v1/fragments/{section}", query, accept)


def ask(cached: ByteCache, address: Address) -> tuple[int, str]:
    """Status of one answer, and where it came from, as X-Cache says it."""
    environ: WSGIEnvironment = {"PATH_INFO": address.path, "QUERY_STRING": address.query}
    if address.accept:
        environ["HTTP_ACCEPT"] = address.accept
    setup_testing_defaults(environ)
    environ["wsgi.input"] = BytesIO()
    environ["sizing.request_id"] = "warm-up"
    status, headers, _ = collect(cached, environ)
    return status, dict(headers).get(CACHE_HEADER, "")
