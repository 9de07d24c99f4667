"""An answer of this process's memory as it goes out: nothing is put together again for a hit."""

from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from wsgiref.types import WSGIEnvironment

from service.cache.answers import CachedAnswer, Pairs
from service.cache.conditional import matches

# RFC 9110 15.4.5: what a 304 repeats of the 200.
_OF_NOT_MODIFIED = frozenset(
    {"cache-control", "content-language", "content-location", "etag", "expires", "vary"}
)
_NOT_MODIFIED = "304 Not Modified"
_NOTHING: tuple[bytes, ...] = ()

Parts = tuple[str, Pairs, tuple[bytes, ...]]


@dataclass(frozen=True, slots=True)
class Ready:
    """Status line, headers and body of an answer, and of the 304 that may stand for it.

    headers, not_modified: all that does not belong to one request. recorded: what logs and metrics want.
    """

    status: str
    headers: Pairs
    not_modified: Pairs
    body: tuple[bytes, ...]
    etag: str
    recorded: Pairs

    def parts(self, environ: WSGIEnvironment) -> Parts:
        """Status line, headers and body: a 304 when the client has the answer, no body for HEAD."""
        validator = environ.get("HTTP_IF_NONE_MATCH")
        if validator and (validator == self.etag or matches(validator, self.etag)):
            return _NOT_MODIFIED, self.not_modified, _NOTHING
        return self.status, self.headers, self.body if environ["REQUEST_METHOD"] == "GET" else _NOTHING


def ready(answer: CachedAnswer, extra: Pairs = (), always: Pairs = ()) -> Ready:
    """An answer, as `finished` returns it, prepared for sending.

    extra: headers beside the answer's own; always: those that a 304 has as well.
    """
    repeated = tuple((name, value) for name, value in answer.headers if name.lower() in _OF_NOT_MODIFIED)
    return Ready(
        status=status_line(answer.status),
        headers=(*answer.headers, *extra, *always),
        not_modified=(*repeated, *always),
        body=(answer.body,),
        # Only a success has a validator: `*` must not turn a problem into a 304.
        etag=answer.etag if answer.status == HTTPStatus.OK else "",
        recorded=answer.recorded,
    )


@cache
def status_line(status: int) -> str:
    """`200 OK`, `599 Unknown`."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"{status} Unknown"
