"""A finished answer as it is kept: status, headers and final bytes; the encoding cannot execute anything."""

import json
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from zlib import crc32

_MAGIC = b"SZA1"
_CRC_BYTES = 4
_LENGTH_BYTES = 4
_HEAD = len(_MAGIC) + _CRC_BYTES + _LENGTH_BYTES

Pairs = tuple[tuple[str, str], ...]


class CorruptAnswer(ValueError):
    """Bytes that are not an answer as `to_bytes` writes it."""


@dataclass(frozen=True, slots=True)
class CachedAnswer:
    """An answer to a GET.

    headers: without those of one request or connection (X-Request-ID, Date, Set-Cookie, Connection).
    body: final bytes, encoded as Content-Encoding says.
    etag: the header's value, quotes included, "" without one.
    recorded: what the application left in the WSGI environ for logs and metrics, to be left again on a hit.
    """

    status: int
    headers: Pairs
    body: bytes
    etag: str = ""
    recorded: Pairs = ()

    @property
    def storable(self) -> bool:
        """Whether the answer may be kept: a 200 with a strong validator that does not forbid it."""
        control = self.header("Cache-Control").lower()
        return (
            self.status == HTTPStatus.OK
            and self.etag.startswith('"')
            and "no-store" not in control
            and "private" not in control
        )

    @property
    def size(self) -> int:
        """Bytes of content, to bound a cache by."""
        pairs = (*self.headers, *self.recorded)
        return len(self.body) + len(self.etag) + sum(len(name) + len(value) for name, value in pairs)

    def header(self, name: str) -> str:
        """The value of the first header of that name, "" without one."""
        wanted = name.lower()
        return next((value for given, value in self.headers if given.lower() == wanted), "")

    def to_bytes(self) -> bytes:
        """Magic, CRC-32 of the rest, length of a JSON head, the head, the body."""
        head = json.dumps(
            [self.status, self.headers, self.etag, self.recorded], ensure_ascii=False, separators=(",", ":")
        ).encode()
        rest = len(head).to_bytes(_LENGTH_BYTES, "big") + head + self.body
        return _MAGIC + crc32(rest).to_bytes(_CRC_BYTES, "big") + rest

    @classmethod
    def from_bytes(cls, data: bytes) -> "CachedAnswer":
        """The answer that `to_bytes` wrote. Raises CorruptAnswer for anything else."""
        rest = data[len(_MAGIC) + _CRC_BYTES :]
        checksum = int.from_bytes(data[len(_MAGIC) : len(_MAGIC) + _CRC_BYTES], "big")
        if len(data) < _HEAD or not data.startswith(_MAGIC) or crc32(rest) != checksum:
            raise CorruptAnswer("not an answer, or damaged")
        length = int.from_bytes(rest[:_LENGTH_BYTES], "big")
        head, body = rest[_LENGTH_BYTES : _LENGTH_BYTES + length], rest[_LENGTH_BYTES + length :]
        try:
            status, headers, etag, recorded = json.loads(head)
            return cls(_status(status), _pairs(headers), body, _text(etag), _pairs(recorded))
        except (ValueError, TypeError, RecursionError) as error:
            raise CorruptAnswer("the head is not as written") from error


def _status(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 100 <= value <= 599:
        raise CorruptAnswer("status")
    return value


def _text(value: Any) -> str:
    # A line break would let a damaged value add headers to an answer.
    if not isinstance(value, str) or "\r" in value or "\n" in value:
        raise CorruptAnswer("text")
    return value


def _pairs(value: Any) -> Pairs:
    if not isinstance(value, list):
        raise CorruptAnswer("pairs")
    return tuple((_text(name), _text(content)) for name, content in value)
