"""The floor: a bare WSGI application that has its answers ready as bytes, to be run by the same gunicorn.

FLOOR_ANSWERS names a JSON file: path -> [[[header name, value], ...], length of the body].
"""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

Pairs = list[tuple[str, str]]
WSGI = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
# What any answer of such a service carries: HTTP's own for content in a language that caches may keep, and
# the two that the API promises with every GET, an id and the leave for other sites to read.
HEADERS = (
    "Content-Type",
    "Content-Length",
    "Content-Language",
    "ETag",
    "Cache-Control",
    "Vary",
    "X-Request-ID",
    "Access-Control-Allow-Origin",
)
FEWEST_HEADERS = ("Content-Type", "Content-Length")


def described(headers: Mapping[str, str], length: int, names: Iterable[str] = HEADERS) -> list[Any]:
    """An answer for the file: those of the headers (by lower-case name), and a length."""
    return [[[name, headers[name.lower()]] for name in names if name.lower() in headers], length]


def application(answers: Mapping[str, tuple[Pairs, list[bytes]]]) -> WSGI:
    """Looks the path up and sends what it finds."""

    def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        headers, body = answers[environ["PATH_INFO"]]
        start_response("200 OK", headers)
        return body

    return app


def _stored(file: str) -> dict[str, tuple[Pairs, list[bytes]]]:
    stored = json.loads(Path(file).read_text(encoding="utf-8"))
    return {
        path: ([(name, value) for name, value in headers], [b"x" * length])
        for path, (headers, length) in stored.items()
    }


if "FLOOR_ANSWERS" in os.environ:
    app = application(_stored(os.environ["FLOOR_ANSWERS"]))
