"""The frozen answers about costs."""

from dataclasses import dataclass
from decimal import Decimal

from service.core.cost.buy import Purchase
from service.core.cost.elsewhere import Elsewhere
from service.core.cost.facts import Offer
from service.core.cost.money import MoneyRange
from service.core.cost.power import Power
from service.core.cost.rent import Rental
from service.core.hardware import Gpu
from service.core.notes import Note


@dataclass(frozen=True, slots=True)
class Rent:
    """What renting costs: an hour, a month of the hours asked for, and a month without a pause.

    output_tokens, input_tokens: a million of them on this hardware, always busy; None without a speed.
    """

    rental: Rental
    usd_per_hour: Decimal
    usd_per_month: Decimal
    usd_per_month_always_on: Decimal
    output_tokens: MoneyRange | None
    input_tokens: MoneyRange | None


@dataclass(frozen=True, slots=True)
class Balance:
    """One way of buying, and the months until it has paid for itself at its low and its high price.

    months: at the hours asked for; always_on: without a pause. None: never, or not compared.
    compared: whether a rent and the electricity of the same hardware are known.
    """

    purchase: Purchase
    months: tuple[Decimal, Decimal] | None
    always_on: tuple[Decimal, Decimal] | None
    compared: bool = True


@dataclass(frozen=True, slots=True)
class Cost:
    """What some number of one accelerator costs; every part of it is about the same hardware.

    rent: None when no offer is known. power: None when the accelerator's limit is not known.
    notes: why a part is missing, and what is to be said of those that are there.
    """

    gpu: Gpu
    gpu_count: int
    hours_per_day: float
    electricity_usd_per_kwh: float
    rent: Rent | None
    power: Power | None
    electricity_usd_per_month: Decimal | None
    electricity_usd_per_month_always_on: Decimal | None
    balances: tuple[Balance, ...]
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class Offered:
    """An offer whose hardware runs the scenario, what the scenario takes there, and what it costs."""

    place: Elsewhere
    rent: Rent


@dataclass(frozen=True, slots=True)
class Excluded:
    """Offers of one kind of hardware that does not run the scenario, and why."""

    offers: tuple[Offer, ...]
    gpu_count: int | None
    reasons: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Every offer, cheapest first, and the own hardware: rented, bought and powered.

    own: None when no number of the scenario's accelerators runs it. own_count_given: whether it is the
    number that was asked for, not the smallest that runs it.
    """

    as_of: str
    offered: tuple[Offered, ...]
    excluded: tuple[Excluded, ...]
    own: Cost | None
    own_count_given: bool
