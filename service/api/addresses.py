"""Addresses of the pages for people: tidy queries, the same page in other languages, absolute links."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from flask import Request, Response, redirect

from service.i18n import LANGUAGES


@dataclass(frozen=True, slots=True)
class Alternate:
    """The same page in another language. tag: of the API; hreflang: as HTML names it."""

    href: str
    tag: str
    hreflang: str
    endonym: str


def tidied(request: Request) -> Response | None:
    """A redirect to the address without empty parameters, None when there are none.

    A form cannot leave out a field that is at its default; the resource itself refuses empty values.
    """
    given = list(request.args.items(multi=True))
    kept = [(name, value) for name, value in given if value.strip()]
    if len(kept) == len(given):
        return None
    found = redirect(address(request.path, kept), code=302)
    found.headers["Cache-Control"] = "no-store"
    assert isinstance(found, Response)
    return found


def address(path: str, query: Any, public_url: str | None = None) -> str:
    """A path with its query; absolute when the service knows its own address."""
    text = urlencode(query)
    return f"{public_url or ''}{path}{'?' if text else ''}{text}"


def alternates(path: str, query: Mapping[str, str], public_url: str | None = None) -> list[Alternate]:
    """The page in each language; `query` without `lang`."""
    return [
        Alternate(
            address(path, {**query, "lang": language.tag}, public_url),
            language.tag,
            language.content_tag,
            language.endonym,
        )
        for language in LANGUAGES.values()
    ]


def without_language(request: Request) -> dict[str, str]:
    """The request's parameters, but for the language."""
    return {name: value for name, value in request.args.items() if name != "lang"}
