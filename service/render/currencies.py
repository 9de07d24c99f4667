"""Prices in another currency: beside each amount of US dollars the converted one, and what the rate is."""

import datetime
from collections.abc import Mapping
from typing import Any

from service.core.cost.currency import ExchangeRate
from service.i18n.marking import mark, mark_plural
from service.i18n.voice import Voice

_CONVERTED = mark(
    "Prices are converted from US dollars, at %(rate)s for one dollar by the reference rate of %(publisher)s "
    "of %(day)s."
)
_OLD = mark_plural(
    "That rate was one day old when the catalog was compiled and may have changed since.",
    "That rate was %(n)s days old when the catalog was compiled and may have changed since.",
)
_PUBLISHERS = {"ecb": mark("the European Central Bank")}
_USD = "usd"
# What the caller asked with, and derivations: never prices of this answer.
_LEFT = frozenset({"scenario", "trace"})


def with_currency(document: Mapping[str, Any], speaker: Voice) -> dict[str, Any]:
    """The document with converted amounts and `currency`, where the voice says prices in another currency.

    Beside each field whose name holds `usd` stands one with the currency's code in its place:
    `eur_per_hour` beside `usd_per_hour`, `eur` beside `usd`.
    """
    if speaker.rate is None:
        return dict(document)
    return {**_converted(document, speaker.rate), "currency": block(speaker)}


def block(speaker: Voice) -> dict[str, Any] | None:
    """The rate of the voice's currency, how old it is, and a message about it; None for US dollars."""
    rate = speaker.rate
    if rate is None:
        return None
    return {
        "code": rate.code,
        "per_usd": float(rate.per_usd),
        "as_of": rate.as_of,
        "age_days": rate.age_days,
        "old": rate.old,
        "source": rate.source,
        "message": speaker.paragraph(sentences(speaker)),
    }


def sentences(speaker: Voice) -> list[str]:
    """At which rate prices are converted, and that an old rate is old."""
    rate = speaker.rate
    if rate is None:
        return []
    publisher = _PUBLISHERS.get(rate.publisher)
    said = speaker.text(
        _CONVERTED,
        rate=speaker.exchange_rate(),
        publisher=speaker.text(publisher) if publisher else rate.publisher,
        day=speaker.date(datetime.date.fromisoformat(rate.as_of)),
    )
    return [said, *([speaker.plural(*_OLD, rate.age_days)] if rate.old else [])]


def has_prices(value: Any) -> bool:
    """Whether any field of the data holds an amount of US dollars."""
    if isinstance(value, Mapping):
        return any(
            (_is_amount(name) and item is not None) or has_prices(item)
            for name, item in value.items()
            if name not in _LEFT
        )
    return isinstance(value, list) and any(has_prices(item) for item in value)


def _is_amount(name: str) -> bool:
    return _USD in name.split("_")


def _converted(value: Any, rate: ExchangeRate) -> Any:
    if isinstance(value, list):
        return [_converted(item, rate) for item in value]
    if not isinstance(value, Mapping):
        return value
    found: dict[str, Any] = {}
    for name, item in value.items():
        amount = _is_amount(name)
        found[name] = item if name in _LEFT or amount else _converted(item, rate)
        if amount:
            parts = [rate.code.lower() if part == _USD else part for part in name.split("_")]
            found["_".join(parts)] = _of(item, rate)
    return found


def _of(item: Any, rate: ExchangeRate) -> Any:
    """An amount, or each of a low, an estimated and a high one."""
    if isinstance(item, Mapping):
        return {name: _of(part, rate) for name, part in item.items()}
    return None if item is None else float(rate.of(item))
