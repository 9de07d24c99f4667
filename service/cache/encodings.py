"""Stored encodings: an answer is compressed once, and each encoding is a representation with its own ETag."""

import gzip
import re
from dataclasses import replace
from functools import lru_cache
from http import HTTPStatus

from service.cache.answers import CachedAnswer, Pairs

GZIP = "gzip"
IDENTITY = ""
CODINGS = (GZIP,)
"""The encoded forms that an answer may have beside the plain one."""
# Below, the headers weigh as much as what is saved.
_COMPRESS_FROM = 1024
_LEVEL = 6
_TEXTS = ("text/", "application/json", "application/problem+json", "application/xml", "image/svg+xml")
_REMEMBERED_HEADERS = 1024
_LONGEST_HEADER = 1000
# RFC 9110 12.4.2: at most three decimals, never above 1.
_CODING = re.compile(r"\s*([A-Za-z0-9!#$%&'*+.^_`|~-]+)\s*(?:;\s*[qQ]=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*)?")


def negotiate_encoding(header: str) -> str:
    """GZIP, or IDENTITY when Accept-Encoding does not want it (RFC 9110 12.5.3).

    A header that refuses both gets IDENTITY: an answer that can be read beats a 406.
    """
    return _negotiated(header[:_LONGEST_HEADER])


@lru_cache(_REMEMBERED_HEADERS)
def _negotiated(header: str) -> str:
    qualities: dict[str, float] = {}
    for part in header.split(","):
        match = _CODING.fullmatch(part)
        if match:
            qualities[match[1].lower()] = float(match[2] or 1)
    wanted = qualities.get(GZIP, qualities.get("x-gzip", qualities.get("*", 0.0)))
    # Without a word about identity it is acceptable, but less so than anything that is named.
    return GZIP if wanted > 0 and wanted >= qualities.get("identity", 0.0) else IDENTITY


def compressible(answer: CachedAnswer) -> bool:
    """Whether an answer has an encoded form beside the plain one; depends on the answer alone."""
    return (
        answer.status == HTTPStatus.OK
        and len(answer.body) >= _COMPRESS_FROM
        and answer.etag.startswith('"')
        and not answer.header("Content-Encoding")
        and "no-transform" not in answer.header("Cache-Control").lower()
        and answer.header("Content-Type").lower().startswith(_TEXTS)
    )


def finished(answer: CachedAnswer) -> CachedAnswer:
    """The plain form as it is kept: with its length, and Vary where an encoded form exists beside it."""
    headers = _with_length(answer.headers, answer.body)
    if compressible(answer):
        varied = answer.header("Vary")
        if "accept-encoding" not in varied.lower() and varied != "*":
            named = f"{varied}, Accept-Encoding" if varied else "Accept-Encoding"
            headers = _set(headers, "Vary", named)
    return replace(answer, headers=headers)


def encoded(answer: CachedAnswer, coding: str) -> CachedAnswer:
    """The answer in that encoding; the answer itself where it has no encoded form.

    answer: as `finished` returns it. The strong ETag names the coding, because other bytes need another tag.
    """
    if coding == IDENTITY or not compressible(answer):
        return answer
    body = gzip.compress(answer.body, _LEVEL, mtime=0)
    etag = f'{answer.etag[:-1]}-{coding}"'
    headers = _set(_with_length(answer.headers, body), "ETag", etag)
    return replace(answer, headers=(*headers, ("Content-Encoding", coding)), body=body, etag=etag)


def _with_length(headers: Pairs, body: bytes) -> Pairs:
    return _set(headers, "Content-Length", str(len(body)))


def _set(headers: Pairs, name: str, value: str) -> Pairs:
    lowered = name.lower()
    return (*(pair for pair in headers if pair[0].lower() != lowered), (name, value))
