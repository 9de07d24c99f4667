"""Fields of text that users write: bounded, without invisible characters, addresses only of the web."""

import re
from typing import Any
from urllib.parse import urlsplit

from service.api.fields import Parameter, fail
from service.catalog.fields import is_period

# Controls, characters that turn the direction of the text around them (Unicode UAX #9), and those that show
# nothing: what a reviewer does not see must not be published. Joiners stay, emoji and many scripts need them.
_TURNING = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_SHOWING_NOTHING = "\u00ad\u200b\u2060-\u2064\u206a-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"
_UNSEEN = f"\x7f-\x9f\u2028\u2029{_TURNING}{_SHOWING_NOTHING}\ufffe\uffff\ud800-\udfff"
_LINE = re.compile(f"[\x00-\x1f{_UNSEEN}]")
_PROSE = re.compile(f"[\x00-\x08\x0b-\x1f{_UNSEEN}]")
_ADDRESS = re.compile(r"[!-;=?-~]+")  # visible ASCII without < and >
_SCHEMES = ("http", "https")
# What a spreadsheet may take for a formula; see `service.api.documents.measurements_csv`.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
APOSTROPHE = "'"


class Line(Parameter):
    """One line of text."""

    forbidden = _LINE

    def __init__(self, maximum: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.maximum = maximum

    def check(self, value: object) -> str:
        """The value, or a ValidationError with a Fault."""
        if not isinstance(value, str):
            raise fail("not_a_string")
        if not value.strip():
            raise fail("empty")
        if len(value) > self.maximum:
            raise fail("too_long", maximum=self.maximum)
        if self.forbidden.search(value):
            raise fail("control_characters")
        return value

    def from_text(self, text: str) -> str:
        """A cell, without the apostrophe that an export puts before what looks like a formula."""
        guarded = text.startswith(APOSTROPHE) and text[1:].startswith(FORMULA_STARTS)
        return text[1:] if guarded else text


class Prose(Line):
    """Text of several lines, which end as they do on every system."""

    forbidden = _PROSE

    def check(self, value: object) -> str:
        """The value, or a ValidationError with a Fault."""
        return super().check(value.replace("\r\n", "\n") if isinstance(value, str) else value)


class Choice(Line):
    """One of the values that the service knows."""

    def __init__(self, allowed: tuple[str, ...], **kwargs: Any) -> None:
        super().__init__(maximum=64, **kwargs)
        self.allowed = allowed

    def check(self, value: object) -> str:
        """The value, or a ValidationError with a Fault."""
        text = super().check(value)
        if text not in self.allowed:
            raise fail("not_allowed", self.allowed)
        return text


class WebAddress(Line):
    """An http or https address that names a host and holds no password."""

    def check(self, value: object) -> str:
        """The value, or a ValidationError with a Fault."""
        text = super().check(value)
        try:
            parts = urlsplit(text)
            usable = parts.scheme in _SCHEMES and bool(parts.hostname) and "@" not in parts.netloc
            _ = parts.port
        except ValueError:
            usable = False
        if not usable or not _ADDRESS.fullmatch(text):
            raise fail("not_a_web_address")
        return text


class Period(Line):
    """A day, a month or a year, ISO 8601."""

    def check(self, value: object) -> str:
        """The value, or a ValidationError with a Fault."""
        text = super().check(value)
        if not is_period(text):
            raise fail("not_a_date")
        return text
