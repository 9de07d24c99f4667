"""What is asked: requests straight into the application, and questions that no cache has seen."""

import itertools
import json
from collections.abc import Callable, Iterable
from io import BytesIO
from typing import Any
from wsgiref.util import setup_testing_defaults

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
QUESTION = "model=kimi-k3.1-pro&gpu=h20-141gb&quantization=q4_k_m"
_fresh = itertools.count(1)


def call(
    application: Application, path: str, query: str = "", body: Any = None, **headers: str
) -> tuple[int, bytes]:
    """Status and body of one request."""
    environ: dict[str, Any] = {"PATH_INFO": path, "QUERY_STRING": query, **headers}
    setup_testing_defaults(environ)
    if body is not None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        environ |= {"REQUEST_METHOD": "POST", "CONTENT_TYPE": "application/json"}
        environ |= {"CONTENT_LENGTH": str(len(content)), "wsgi.input": BytesIO(content)}
    status: list[str] = []
    answer = application(environ, lambda line, _headers, _error=None: status.append(line))
    try:
        return int(status[0][:3]), b"".join(answer)
    finally:
        close = getattr(answer, "close", None)
        if close is not None:
            close()


def fresh(query: str) -> str:
    """A query, or an address with one, that no cache has seen: the reserved bytes differ each time."""
    return f"{query}&reserved_memory_bytes={next(_fresh)}"
