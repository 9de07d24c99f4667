"""Prices in other currencies than the US dollar, in which each is kept: converted once, at a dated rate."""

from dataclasses import dataclass
from decimal import Decimal

from service.core.cost.money import decimal, rounded

BASE = "USD"
CURRENCIES = (BASE, "EUR", "CNY")
"""Codes of ISO 4217 that prices can be asked in."""
_OLD_DAYS = 7


@dataclass(frozen=True, slots=True)
class ExchangeRate:
    """What one US dollar is in another currency.

    code: ISO 4217. per_usd: units of the currency for one US dollar. as_of: day of the rate, ISO 8601.
    age_days: from then to the day on which prices were collected. publisher: a short name; source: in full.
    """

    code: str
    per_usd: Decimal
    as_of: str
    age_days: int
    publisher: str
    source: str

    @property
    def old(self) -> bool:
        """Whether the rate is more than a week older than the prices."""
        return self.age_days > _OLD_DAYS

    def of(self, usd: float) -> Decimal:
        """An amount of US dollars in the currency, rounded as prices are."""
        return rounded(decimal(usd) * self.per_usd)
