"""The JSON of a request body: bounded before it is parsed, and without anything ambiguous in it."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson
from flask import Request, current_app
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge, UnsupportedMediaType

from service.errors import InvalidParameters, MalformedBody, ParameterError

MOST_LEVELS = 64  # a published config.json nests four deep
MOST_VALUES = 100_000
_MOST_TOLD = 20  # repeated names that a problem lists
_LONGEST_NAME = 200
# A string, with its end or without one: then it takes the rest, so that no byte is looked at twice.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_NOT_STRUCTURE = bytes(set(range(256)) - set(b"[]{},"))
_STEP = np.zeros(256, dtype=np.int8)
_STEP[list(b"[{")], _STEP[list(b"]}")] = 1, -1


class _Repeated(tuple[str, ...]):
    """Paths of the fields that an object has more than once, in itself or in its objects."""


def json_body(request: Request, most_bytes: int | None = None) -> Any:
    """The value of a JSON body of at most `most_bytes`, by default MAX_BODY_BYTES.

    Raises UnsupportedMediaType, RequestEntityTooLarge; InvalidParameters for a body that nests too deep, has
    too many values or gives a field twice; MalformedBody for what is no JSON, such as NaN, Infinity, a
    number that no double holds, or half of a surrogate pair.
    """
    if request.mimetype != "application/json":
        raise UnsupportedMediaType()
    body = whole_body(request, most_bytes)
    check_structure(body)
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise MalformedBody(str(error)) from None
    _refuse_repeated(body)
    return value


def whole_body(request: Request, most_bytes: int | None = None, *, keep: bool = True) -> bytes:
    """The bytes of a body of at most `most_bytes`, by default MAX_BODY_BYTES.

    keep: the request can be asked for them again. Raises UnsupportedMediaType for a compressed body, because
    a small one must not become a large one; RequestEntityTooLarge; MalformedBody for chunks that are none.
    """
    if request.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
        raise UnsupportedMediaType()
    limit = most_bytes or current_app.config["MAX_CONTENT_LENGTH"]
    request.max_content_length = limit
    try:
        body = request.get_data(cache=keep)
    except HTTPException:
        raise
    except Exception as error:  # each server has its own for a body that it cannot read
        raise MalformedBody(type(error).__name__) from None
    # A chunked body is cut at the limit, without an error, while it is read.
    if request.content_length is None and len(body) >= limit:
        raise RequestEntityTooLarge()
    return body


def check_structure(body: bytes) -> None:
    """Raise InvalidParameters for a text that nests too deep or holds too many values; it is not parsed."""
    if len(body) <= MOST_LEVELS:
        return
    structure = _STRING.sub(b"", body).translate(None, _NOT_STRUCTURE)
    levels = np.cumsum(_STEP[np.frombuffer(structure, dtype=np.uint8)], dtype=np.int32)
    if levels.size and int(levels.max()) > MOST_LEVELS:
        raise InvalidParameters(ParameterError("body", "too_deep", None, {"maximum": MOST_LEVELS}))
    if structure.count(b",") >= MOST_VALUES:
        raise InvalidParameters(ParameterError("body", "too_many_values", None, {"maximum": MOST_VALUES}))


def _refuse_repeated(body: bytes) -> None:
    """Raise InvalidParameters when a field stands twice in one object: readers differ in which one counts."""
    found = json.loads(body, object_pairs_hook=_repeated, parse_int=str, parse_float=str)
    if isinstance(found, _Repeated) and found:
        raise InvalidParameters(*(ParameterError(name, "repeated") for name in found[:_MOST_TOLD]))


def _repeated(pairs: Sequence[tuple[str, Any]]) -> _Repeated:
    counts = Counter(name[:_LONGEST_NAME] for name, _ in pairs)
    own = [name for name, count in counts.items() if count > 1]
    inner = [f"{name}.{path}"[:_LONGEST_NAME] for name, of in pairs for path in _paths(of)]
    return _Repeated((*own, *inner)[:_MOST_TOLD])


def _paths(value: Any) -> Sequence[str]:
    items = value if isinstance(value, list) else [value]
    return [path for item in items if isinstance(item, _Repeated) for path in item]
