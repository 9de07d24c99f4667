"""Costs as data: the shapes that the API and the section share. Money is decimal US dollars, rounded once."""

from decimal import Decimal
from typing import Any

from service.core.cost.facts import Offer
from service.core.cost.money import MoneyRange, rounded
from service.core.cost.power import Power
from service.core.cost.result import Balance, Comparison, Cost, Excluded, Offered, Rent
from service.render import amounts


def usd(amount: Decimal) -> float:
    """An amount as JSON writes it: its decimal digits, no binary rest."""
    return float(rounded(amount))


def maybe_usd(amount: Decimal | None) -> float | None:
    """An amount, or None when it is not known."""
    return None if amount is None else usd(amount)


def comparison(found: Comparison) -> dict[str, Any]:
    """Offers that run the scenario, those that do not, and the own hardware."""
    return {
        "as_of": found.as_of,
        "items": [offered(item) for item in found.offered],
        "total": len(found.offered),
        "excluded": [_excluded(item) for item in found.excluded],
        "own_hardware": own_hardware(found),
    }


def own_hardware(found: Comparison) -> dict[str, Any] | None:
    """The accelerators of the scenario itself; None where no number of them runs it."""
    return None if found.own is None else own(found.own, asked=found.own_count_given)


def offered(item: Offered) -> dict[str, Any]:
    """An offer whose hardware runs the scenario."""
    place = item.place
    assert place.sizing is not None  # it runs
    plan = place.sizing.plan
    return {
        **offer(item.rent.rental.offer),
        "gpu": place.gpu.id,
        "gpu_name": place.gpu.name,
        "gpu_count": place.gpu_count,
        **rent(item.rent),
        "verdict": str(place.verdict),
        "utilization": place.sizing.utilization,
        "memory": amounts.maybe_amount(
            None if place.gpu.memory_bytes is None else place.gpu.memory_bytes * place.gpu_count
        ),
        "needed_per_gpu": amounts.amount(plan.fullest.total),
        "usable_per_gpu": amounts.maybe_amount(plan.usable_bytes),
        "notes": amounts.notes(item.rent.rental.notes()),
    }


def offer(found: Offer) -> dict[str, Any]:
    """Where a price comes from and how old it is."""
    return {
        "id": found.id,
        "provider": found.provider,
        "instance": found.instance,
        "region": found.region,
        "commitment": found.commitment,
        "billing": found.billing,
        "as_of": found.as_of,
        "as_of_estimate": found.as_of_estimate,
        "age_days": found.age_days,
        "confidence": found.confidence,
        "current": found.current,
        "source": found.source,
        "provided_by": str(found.provided_by),
    }


def rent(found: Rent) -> dict[str, Any]:
    """Prices of an hour, a month and a million tokens."""
    return {
        "machines": found.rental.machines,
        "usd_per_hour": usd(found.usd_per_hour),
        "usd_per_month": usd(found.usd_per_month),
        "usd_per_month_always_on": usd(found.usd_per_month_always_on),
        "usd_per_million_output_tokens": _range(found.output_tokens),
        "usd_per_million_input_tokens": _range(found.input_tokens),
    }


def own(cost: Cost, *, asked: bool) -> dict[str, Any]:
    """The scenario's own hardware, rented, powered and bought; asked: it is the number that was asked for."""
    return {"gpu": cost.gpu.id, "gpu_name": cost.gpu.name, "gpu_count": cost.gpu_count, "asked": asked} | {
        "rent": _rented(cost.rent),
        "electricity": _electricity(cost),
        "purchase": [_balance(balance) for balance in cost.balances],
        "notes": amounts.notes(cost.notes),
    }


def block(cost: Cost, as_of: str) -> dict[str, Any]:
    """The cost of a sizing: of the hardware that was sized, and of nothing else."""
    found = cost.rent
    return {
        "usd_per_hour": None if found is None else usd(found.usd_per_hour),
        "offer": None if found is None else {**offer(found.rental.offer), "machines": found.rental.machines},
        "usd_per_month": None if found is None else usd(found.usd_per_month),
        "usd_per_month_always_on": None if found is None else usd(found.usd_per_month_always_on),
        "usd_per_million_output_tokens": None if found is None else _range(found.output_tokens),
        "usd_per_million_input_tokens": None if found is None else _range(found.input_tokens),
        "hours_per_day": cost.hours_per_day,
        "power_watts": None if cost.power is None else cost.power.watts,
        "electricity": _electricity(cost),
        "purchase": [_balance(balance) for balance in cost.balances],
        "as_of": as_of,
        "notes": amounts.notes(cost.notes),
    }


def _rented(found: Rent | None) -> dict[str, Any] | None:
    return None if found is None else {**offer(found.rental.offer), **rent(found)}


def _electricity(cost: Cost) -> dict[str, Any]:
    return {
        "power": None if cost.power is None else _power(cost.power),
        "usd_per_kwh": cost.electricity_usd_per_kwh,
        "hours_per_day": cost.hours_per_day,
        "usd_per_month": maybe_usd(cost.electricity_usd_per_month),
        "usd_per_month_always_on": maybe_usd(cost.electricity_usd_per_month_always_on),
    }


def _power(power: Power) -> dict[str, Any]:
    return {
        "watts": power.watts,
        "gpu_watts": power.gpu_watts,
        "host_watts": power.host_watts,
        "pue": power.pue,
        "evidence": "estimate",
        "source": power.source,
    }


def _balance(balance: Balance) -> dict[str, Any]:
    bought = balance.purchase
    return {
        "kind": bought.kind,
        "usd": {"low": usd(bought.low), "high": usd(bought.high)},
        "used": bought.used,
        "as_of": bought.as_of,
        "break_even": _break_even(balance, balance.months),
        "break_even_months": _months(balance.months),
        "break_even_always_on": _break_even(balance, balance.always_on),
        "break_even_months_always_on": _months(balance.always_on),
    }


def _break_even(balance: Balance, found: tuple[Decimal, Decimal] | None) -> str:
    """Whether the purchase ever pays for itself, as far as that is known."""
    if not balance.compared:
        return "unknown"
    return "never" if found is None else "months"


def _months(found: tuple[Decimal, Decimal] | None) -> dict[str, float] | None:
    return None if found is None else {"low": round(float(found[0]), 1), "high": round(float(found[1]), 1)}


def _range(found: MoneyRange | None) -> dict[str, float] | None:
    if found is None:
        return None
    return {"low": usd(found.low), "estimate": usd(found.estimate), "high": usd(found.high)}


def _excluded(item: Excluded) -> dict[str, Any]:
    first = item.offers[0]
    return {
        "offers": [found.id for found in item.offers],
        "gpu": first.gpu,
        "gpu_count": item.gpu_count,
        "reasons": amounts.notes(item.reasons),
    }
