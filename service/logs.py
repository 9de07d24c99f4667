"""Logs: one JSON object a line on standard error."""

import logging
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import lru_cache
from time import perf_counter, time
from typing import IO

import orjson
import structlog

from service.journal import Seen

# Local variables would put whole catalogs, and what callers sent, into the logs.
_TRACEBACKS = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
# Whole lines in pieces of this size: a pipe that several workers write to does not mix them up (PIPE_BUF).
_PIECE = 4096
_REMEMBERED = 1024


class RequestLines:
    """Lines of requests, as structlog would write them, for many requests at once.

    Nothing is written before `configure_logs`. A line has no query, address or header of the caller's but the
    ids that it sent to be found again.
    """

    def __init__(self) -> None:
        self._stream: IO[bytes] | None = None

    def send_to(self, stream: IO[bytes] | None) -> None:
        """Write there from now on, None: nowhere."""
        self._stream = stream

    def write(self, requests: Iterable[Seen]) -> None:
        """A line for each request, and nothing when the stream is gone."""
        stream = self._stream
        if stream is None:
            return
        since = time() - perf_counter()
        lines = "".join([_line(since, *request) for request in requests]).encode()
        try:
            for piece in _pieces(lines):
                stream.write(piece)
                stream.flush()
        except (OSError, ValueError):
            return


REQUEST_LINES = RequestLines()


def configure_logs(level: str) -> None:
    """Set up logs for the process; lines below `level` are not built."""
    number = logging.getLevelNamesMapping()[level]
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.ExceptionRenderer(_TRACEBACKS),
            structlog.processors.JSONRenderer(serializer=_to_json),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.BytesLoggerFactory(sys.stderr.buffer),
        cache_logger_on_first_use=True,
    )
    REQUEST_LINES.send_to(sys.stderr.buffer if number <= logging.INFO else None)


def _to_json(event: object, **options: object) -> bytes:
    default = options.get("default")
    return orjson.dumps(event, default=default if callable(default) else None)


def _line(
    since: float,
    method: str,
    path: str,
    status: str,
    recorded: tuple[tuple[str, str], ...],
    cache: str,
    request_id: str,
    seconds: float,
    ended: float,
    traceparent: str,
) -> str:
    """The line of a request, by the fields of `Seen`. since: what makes Unix time of `ended`."""
    whole, part = divmod(int(1e6 * (ended + since)), 1_000_000)
    trace = f'"{traceparent}"' if traceparent else "null"
    # The ids are of characters that JSON takes as they are; what else differs is digits.
    return (
        f'{_kind(method, path, status, recorded, cache)},"request_id":"{request_id}","traceparent":{trace},'
        f'"duration_ms":{1000 * seconds:.3f},"timestamp":"{_second(whole)}.{part:06d}Z"}}\n'
    )


@lru_cache(_REMEMBERED)
def _kind(method: str, path: str, status: str, recorded: tuple[tuple[str, str], ...], cache: str) -> str:
    """The part of a line that the requests of one kind share, without the brace that closes it."""
    said = dict(recorded)
    shared = {
        "event": "request",
        "level": "info",
        "method": method,
        "path": path,
        "route": said.get("sizing.route"),
        "status": int(status[:3]),
        "language": said.get("sizing.language"),
        "cache": cache,
    }
    return orjson.dumps(shared)[:-1].decode()


@lru_cache(8)
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _pieces(lines: bytes) -> Iterator[bytes]:
    """Whole lines in pieces of the size that a pipe takes at once; a longer line is a piece of its own."""
    start = 0
    while start < len(lines):
        end = lines.rfind(b"\n", start, start + _PIECE) + 1 or lines.find(b"\n", start) + 1
        yield lines[start:end]
        start = end
