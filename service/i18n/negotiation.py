"""Which language an answer speaks: `lang` beats Accept-Language, which beats the default.

Matching looks at the primary subtag alone (RFC 4647 3.4 lookup, cut to one subtag): the matchers of the
libraries compare whole tags and so never find `zh-Hans` for a browser that asks for `zh-CN`.
"""

import re

from service.errors import InvalidParameters, ParameterError
from service.i18n.languages import DEFAULT, LANGUAGES

# BCP 47 shape, with the underscore of POSIX locale names.
_TAG = re.compile(r"([A-Za-z]{2,8})(?:[-_][A-Za-z0-9]{1,8})*")
# RFC 9110 12.4.2: at most three decimals, never above 1.
_QUALITY = re.compile(r"[qQ]=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)")
_LONGEST_HEADER = 1000  # a browser sends fewer than 200 characters


def negotiate(lang: str | None = None, accept_language: str | None = None) -> str:
    """The tag of the language to answer in.

    lang: the query parameter, None when it was not given. accept_language: the header's value.
    Raises InvalidParameters when `lang` is malformed or not spoken; a header never fails.
    """
    if lang is not None:
        return _required(lang)
    qualities = _qualities(accept_language or "")
    wanted = [(quality, tag) for tag, quality in qualities.items() if quality > 0]
    for _, tag in sorted(wanted, key=lambda entry: -entry[0]):  # stable: the header's order breaks a tie
        if tag in LANGUAGES:
            return tag
        if tag == "*":
            return _any_but({name for name, quality in qualities.items() if quality == 0})
    return DEFAULT


def _required(lang: str) -> str:
    tag = _primary(lang)
    if tag is None or tag not in LANGUAGES:
        raise InvalidParameters(ParameterError("lang", "not_allowed", allowed=tuple(LANGUAGES)))
    return tag


def _qualities(header: str) -> dict[str, float]:
    """Primary tag (or `*`) -> highest quality, in the order of the header; malformed ranges are left out."""
    found: dict[str, float] = {}
    for part in header[:_LONGEST_HEADER].split(","):
        language_range, *parameters = (piece.strip() for piece in part.split(";"))
        tag = "*" if language_range == "*" else _primary(language_range)
        quality = _quality(parameters)
        if tag is not None and quality is not None:
            found[tag] = max(found.get(tag, 0.0), quality)
    return found


def _primary(language_range: str) -> str | None:
    match = _TAG.fullmatch(language_range)
    return match.group(1).lower() if match else None


def _quality(parameters: list[str]) -> float | None:
    if not parameters:
        return 1.0
    match = _QUALITY.fullmatch(parameters[0]) if len(parameters) == 1 else None
    return float(match.group(1)) if match else None


def _any_but(refused: set[str]) -> str:
    if DEFAULT not in refused:
        return DEFAULT
    return next((tag for tag in LANGUAGES if tag not in refused), DEFAULT)
