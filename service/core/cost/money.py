"""Money is decimal: a price of the catalog is its digits, and sums of prices have no binary rests."""

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal

# A month that never stops: 365 * 24 / 12 hours.
HOURS_PER_MONTH = Decimal(730)
_EXACT = Context(prec=20)  # fewer digits than divisions are carried to
_CENT = Decimal("0.01")
_FINE = Decimal("0.0001")


def decimal(value: float) -> Decimal:
    """The shortest decimal that stands for a number, as a price is written."""
    return Decimal(str(value))


def rounded(value: Decimal) -> Decimal:
    """To the cent; amounts below one dollar to a hundredth of a cent. Ends of divisions decide no half."""
    value = _EXACT.plus(value)
    return value.quantize(_FINE if abs(value) < 1 else _CENT, ROUND_HALF_EVEN)


def hours_per_month(hours_per_day: float) -> Decimal:
    """Hours of use in an average month of 365 / 12 days."""
    return decimal(hours_per_day) * 365 / 12


@dataclass(frozen=True, slots=True)
class MoneyRange:
    """An amount with the interval that the speed behind it has: low is the cheap end."""

    low: Decimal
    estimate: Decimal
    high: Decimal
