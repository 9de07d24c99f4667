"""What hardware costs that runs a scenario: rent, tokens, electricity, and buying it instead."""

from collections.abc import Callable
from decimal import Decimal

from service.core.cost.buy import Purchase, months_to_break_even, purchases
from service.core.cost.elsewhere import RUNS, sized_without_limits
from service.core.cost.facts import CostFacts
from service.core.cost.money import HOURS_PER_MONTH, MoneyRange, hours_per_month
from service.core.cost.power import power
from service.core.cost.rent import Rental, rentals
from service.core.cost.result import Balance, Cost, Rent
from service.core.cost.tokens import usd_per_million
from service.core.hardware import Gpu
from service.core.notes import Note
from service.core.scenario import Scenario
from service.core.size import with_gpu_count
from service.core.sizing import Sizing
from service.core.speed.result import Estimate, Speed, Withheld

# None: nothing estimates speed.
Known = Speed | Withheld | None
SpeedOf = Callable[[Sizing], Known]


def cost(sizing: Sizing, facts: CostFacts, speed: Known) -> Cost | None:
    """What the scenario's own hardware costs; None unless it runs."""
    if sizing.verdict not in RUNS:
        return None
    scenario = sizing.scenario
    return cost_of_hardware(scenario.gpu, scenario.gpu_count, scenario, facts, speed)


def own_cost(sizing: Sizing, facts: CostFacts, speed_of: SpeedOf) -> Cost | None:
    """As `cost`; where the number asked for does not run it, of the smallest that does; None if none does."""
    if sizing.verdict in RUNS:
        return cost(sizing, facts, speed_of(sizing))
    fewest = sizing.limits.min_gpu_count
    if fewest is None or fewest == sizing.scenario.gpu_count:
        return None
    enough = on_own_count(sizing, fewest)
    return cost(enough, facts, speed_of(enough) if enough.verdict in RUNS else None)


def on_own_count(sizing: Sizing, gpu_count: int) -> Sizing:
    """The scenario on another number of its own accelerators, in their default layout."""
    return sized_without_limits(with_gpu_count(sizing.scenario, gpu_count))


def cost_of_hardware(gpu: Gpu, gpu_count: int, scenario: Scenario, facts: CostFacts, speed: Known) -> Cost:
    """Rent, electricity and purchase of the same accelerators; hours, tariff and budget of the scenario.

    speed: of the scenario on just this hardware; without one there are no prices of tokens.
    """
    taken = rentals(gpu, gpu_count, facts.offers)
    rent = rent_of(taken[0], scenario, speed) if taken else None
    drawn = power(gpu, gpu_count, facts.power)
    hours, tariff = hours_per_month(scenario.hours_per_day), scenario.electricity_usd_per_kwh
    monthly = None if drawn is None else drawn.usd(hours, tariff)
    constant = None if drawn is None else drawn.usd(HOURS_PER_MONTH, tariff)
    bought = purchases(gpu, gpu_count, facts.prices.get(gpu.id, ()), scenario.hardware_budget_usd)
    return Cost(
        gpu=gpu,
        gpu_count=gpu_count,
        hours_per_day=scenario.hours_per_day,
        electricity_usd_per_kwh=tariff,
        rent=rent,
        power=drawn,
        electricity_usd_per_month=monthly,
        electricity_usd_per_month_always_on=constant,
        balances=tuple(_balance(purchase, rent, monthly, constant) for purchase in bought),
        notes=_notes(gpu, gpu_count, rent, drawn is not None, bought, speed),
    )


def rent_of(rental: Rental, scenario: Scenario, speed: Known) -> Rent:
    """What a rental costs at the scenario's hours, and its tokens at the speed of the same hardware.

    scenario: the one that runs there, whose replicas are counted.
    """
    price = rental.usd_per_hour
    output, prompt = _rates(scenario, speed)
    return Rent(
        rental=rental,
        usd_per_hour=price,
        usd_per_month=price * hours_per_month(scenario.hours_per_day),
        usd_per_month_always_on=price * HOURS_PER_MONTH,
        output_tokens=_tokens(price, output),
        input_tokens=_tokens(price, prompt),
    )


def _rates(scenario: Scenario, speed: Known) -> tuple[Estimate | None, Estimate | None]:
    """Output and prompt tokens per second of all replicas together."""
    if not isinstance(speed, Speed):
        return None, None
    prompt = speed.prefill
    return speed.decode_aggregate, None if prompt is None else prompt.times(scenario.layout.data)


def _tokens(price: Decimal, rate: Estimate | None) -> MoneyRange | None:
    return None if rate is None or rate.low <= 0 else usd_per_million(price, rate)


def _balance(
    purchase: Purchase, rent: Rent | None, monthly: Decimal | None, constant: Decimal | None
) -> Balance:
    if rent is None or monthly is None or constant is None:
        return Balance(purchase, None, None, compared=False)
    return Balance(
        purchase,
        _months(purchase, rent.usd_per_month, monthly),
        _months(purchase, rent.usd_per_month_always_on, constant),
    )


def _months(purchase: Purchase, rent: Decimal, electricity: Decimal) -> tuple[Decimal, Decimal] | None:
    low = months_to_break_even(purchase.low, rent, electricity)
    high = months_to_break_even(purchase.high, rent, electricity)
    return None if low is None or high is None else (low, high)


def _notes(
    gpu: Gpu,
    gpu_count: int,
    rent: Rent | None,
    powered: bool,
    bought: tuple[Purchase, ...],
    speed: Known,
) -> tuple[Note, ...]:
    hardware = {"gpu": gpu.name, "gpu_count": gpu_count}
    found = [*(() if rent is None else rent.rental.notes())]
    if rent is None:
        found.append(Note("no_offer_known", hardware))
    if isinstance(speed, Withheld):
        found += speed.reasons
    if not isinstance(speed, Speed):
        found.append(Note("no_speed_no_token_price"))
    if not powered:
        found.append(Note("power_unknown", {"gpu": gpu.name}))
    if not bought:
        found.append(Note("price_unknown", {"gpu": gpu.name}))
    if any(purchase.used for purchase in bought):
        found.append(Note("street_price_used"))
    return tuple(found)
