"""An application's whole answer, as a value."""

from collections.abc import Callable
from types import TracebackType
from typing import Any
from wsgiref.types import WSGIApplication, WSGIEnvironment

from service.cache.answers import Pairs

_ExcInfo = tuple[type[BaseException], BaseException, TracebackType] | tuple[None, None, None] | None


def collect(application: WSGIApplication, environ: WSGIEnvironment) -> tuple[int, Pairs, bytes]:
    """Status, headers and whole body of an application's answer. Raises what the application raises."""
    started: list[tuple[int, Pairs]] = []
    written: list[bytes] = []

    def start(
        status: str,
        headers: list[tuple[str, str]],
        exc_info: _ExcInfo = None,  # noqa: ARG001 - the WSGI signature
    ) -> Callable[[bytes], Any]:
        started.append((int(status[:3]), tuple(headers)))
        return written.append

    chunks = application(environ, start)
    try:
        written.extend(chunks)
    finally:
        close = getattr(chunks, "close", None)
        if close is not None:
            close()
    status, headers = started[-1]
    return status, headers, b"".join(written)
