"""One language's voice: sentences from its message catalog, numbers and dates from CLDR."""

import datetime
import re
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache, partial
from gettext import NullTranslations
from typing import Literal

from babel.dates import format_date, format_interval, format_skeleton
from babel.lists import format_list
from babel.numbers import (
    format_compact_decimal,
    format_currency,
    format_decimal,
    format_percent,
    get_currency_name,
)
from babel.units import format_unit

from service.core.cost.currency import BASE, ExchangeRate
from service.core.units import GIB
from service.i18n.languages import Language

_REMEMBERED = 4096  # numbers of each voice
_MONTHS = re.compile(r"\d{4}-\d{2} – \d{4}-\d{2}")


class Voice:
    """Says things in one language; built once per language and currency, and shared by all threads.

    rate: of the currency that prices are said in; None for the US dollar, in which they are kept.
    """

    def __init__(
        self, language: Language, translations: NullTranslations, rate: ExchangeRate | None = None
    ) -> None:
        self.language = language
        self.rate = rate
        self._translations = translations
        inside = language.unspaced
        self._needless_space = re.compile(f"(?<=[{inside}]) (?=[{inside}])") if inside else None
        # The same amounts stand in a table, a chart and a sentence, and in many answers.
        self._decimal = lru_cache(_REMEMBERED)(partial(format_decimal, locale=language.locale))
        self._in_currency = lru_cache(_REMEMBERED)(self._formatted_currency)

    def text(self, msgid: str, /, **values: object) -> str:
        """The translated message with its named placeholders filled; KeyError when one has no value."""
        translated = self._translations.gettext(msgid)
        return self._spaced(translated % values) if values else translated

    def plural(self, singular: str, plural: str, n: int, /, **values: object) -> str:
        """The message for `n` things; its `%(n)s` is the number as the language writes it."""
        translated = self._translations.ngettext(singular, plural, n)
        return self._spaced(translated % {"n": self.integer(n), **values})

    def fill(self, msgid: str, values: Mapping[str, object]) -> str:
        """The translated message, its placeholders always filled from `values`, which may know defaults."""
        return self._spaced(self._translations.gettext(msgid) % values)

    def _spaced(self, text: str) -> str:
        """The text without the spaces that stand around a value for nothing, as in `截至 2026年11月 的`."""
        return text if self._needless_space is None else self._needless_space.sub("", text)

    def paragraph(self, sentences: Sequence[str]) -> str:
        """Sentences one after the other, with the space that the language puts between them."""
        return self.language.sentence_separator.join(sentence for sentence in sentences if sentence)

    def integer(self, value: int) -> str:
        """A whole number with its group separators."""
        return self.number(value, 0)

    def number(self, value: float, digits: int = 2) -> str:
        """A number with exactly `digits` decimal places."""
        return self._decimal(value or 0, _pattern(digits))

    def plain(self, value: float) -> str:
        """A number with as many of three decimal places as it has."""
        return self._decimal(value or 0, "#,##0.###")

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
        """A price, given in US dollars, in the voice's currency; below one unit with up to four decimals."""
        amount = usd if self.rate is None else float(self.rate.of(usd))
        return self._in_currency(amount, "0.00" if amount == 0 or abs(amount) >= 1 else "0.00##")

    def currency(self, code: str) -> str:
        """The code of a currency with its name: `EUR · Euro`."""
        return f"{code} · {get_currency_name(code, locale=self.language.locale)}"

    def exchange_rate(self) -> str:
        """What one US dollar is in the voice's currency, to four decimal places."""
        return self._in_currency(1 if self.rate is None else float(self.rate.per_usd), "0.0000")

    def _formatted_currency(self, amount: float, digits: str) -> str:
        pattern = self.language.locale.currency_formats["standard"].pattern
        return format_currency(
            amount,
            BASE if self.rate is None else self.rate.code,
            format=pattern.replace("0.00", digits),
            locale=self.language.locale,
            currency_digits=False,
        )

    def date(self, day: datetime.date) -> str:
        """A calendar day in its usual short form."""
        return format_date(day, format="medium", locale=self.language.locale)

    def period(self, text: str) -> str:
        """A day, month or year in ISO 8601 as the language writes it: `2026-11-04`, `2024-05`, `2025`.

        Also two months, `2025-11 – 2026-02`, and the years `2023-24`; what is none of these stays as it is.
        """
        try:
            return self._period(text)
        except ValueError:
            return text

    def _period(self, text: str) -> str:
        if _MONTHS.fullmatch(text):
            return self._interval(
                "yMMM", *(datetime.date.fromisoformat(f"{part}-01") for part in text.split(" – "))
            )
        parts = [int(part) for part in text.split("-")]
        if len(parts) == 3:
            return self.date(datetime.date(*parts))
        if len(parts) == 2 and 1 <= parts[1] <= 12:
            month = datetime.date(parts[0], parts[1], 1)
            return format_skeleton("yMMM", month, locale=self.language.locale)
        if len(parts) == 2:  # `2023-24` is two years
            last = parts[0] - parts[0] % 100 + parts[1]
            return self._interval("y", datetime.date(parts[0], 1, 1), datetime.date(last, 1, 1))
        return text

    def _interval(self, skeleton: str, first: datetime.date, last: datetime.date) -> str:
        """From one day to another; the dash that CLDR sets between thin spaces stands as in other ranges."""
        found = format_interval(first, last, skeleton, locale=self.language.locale)
        return found.replace("\u2009", " " if self._needless_space is None else "")

    def list(self, items: Sequence[str]) -> str:
        """Things that all apply: `a, b, and c`."""
        return self._joined(items, "standard")

    def choices(self, items: Sequence[str]) -> str:
        """Things of which one applies: `a, b, or c`."""
        return self._joined(items, "or")

    def _joined(self, items: Sequence[str], style: Literal["standard", "or"]) -> str:
        """CLDR joins Chinese words, `甲和乙`; beside Latin text and digits the word between has spaces."""
        if self._needless_space is None or len(items) < 2:
            return format_list(items, style=style, locale=self.language.locale)
        marks = [f"{{{number}}}" for number in range(len(items))]
        pattern = format_list(marks, style=style, locale=self.language.locale)
        spaced = re.sub(f"}}([{self.language.unspaced}]+){{", r"} \1 {", pattern)
        return self._spaced(spaced.format(*items))

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
