"""exchange_rates.yaml -> what one US dollar is in each other currency."""

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from marshmallow import RAISE, Schema, fields

from service.catalog.fields import Positive, Text, is_day
from service.catalog.validation import validated
from service.catalog.yaml_files import read_yaml
from service.core.cost.currency import BASE, CURRENCIES, ExchangeRate
from service.core.cost.money import decimal
from service.errors import CatalogError

RATES_FILE = "exchange_rates.yaml"
_EURO = "EUR"
_DIGITS = Decimal("0.000001")


class ExchangeRatesSchema(Schema):
    """config/exchange_rates.yaml."""

    publisher = Text(required=True)
    as_of = Text(required=True, check=is_day)
    per_euro = fields.Dict(
        keys=Text(*(c for c in CURRENCIES if c != _EURO)), values=Positive(), required=True
    )
    evidence = Text("published", required=True)
    source = Text(required=True)


def exchange_rates(files: Mapping[str, bytes], collected: str) -> Mapping[str, ExchangeRate]:
    """The rates by code of the currency, the US dollar itself left out.

    collected: the day on which prices were collected. Raises CatalogError for a file that is missing or
    wrong, leaves a currency out, or is younger than the prices.
    """
    if RATES_FILE not in files:
        raise CatalogError(RATES_FILE, "file", "does not exist")
    stated = validated(
        ExchangeRatesSchema(unknown=RAISE), read_yaml(files[RATES_FILE], RATES_FILE), RATES_FILE
    )
    per_euro = {_EURO: Decimal(1), **{code: decimal(rate) for code, rate in stated["per_euro"].items()}}
    for code in CURRENCIES:
        if code not in per_euro:
            raise CatalogError(RATES_FILE, f"per_euro.{code}", "must be there")
    age = (date.fromisoformat(collected) - date.fromisoformat(stated["as_of"])).days
    if age < 0:
        raise CatalogError(RATES_FILE, "as_of", "is later than the day on which prices were collected")
    found = (_rate(code, per_euro, stated, age) for code in CURRENCIES if code != BASE)
    return MappingProxyType({rate.code: rate for rate in found})


def _rate(code: str, per_euro: Mapping[str, Decimal], stated: Mapping[str, Any], age: int) -> ExchangeRate:
    return ExchangeRate(
        code=code,
        per_usd=(per_euro[code] / per_euro[BASE]).quantize(_DIGITS),
        as_of=stated["as_of"],
        age_days=age,
        publisher=stated["publisher"],
        source=stated["source"],
    )
