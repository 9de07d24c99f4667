"""Steps of a rent: an hour, a month, and a million tokens."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from service.core.cost.estimate import Known
from service.core.cost.money import HOURS_PER_MONTH, MoneyRange, rounded
from service.core.cost.result import Rent
from service.core.derivation import expressions
from service.core.derivation.expressions import Expression
from service.core.derivation.facts import rule
from service.core.derivation.steps import Trace, Unit
from service.core.evidence import Evidence
from service.core.scenario import Scenario
from service.core.sizing import Sourced
from service.core.speed.result import Estimate, Speed

FORMULA = rule("service/core/cost")
_OPPOSITE = {"low": "high", "estimate": "estimate", "high": "low"}  # a low rate is a high cost


@dataclass(frozen=True, slots=True)
class Told:
    """What the steps of a cost share: the trace, and the scenario that runs on the hardware."""

    trace: Trace
    scenario: Scenario

    def follows(self, symbol: str, formula: Expression, unit: Unit = Unit.USD, **about: Any) -> Expression:
        """A step by one of the formulas."""
        return self.trace.follows(symbol, formula, unit, FORMULA, title=symbol, **about)

    def money(self, symbol: str, exact: Expression, found: Decimal, path: str, **about: Any) -> None:
        """An amount as it is printed: to the cent, below one dollar to a hundredth of a cent."""
        self.trace.follows(
            f"{symbol}_printed",
            expressions.money(exact),
            Unit.USD,
            FORMULA,
            figure=float(rounded(found)),
            prints=(path,),
            title="printed_figure",
            **about,
        )

    def hours(self) -> tuple[Expression, Expression]:
        """Hours of a month: those asked for, and all of them."""
        asked = self.trace.asked(self.scenario, "hours_per_day", Unit.HOURS) * 365 / 12
        always = self.trace.given("hours_always_on", int(HOURS_PER_MONTH), Unit.HOURS, rule("365 * 24 / 12"))
        return self.follows("hours_per_month", asked, Unit.HOURS), always


def rent_of(
    told: Told, rent: Rent, speed: Known, path: str, *, chained: bool
) -> tuple[Expression, Expression]:
    """Rent of a month at the hours asked for, and of one without a pause."""
    offer, trace = rent.rental.offer, told.trace
    about: dict[str, Any] = {"provider": offer.provider}
    source = Sourced(
        Evidence.ESTIMATE, f"{offer.source} ({offer.as_of or offer.as_of_estimate or 'undated'})"
    )
    price = trace.given("offer_price", offer.usd_per_hour, Unit.USD, source, **about)
    taken = trace.given(
        "offers_taken", rent.rental.gpu_count // offer.count, Unit.COUNT, rule("GPUs / GPUs of the offer")
    )
    hourly = told.follows("rent_per_hour", price * taken, **about)
    told.money("rent_per_hour", hourly, rent.usd_per_hour, f"{path}.usd_per_hour", **about)
    hours, always = told.hours()
    monthly = told.follows("rent_per_month", hourly * hours, **about)
    told.money("rent_per_month", monthly, rent.usd_per_month, f"{path}.usd_per_month", **about)
    constant = told.follows("rent_always_on", hourly * always, **about)
    told.money("rent_always_on", constant, rent.usd_per_month_always_on, f"{path}.usd_per_month_always_on")
    if isinstance(speed, Speed):
        output = (speed.decode_aggregate, "aggregate_rate", 1)
        _tokens(told, hourly, rent.output_tokens, output, f"{path}.usd_per_million_output_tokens", chained)
        if speed.prefill is not None:
            replicas = told.scenario.layout.data
            prompt = (speed.prefill, "prefill_rate", replicas)
            _tokens(told, hourly, rent.input_tokens, prompt, f"{path}.usd_per_million_input_tokens", chained)
    return monthly, constant


def _tokens(
    told: Told,
    hourly: Expression,
    found: MoneyRange | None,
    rated: tuple[Estimate, str, int],
    path: str,
    chained: bool,
) -> None:
    """A million tokens at each end of the rate: rent / (rate * 3600) * 10**6."""
    if found is None:
        return
    rate, symbol, replicas = rated
    for end, opposite in _OPPOSITE.items():
        name = symbol if opposite == "estimate" else f"{symbol}_{opposite}"
        known = told.trace.find(name) if chained else None
        if known is None:
            source = Sourced(Evidence.ESTIMATE, "speed of the same hardware, as /v1/sizing derives it")
            value = getattr(rate, opposite)
            known = told.trace.given(name, value, Unit.TOKENS_PER_SECOND, source, title=symbol, end=opposite)
        if replicas > 1:
            known *= told.trace.asked(told.scenario, "data_parallel", Unit.WAYS, replicas)
        name = path.rpartition(".")[2]
        exact = told.follows(name, hourly * 1_000_000 / 3600 / known, end=end)
        told.money(name, exact, getattr(found, end), f"{path}.{end}", end=end)
