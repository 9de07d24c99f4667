"""Buying the hardware against renting the same hardware."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from service.core.cost.facts import HardwarePrice
from service.core.cost.money import decimal
from service.core.hardware import Gpu

BUDGET = "budget"
_GIVEN = "given"


@dataclass(frozen=True, slots=True)
class Purchase:
    """A price of all accelerators together; kind: as of HardwarePrice, or `budget` of the caller."""

    kind: str
    low: Decimal
    high: Decimal
    used: bool = False
    as_of: str | None = None


def purchases(
    gpu: Gpu, gpu_count: int, prices: Iterable[HardwarePrice], budget: float | None
) -> tuple[Purchase, ...]:
    """What the hardware would cost to buy: the caller's budget alone, else each price that is known."""
    if budget is not None:
        return (Purchase(BUDGET, decimal(budget), decimal(budget)),)
    known = tuple(prices)
    if not known and gpu.price_usd is not None:
        known = (HardwarePrice(_GIVEN, gpu.price_usd, gpu.price_usd),)
    return tuple(
        Purchase(p.kind, decimal(p.low) * gpu_count, decimal(p.high) * gpu_count, p.used, p.as_of)
        for p in known
    )


def months_to_break_even(price: Decimal, rent: Decimal, electricity: Decimal) -> Decimal | None:
    """Months until the rent saved, less the electricity, has paid the price; None: never.

    rent, electricity: US dollars a month for the same hours.
    """
    saved = rent - electricity
    return price / saved if saved > 0 else None
