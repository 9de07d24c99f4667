"""Raw data of a fact file -> data of the right shape, or the place that is wrong."""

from collections.abc import Iterator, Mapping
from typing import Any

from marshmallow import Schema, ValidationError

from service.errors import CatalogError


def validated(schema: Schema, data: Any, file: str, place: str = "") -> dict[str, Any]:
    """`data` as `schema` has it.

    Raises CatalogError with the first wrong place: `memory.gb`, or `[3].memory.gb` when `place` is `[3]`.
    """
    if not isinstance(data, Mapping):
        raise CatalogError(file, place or "file", "must be a mapping")
    try:
        loaded: dict[str, Any] = schema.load(data)
    except ValidationError as error:
        path, reason = next(_places(error.messages, place))
        raise CatalogError(file, path, reason) from error
    return loaded


def rows(schema: Schema, data: Any, file: str) -> list[dict[str, Any]]:
    """Every entry of a list file; a row with an id is named by it, another by its position."""
    if not isinstance(data, list):
        raise CatalogError(file, "file", "must be a list")
    result = []
    for position, row in enumerate(data):
        name = row.get("id") if isinstance(row, Mapping) else None
        result.append(validated(schema, row, file, f"[{name or position}]"))
    return result


def _places(messages: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(messages, Mapping):
        for name, inner in messages.items():
            # `_schema` is marshmallow's name for the row itself; key/value tell the two sides of a mapping.
            silent = name in {"_schema", "value"}
            step = path if silent else f"{path}[{name}]" if isinstance(name, int) else f"{path}.{name}"
            yield from _places(inner, step)
    elif isinstance(messages, list):
        for message in messages:
            yield path.lstrip(".") or "file", str(message)
    else:
        yield path.lstrip(".") or "file", str(messages)
