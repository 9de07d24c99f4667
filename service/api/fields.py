"""Parameter types: strict, with faults that are codes, from query text or JSON values."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from marshmallow import ValidationError, fields

_WHOLE = re.compile(r"-?[0-9]{1,18}")
_DECIMAL = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?")
_TRUTH = {"true": True, "1": True, "false": False, "0": False}
MAX_TEXT = 256


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with one value: a code, what is allowed, and what the sentence names."""

    code: str
    allowed: tuple[object, ...] | None = None
    values: Mapping[str, object] = field(default_factory=dict)


def fail(code: str, allowed: Sequence[object] | None = None, **values: object) -> ValidationError:
    """A marshmallow error that carries a Fault instead of a sentence."""
    fault = Fault(code, None if allowed is None else tuple(allowed), values)
    return ValidationError([fault])  # marshmallow passes any item through


# A list passes through marshmallow as it is; only a text would be formatted.
_MISSING: Any = {"required": [Fault("missing")], "null": [Fault("missing")]}


class Parameter(fields.Field[Any]):
    """A parameter; `from_text` turns query text into what JSON would have held, or leaves it wrong."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(error_messages=_MISSING, **kwargs)

    def from_text(self, text: str) -> object:
        """The value that the text of a query string means."""
        return text

    def check(self, value: object) -> object:
        """The value, or a ValidationError with a Fault."""
        raise NotImplementedError

    def _deserialize(self, value: object, *_: object, **__: object) -> object:
        return self.check(value)


class _Ranged(Parameter):
    def __init__(self, limits: tuple[float, float], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.limits = limits

    def _check_range(self, value: float) -> None:
        low, high = self.limits
        if not low <= value <= high:
            raise fail("out_of_range", self.limits, minimum=low, maximum=high)


class Whole(_Ranged):
    """A whole number within a range; in JSON 8 and 8.0 are the same number, `true` and "8" are none."""

    def from_text(self, text: str) -> object:
        """Decimal digits only: no exponent, no fraction, no sign but minus."""
        return int(text) if _WHOLE.fullmatch(text) else text

    def check(self, value: object) -> int:
        """The value, or a ValidationError with a Fault."""
        if isinstance(value, float) and value.is_integer() and abs(value) < 10**18:
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise fail("not_an_integer", self.limits)
        self._check_range(value)
        return value


class Number(_Ranged):
    """A decimal number within a range."""

    def from_text(self, text: str) -> object:
        """Decimal digits with an optional fraction."""
        if not _DECIMAL.fullmatch(text):
            return text
        return float(text) if "." in text else int(text)

    def check(self, value: object) -> float:
        """The value, or a ValidationError with a Fault."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise fail("not_a_number", self.limits)
        self._check_range(value)
        return value


class Truth(Parameter):
    """A boolean: true or false, in a query also 1 or 0."""

    def from_text(self, text: str) -> object:
        """`true`, `false`, `1` or `0`."""
        return _TRUTH.get(text.lower(), text)

    def check(self, value: object) -> bool:
        """The value, or a ValidationError with a Fault."""
        if not isinstance(value, bool):
            raise fail("not_a_boolean", ["true", "false"])
        return value


class Text(Parameter):
    """A short text that is not empty."""

    def check(self, value: object) -> str:
        """The value, or a ValidationError with a Fault."""
        if not isinstance(value, str):
            raise fail("not_a_string")
        if not value.strip():
            raise fail("empty")
        if len(value) > MAX_TEXT:
            raise fail("too_long", maximum=MAX_TEXT)
        return value


class Document(Parameter):
    """A JSON object, checked by whoever reads it."""

    def check(self, value: object) -> Mapping[str, Any]:
        """The value, or a ValidationError with a Fault."""
        if not isinstance(value, dict):
            raise fail("not_an_object")
        return value
