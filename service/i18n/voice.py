"""One language's voice: sentences from its message catalog, numbers and dates from CLDR."""

import datetime
from collections.abc import Mapping, Sequence
from functools import cached_property
from gettext import NullTranslations

from babel.dates import format_date, format_skeleton
from babel.lists import format_list
from babel.numbers import (
    format_compact_decimal,
    format_currency,
    format_decimal,
    format_percent,
)
from babel.units import format_unit

from service.core.units import GIB
from service.i18n.languages import Language


class Voice:
    """Says things in one language; built once per language and shared by all threads."""

    def __init__(self, language: Language, translations: NullTranslations) -> None:
        self.language = language
        self._translations = translations

    def text(self, msgid: str, /, **values: object) -> str:
        """The translated message with its named placeholders filled; KeyError when one has no value."""
        translated = self._translations.gettext(msgid)
        return translated % values if values else translated

    def plural(self, singular: str, plural: str, n: int, /, **values: object) -> str:
        """The message for `n` things; its `%(n)s` is the number as the language writes it."""
        translated = self._translations.ngettext(singular, plural, n)
        return translated % {"n": self.integer(n), **values}

    def fill(self, msgid: str, values: Mapping[str, object]) -> str:
        """The translated message, its placeholders always filled from `values`, which may know defaults."""
        return self._translations.gettext(msgid) % values

    def paragraph(self, sentences: Sequence[str]) -> str:
        """Sentences one after the other, with the space that the language puts between them."""
        return self.language.sentence_separator.join(sentence for sentence in sentences if sentence)

    def integer(self, value: int) -> str:
        """A whole number with its group separators."""
        return self.number(value, 0)

    def number(self, value: float, digits: int = 2) -> str:
        """A number with exactly `digits` decimal places."""
        return format_decimal(value, format=_pattern(digits), locale=self.language.locale)

    def plain(self, value: float) -> str:
        """A number with as many of three decimal places as it has."""
        return format_decimal(value, format="#,##0.###", locale=self.language.locale)

    def compact(self, value: int) -> str:
        """A large count in short words with four significant digits: 2.78T, 2,78 Bio., 2.78万亿."""
        return format_compact_decimal(value, fraction_digits=2, locale=self.language.locale)

    def gib(self, amount_bytes: int, digits: int = 2) -> str:
        """Bytes as GiB: `1,566.20 GiB`, with the space that CLDR puts before a gigabyte."""
        return self._unit_pattern("GiB").format(self.number(amount_bytes / GIB, digits))

    def byte_count(self, amount: int) -> str:
        """Bytes in full: `276,824,064 B`."""
        return self._unit_pattern("B").format(self.integer(amount))

    def percent(self, ratio: float, digits: int = 0) -> str:
        """A ratio as percent; 0.957 is 95.7 %."""
        pattern = self.language.locale.percent_formats[None].pattern
        return format_percent(
            ratio, format=pattern.replace("#,##0", _pattern(digits)), locale=self.language.locale
        )

    def money(self, usd: float) -> str:
        """An amount of US dollars."""
        return format_currency(usd, "USD", locale=self.language.locale)

    def small_money(self, usd: float) -> str:
        """Less than a US dollar, with two to four decimal places."""
        pattern = self.language.locale.currency_formats["standard"].pattern
        return format_currency(
            usd,
            "USD",
            format=pattern.replace("0.00", "0.00##"),
            locale=self.language.locale,
            currency_digits=False,
        )

    def date(self, day: datetime.date) -> str:
        """A calendar day in its usual short form."""
        return format_date(day, format="medium", locale=self.language.locale)

    def period(self, text: str) -> str:
        """A day, month or year in ISO 8601 as the language writes it: `2026-11-04`, `2024-05`, `2025`."""
        parts = [int(part) for part in text.split("-")]
        if len(parts) == 3:
            return self.date(datetime.date(*parts))
        if len(parts) == 2:
            month = datetime.date(parts[0], parts[1], 1)
            return format_skeleton("yMMM", month, locale=self.language.locale)
        return text

    def list(self, items: Sequence[str]) -> str:
        """Things that all apply: `a, b, and c`."""
        return format_list(items, style="standard", locale=self.language.locale)

    def choices(self, items: Sequence[str]) -> str:
        """Things of which one applies: `a, b, or c`."""
        return format_list(items, style="or", locale=self.language.locale)

    def tokens(self, count: int) -> str:
        """A context length as people name it: 8K for 8,192, 1M for 2**20, other counts in full."""
        if count >= 2**20 and count % 2**20 == 0:
            return f"{self.integer(count // 2**20)}M"
        if count >= 1024 and count % 1024 == 0:
            return f"{self.integer(count // 1024)}K"
        return self.integer(count)

    def _unit_pattern(self, symbol: str) -> str:
        # CLDR has no gibibyte; its gigabyte tells where a unit stands and which space precedes it.
        return self._gigabyte_pattern.replace("GB", symbol)

    @cached_property
    def _gigabyte_pattern(self) -> str:
        return format_unit("{}", "digital-gigabyte", length="short", locale=self.language.locale)


def _pattern(digits: int) -> str:
    return "#,##0" + ("." + "0" * digits if digits else "")
