"""Lists: filter, page and cursor."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from collections.abc import Mapping, Sequence
from typing import Any

from service.errors import InvalidParameters, ParameterError

DEFAULT_LIMIT = 100
_PREFIX = "after:"  # a cursor names the item that it follows, so it survives additions to the list
_SEARCHED = ("id", "name", "publisher", "vendor", "hf_repo", "provider", "instance", "gpu")


def page(items: Sequence[Mapping[str, Any]], given: Mapping[str, Any]) -> dict[str, object]:
    """One page of a list, filtered by `q` and `family`, of at most `limit` items after `cursor`.

    items: in the list's fixed order, each with a unique `id`. Raises InvalidParameters for a bad cursor.
    """
    found = [item for item in items if _matches(item, given)]
    start = _start(items, found, given.get("cursor"))
    end = start + given.get("limit", DEFAULT_LIMIT)
    return {
        "items": found[start:end],
        "total": len(found),
        "next_cursor": _cursor(found[end - 1]["id"]) if end < len(found) else None,
    }


def _matches(item: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    text, family = given.get("q"), given.get("family")
    if family is not None and str(item.get("family", "")).casefold() != family.casefold():
        return False
    if text is None:
        return True
    return any(text.casefold() in str(item.get(name) or "").casefold() for name in _SEARCHED)


def _start(items: Sequence[Mapping[str, Any]], found: Sequence[Mapping[str, Any]], cursor: str | None) -> int:
    """Index in `found` of the first item after the cursor's, even where the filter hides that item itself."""
    if cursor is None:
        return 0
    positions = {item["id"]: index for index, item in enumerate(items)}
    last = positions.get(_named(cursor))
    if last is None:
        raise InvalidParameters(ParameterError("cursor", "malformed"))
    return sum(1 for item in found if positions[item["id"]] <= last)


def _cursor(last_id: str) -> str:
    return urlsafe_b64encode(f"{_PREFIX}{last_id}".encode()).decode().rstrip("=")


def _named(cursor: str) -> str:
    """The id in a cursor, empty when it is not one of ours."""
    try:
        text = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
    except (Base64Error, ValueError):
        return ""
    return text.removeprefix(_PREFIX) if text.startswith(_PREFIX) else ""
