"""`/sitemap.xml`, with each page in all languages, and `/robots.txt`, which names it."""

from collections.abc import Iterator, Mapping
from itertools import islice, product

from flask import Blueprint, Response, request
from markupsafe import escape
from werkzeug.exceptions import NotFound

from service.api.accept import TEXT, XML
from service.api.addresses import address, alternates
from service.api.answers import bytes_answer, negotiated
from service.api.reading import read_query
from service.api.schemas import LANGUAGE_QUERY
from service.catalog import Catalog

_MOST_ADDRESSES = 50_000  # of one sitemap, sitemaps.org
_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
    'xmlns:xhtml="http://www.w3.org/1999/xhtml">\n'
)
# Pages are for crawlers; answers of the API are parts of them.
_ROBOTS = "User-agent: *\nDisallow: /v1/\nDisallow: /metrics\nDisallow: /health/\n"


def blueprint(catalog: Catalog, public_url: str | None) -> Blueprint:
    """The resources over a catalog. public_url: where the pages are reached from outside, if known."""
    resource = Blueprint("sitemap", __name__)

    @resource.get("/sitemap.xml")
    def sitemap() -> Response:
        read_query(LANGUAGE_QUERY, request)
        if public_url is None:  # a sitemap holds absolute addresses only
            raise NotFound()
        negotiated((XML,))
        return bytes_answer(_sitemap(catalog, public_url), XML, localized=False)

    @resource.get("/robots.txt")
    def robots() -> Response:
        read_query(LANGUAGE_QUERY, request)
        negotiated((TEXT,))
        named = f"Sitemap: {address('/sitemap.xml', {}, public_url)}\n" if public_url else ""
        return bytes_answer(f"{_ROBOTS}{named}".encode(), TEXT, localized=False)

    return resource


def _sitemap(catalog: Catalog, public_url: str) -> bytes:
    """The start, every model, every accelerator, and every model on every accelerator, in every language."""
    pages = (page for path, query in _subjects(catalog) for page in _pages(path, query, public_url))
    return f"{_HEAD}{''.join(islice(pages, _MOST_ADDRESSES))}</urlset>\n".encode()


def _subjects(catalog: Catalog) -> Iterator[tuple[str, Mapping[str, str]]]:
    yield "/", {}
    for model in catalog.models:
        yield "/report", {"model": model}
    for gpu in catalog.gpus:
        yield "/report", {"gpu": gpu}
    for model, gpu in product(catalog.models, catalog.gpus):
        yield "/report", {"model": model, "gpu": gpu}


def _pages(path: str, query: Mapping[str, str], public_url: str) -> Iterator[str]:
    """The page in each language, with links to all of them, itself included."""
    found = alternates(path, query, public_url)
    pairs = [(other.hreflang, other.href) for other in found]
    pairs.append(("x-default", address(path, query, public_url)))
    links = "".join(
        f'<xhtml:link rel="alternate" hreflang="{tag}" href="{escape(href)}"/>' for tag, href in pairs
    )
    for other in found:
        yield f"<url><loc>{escape(other.href)}</loc>{links}</url>\n"
