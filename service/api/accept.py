"""Which representation an answer has: RFC 9110 section 12.5.1."""

import re
from collections.abc import Sequence

JSON = "application/json"
HTML = "text/html"
MARKDOWN = "text/markdown"
PROBLEM = "application/problem+json"
CSS = "text/css"
CSV = "text/csv"
JAVASCRIPT = "text/javascript"
XML = "application/xml"
SVG = "image/svg+xml"
TEXT = "text/plain"

_RANGE = re.compile(r"\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)/([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*")
_QUALITY = re.compile(r"\s*[qQ]\s*=\s*(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)\s*")
_LONGEST_HEADER = 2000


def choose(accept: str | None, offered: Sequence[str]) -> str | None:
    """The offered media type that the header likes best, None when it refuses them all.

    The most specific range decides each type's quality; among equals the earlier offer wins. An absent,
    empty or wholly malformed header accepts everything; parameters other than `q` are not looked at.
    """
    ranges = _ranges(accept or "")
    if not ranges:
        return offered[0]
    best = max(offered, key=lambda offer: _quality(offer, ranges))  # max keeps the first of equals
    return best if _quality(best, ranges) > 0 else None


def _ranges(header: str) -> dict[tuple[str, str], float]:
    """(type, subtype) -> quality; ranges that are not well formed are left out."""
    found: dict[tuple[str, str], float] = {}
    for part in header[:_LONGEST_HEADER].split(","):
        media_range, *parameters = part.split(";")
        match = _RANGE.fullmatch(media_range)
        if match:
            key = (match[1].lower(), match[2].lower())
            found[key] = max(found.get(key, 0.0), _declared_quality(parameters))
    return found


def _declared_quality(parameters: Sequence[str]) -> float:
    for parameter in parameters:
        match = _QUALITY.fullmatch(parameter)
        if match:
            return float(match[1])
    return 1.0


def _quality(offer: str, ranges: dict[tuple[str, str], float]) -> float:
    main, _, sub = offer.partition("/")
    for key in ((main, sub), (main, "*"), ("*", "*")):
        if key in ranges:
            return ranges[key]
    return 0.0
