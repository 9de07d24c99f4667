"""Stored encodings: an answer is compressed once, and each encoding is a representation with its own ETag."""

import gzip
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from http import HTTPStatus

import brotli  # type: ignore[import-untyped]
import zstandard

from service.cache.answers import CachedAnswer, Pairs

IDENTITY = ""
# Below, the headers weigh as much as what is saved.
_COMPRESS_FROM = 1024
# Above, the cheapest level: a client waits for the first encoding of an answer, see `encoded`.
_LARGE_FROM = 2**20
_TEXTS = ("text/", "application/json", "application/problem+json", "application/xml", "image/svg+xml")
_REMEMBERED_HEADERS = 1024
_LONGEST_HEADER = 1000
# RFC 9110 12.4.2: at most three decimals, never above 1.
_CODING = re.compile(r"\s*([A-Za-z0-9!#$%&'*+.^_`|~-]+)\s*(?:;\s*[qQ]=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*)?")


def _brotli(body: bytes, large: bool) -> bytes:
    return bytes(brotli.compress(body, mode=brotli.MODE_TEXT, quality=1 if large else 5))


def _zstd(body: bytes, large: bool) -> bytes:
    # A compressor serves one thread at a time, so each call has its own.
    return zstandard.ZstdCompressor(level=1 if large else 6).compress(body)


def _gzip(body: bytes, large: bool) -> bytes:
    return gzip.compress(body, 1 if large else 6, mtime=0)


_COMPRESS: Mapping[str, Callable[[bytes, bool], bytes]] = {"br": _brotli, "zstd": _zstd, "gzip": _gzip}
CODINGS = tuple(_COMPRESS)
"""The encoded forms that an answer may have beside the plain one, best first where a client likes them alike:
with texts of this service brotli is the smallest."""


def negotiate_encoding(header: str) -> str:
    """The coding of CODINGS that Accept-Encoding likes best, or IDENTITY (RFC 9110 12.5.3).

    A header that refuses all of them gets IDENTITY: an answer that can be read beats a 406.
    """
    return _negotiated(header[:_LONGEST_HEADER])


@lru_cache(_REMEMBERED_HEADERS)
def _negotiated(header: str) -> str:
    qualities: dict[str, float] = {}
    for part in header.split(","):
        match = _CODING.fullmatch(part)
        if match:
            qualities[match[1].lower().removeprefix("x-")] = float(match[2] or 1)
    others = qualities.get("*", 0.0)
    best = max(CODINGS, key=lambda coding: qualities.get(coding, others))  # max keeps the first of equals
    wanted = qualities.get(best, others)
    # Without a word about identity it is acceptable, but less so than anything that is named.
    return best if wanted > 0 and wanted >= qualities.get("identity", 0.0) else IDENTITY


def compressible(answer: CachedAnswer) -> bool:
    """Whether an answer has encoded forms beside the plain one; depends on the answer alone."""
    return (
        answer.status == HTTPStatus.OK
        and len(answer.body) >= _COMPRESS_FROM
        and answer.etag.startswith('"')
        and not answer.header("Content-Encoding")
        and "no-transform" not in answer.header("Cache-Control").lower()
        and answer.header("Content-Type").lower().startswith(_TEXTS)
    )


def finished(answer: CachedAnswer) -> CachedAnswer:
    """The plain form as it is kept: with its length, and Vary where encoded forms exist beside it."""
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
    Costs at most some milliseconds for a report of 150 KB and some ten for a matrix of 19 MB.
    """
    if coding == IDENTITY or not compressible(answer):
        return answer
    body = _COMPRESS[coding](answer.body, len(answer.body) > _LARGE_FROM)
    etag = f'{answer.etag[:-1]}-{coding}"'
    headers = _set(_with_length(answer.headers, body), "ETag", etag)
    return replace(answer, headers=(*headers, ("Content-Encoding", coding)), body=body, etag=etag)


def _with_length(headers: Pairs, body: bytes) -> Pairs:
    return _set(headers, "Content-Length", str(len(body)))


def _set(headers: Pairs, name: str, value: str) -> Pairs:
    lowered = name.lower()
    return (*(pair for pair in headers if pair[0].lower() != lowered), (name, value))
