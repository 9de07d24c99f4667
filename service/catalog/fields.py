"""marshmallow fields that take a YAML value only as it is: no number from text, no truth from a number."""

import re
from collections.abc import Callable
from datetime import date
from math import isfinite
from typing import Any

from marshmallow import ValidationError, fields

_RESERVED = ("posted",)  # the id of what a caller describes


class Whole(fields.Field[int]):
    """A whole number of at least `least`."""

    def __init__(self, *, least: int = 0, **options: Any) -> None:
        super().__init__(**options)
        self.least = least

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValidationError("must be a whole number")
        if value < self.least:
            raise ValidationError(f"must be at least {self.least}")
        return value


class Positive(fields.Field[float]):
    """A number above zero, whole or not."""

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValidationError("must be a number")
        if not isfinite(value) or value <= 0:
            raise ValidationError("must be above zero")
        return float(value)


class Fraction(fields.Field[float]):
    """A number of at least zero, whole or not."""

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
            raise ValidationError("must be a number")
        if value < 0:
            raise ValidationError("must be at least 0")
        return float(value)


class Flag(fields.Field[bool]):
    """true or false."""

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> bool:
        if not isinstance(value, bool):
            raise ValidationError("must be true or false")
        return value


class Text(fields.Field[str]):
    """Text that is not empty, and one of `choices` when they are given."""

    def __init__(self, *choices: str, check: Callable[[str], bool] | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.choices = choices
        self.check = check

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> str:
        if not isinstance(value, str) or not value.strip():
            raise ValidationError("must be text")
        if self.choices and value not in self.choices:
            raise ValidationError(f"must be one of {', '.join(self.choices)}")
        if self.check and not self.check(value):
            raise ValidationError(f"{value!r} is not valid here")
        return value.strip()


def is_id(value: str) -> bool:
    """A name that may stand in an address and names a file: lower case, digits, `.`, `_` and `-`."""
    return re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,99}", value) is not None and value not in _RESERVED


def is_day(value: str) -> bool:
    """An ISO 8601 day such as 2026-11-30."""
    try:
        return date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


def is_period(value: str) -> bool:
    """An ISO 8601 day, month or year: release dates are not known better for every product."""
    return any(is_day(value + rest) for rest in ("", "-01", "-01-01"))
