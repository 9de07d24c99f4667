"""Steps of a cost: rent, electricity, and the months until a purchase has paid for itself."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from service.core.cost.buy import BUDGET
from service.core.cost.estimate import Known
from service.core.cost.result import Balance, Cost, Rent
from service.core.derivation import expressions
from service.core.derivation.derive import Further
from service.core.derivation.expressions import Expression
from service.core.derivation.facts import rule
from service.core.derivation.rent import FORMULA, Told, rent_of
from service.core.derivation.steps import Topic, Trace, Unit
from service.core.evidence import Evidence
from service.core.scenario import Scenario
from service.core.sizing import Sourced

_MONTH_DIGITS = 1


@dataclass(frozen=True, slots=True)
class Paths:
    """Where an answer prints a cost; watts: the sum of accelerators, hosts and site.

    chained: the trace has the steps of the speed.
    """

    rent: str
    electricity: str
    purchase: str
    watts: tuple[str, ...] = ()
    chained: bool = False


IN_SIZING = Paths("cost", "cost.electricity", "cost.purchase", ("cost.power_watts",), chained=True)
IN_COSTS = Paths("own_hardware.rent", "own_hardware.electricity", "own_hardware.purchase")


def cost_steps(cost: Cost | None, scenario: Scenario, speed: Known, paths: Paths) -> Further:
    """What adds the steps of what hardware costs; nothing without a cost.

    scenario: the one that runs on it, speed: its own, whose steps are used where the trace has them.
    """

    def add(trace: Trace) -> None:
        if cost is None:
            return
        trace.about(Topic.COST)
        told = Told(trace, scenario)
        rent = (
            None if cost.rent is None else rent_of(told, cost.rent, speed, paths.rent, chained=paths.chained)
        )
        drawn = _electricity(told, cost, paths)
        for number, balance in enumerate(cost.balances):
            _purchase(told, cost, balance, (rent, drawn), f"{paths.purchase}.{number}")

    return add


def rent_steps(rents: Iterable[tuple[Rent, Scenario, Known]], place: str) -> Further:
    """What adds the steps of offers: each rent with the scenario that runs there and its speed."""

    def add(trace: Trace) -> None:
        trace.about(Topic.COST)
        for number, (rent, scenario, speed) in enumerate(rents):
            rent_of(Told(trace, scenario), rent, speed, f"{place}.{number}", chained=False)

    return add


def _electricity(told: Told, cost: Cost, paths: Paths) -> tuple[Expression, Expression] | None:
    """Electricity of a month at the hours asked for, and of one without a pause."""
    power, place = cost.power, paths.electricity
    if power is None or cost.electricity_usd_per_month is None:
        return None
    trace, source = told.trace, Sourced(Evidence.ESTIMATE, power.source)
    limit = trace.given("gpu_watts", power.gpu_watts // cost.gpu_count, Unit.WATTS, rule("GPU catalog"))
    gpus = trace.given("powered_gpus", cost.gpu_count, Unit.GPUS, rule("GPUs of this cost"))
    drawn = told.trace.follows(
        "all_gpu_watts", limit * gpus, Unit.WATTS, FORMULA, prints=(f"{place}.power.gpu_watts",)
    )
    hosts = trace.follows(
        "host_watts", None, Unit.WATTS, source, figure=power.host_watts, prints=(f"{place}.power.host_watts",)
    )
    pue = trace.follows("pue", None, Unit.RATIO, source, figure=power.pue, prints=(f"{place}.power.pue",))
    watts = trace.follows(
        "watts",
        expressions.rounded((drawn + hosts) * pue, 0),
        Unit.WATTS,
        FORMULA,
        figure=power.watts,
        prints=(*paths.watts, f"{place}.power.watts"),
    )
    tariff = trace.asked(told.scenario, "electricity_usd_per_kwh", Unit.USD_PER_KWH)
    found = (cost.electricity_usd_per_month, cost.electricity_usd_per_month_always_on)
    names = ("electricity_per_month", "electricity_always_on")
    exact = [
        told.follows(name, watts * hours / 1000 * tariff)
        for name, hours in zip(names, told.hours(), strict=True)
    ]
    keys = ("usd_per_month", "usd_per_month_always_on")
    for name, one, amount, key in zip(names, exact, found, keys, strict=True):
        assert amount is not None  # as the other
        told.money(name, one, amount, f"{place}.{key}")
    return exact[0], exact[1]


def _purchase(
    told: Told,
    cost: Cost,
    balance: Balance,
    monthly: tuple[tuple[Expression, Expression] | None, tuple[Expression, Expression] | None],
    path: str,
) -> None:
    """Prices of all accelerators, and the months until the rent saved has paid them."""
    bought, trace = balance.purchase, told.trace
    about: dict[str, Any] = {"price_kind": bought.kind}
    for end, amount in (("low", bought.low), ("high", bought.high)):
        if bought.kind == BUDGET:
            price = trace.asked(told.scenario, "hardware_budget_usd", Unit.USD)
        else:
            source = Sourced(
                Evidence.ESTIMATE, f"GPU catalog: {bought.kind} price, {bought.as_of or 'undated'}"
            )
            each = trace.given(
                "gpu_price", float(amount / cost.gpu_count), Unit.USD, source, end=end, **about
            )
            gpus = trace.given("bought_gpus", cost.gpu_count, Unit.GPUS, rule("GPUs of this cost"))
            price = told.follows("purchase_price", each * gpus, end=end, **about)
        told.money("purchase_price", price, amount, f"{path}.usd.{end}", end=end, **about)
        for index, key in enumerate(("break_even_months", "break_even_months_always_on")):
            found = (balance.months, balance.always_on)[index]
            rent, drawn = monthly
            if found is None or rent is None or drawn is None:
                continue  # never, or nothing to compare with
            trace.follows(
                key,
                expressions.rounded(price / (rent[index] - drawn[index]), _MONTH_DIGITS),
                Unit.MONTHS,
                FORMULA,
                figure=round(float(found[end == "high"]), _MONTH_DIGITS),
                prints=(f"{path}.{key}.{end}",),
                end=end,
                **about,
            )
