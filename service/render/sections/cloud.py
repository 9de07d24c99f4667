"""What it costs to rent hardware that runs the scenario, and to buy the same hardware instead."""

import datetime
from collections.abc import Mapping
from typing import Any

from service.catalog import Catalog
from service.core.cost.compare import compare
from service.core.cost.rent import preference
from service.core.cost.result import Comparison, Offered
from service.core.sizing import Sizing
from service.i18n.marking import mark, mark_plural
from service.i18n.messages.terms import HOURS_A_DAY
from service.i18n.voice import Voice
from service.render import costs
from service.render.environments import counted, span
from service.render.speed_of import speed_or_reasons_by

_AS_OF = mark_plural(
    "Of %(total)s rental offers collected up to %(day)s, one runs this scenario on a single machine, "
    "each GPU holding its own share.",
    "Of %(total)s rental offers collected up to %(day)s, %(n)s run this scenario on a single machine, "
    "each GPU holding its own share.",
)
_NONE = mark(
    "None of the %(total)s rental offers collected up to %(day)s is known to run this scenario "
    "on a single machine."
)
_BEST = mark(
    "The cheapest current price is %(hourly)s per hour at %(provider)s for %(hardware)s, seen on %(seen)s: "
    "%(monthly)s a month at %(hours)s, %(constant)s around the clock."
)
_NO_CURRENT = mark(
    "All of these prices are old, undated, from a source that is not dependable, or tied to conditions."
)
_BREAK_EVEN = mark(
    "Buying %(hardware)s for %(price)s pays off after %(months)s months compared with renting the same "
    "hardware (%(hourly)s per hour at %(provider)s), around the clock after %(constant)s months; "
    "the rest of the machine is not included."
)
_NEVER = mark(
    "Buying %(hardware)s never pays off compared with renting the same hardware "
    "at %(hours)s, because the electricity alone costs as much."
)
_NO_RENT = mark("No rental offer is known for %(hardware)s, so renting and buying cannot be compared.")
_NO_POWER = mark("The power limit of %(hardware)s is not known, so renting and buying cannot be compared.")
_NO_PRICE = mark("No purchase price is known for %(hardware)s; state a hardware budget to compare.")
_DOES_NOT_RUN = mark(
    "No number of the chosen GPUs is known to run the scenario, so there is nothing to buy or power."
)
_POWER = mark(
    "At full load, the estimated draw of %(hardware)s with host and cooling is %(watts)s W; "
    "at %(tariff)s per kWh and %(hours)s that is %(monthly)s a month."
)


def data(sizing: Sizing, catalog: object) -> dict[str, Any]:
    """The best offer of each provider, cheapest first; providers without one; the own hardware."""
    assert isinstance(catalog, Catalog)
    found = compare(sizing, catalog.costs, catalog.gpus, speed_or_reasons_by(catalog))
    providers = {offer.provider for offer in catalog.costs.offers}
    rows = _best_of_each(found)
    scenario = sizing.scenario
    return {
        "as_of": found.as_of,
        "hours_per_day": scenario.hours_per_day,
        "electricity_usd_per_kwh": scenario.electricity_usd_per_kwh,
        "offers_total": len(catalog.costs.offers),
        "offers_running": len(found.offered),
        "cheapest_current": _cheapest_current(found),
        "rows": [costs.offered(row) for row in rows],
        "without_offer": sorted(providers - {row.rent.rental.offer.provider for row in rows}),
        "own_hardware": costs.own_hardware(found),
    }


def sentences(data: Mapping[str, Any], voice: Voice) -> list[str]:
    """How many offers there are, the cheapest current one, electricity, and whether buying pays."""
    day = voice.date(datetime.date.fromisoformat(data["as_of"]))
    total = voice.integer(data["offers_total"])
    if not data["rows"]:
        return [voice.text(_NONE, total=total, day=day), *_own(data, voice)]
    said = [voice.plural(*_AS_OF, data["offers_running"], total=total, day=day)]
    best = data["cheapest_current"]
    if best is None:
        said.append(voice.text(_NO_CURRENT))
    else:
        said.append(_best(data, best, voice))
    return [*said, *_own(data, voice)]


def _best(data: Mapping[str, Any], best: Mapping[str, Any], voice: Voice) -> str:
    return voice.text(
        _BEST,
        hourly=voice.money(best["usd_per_hour"]),
        provider=best["provider"],
        hardware=_hardware(best),
        seen=voice.date(datetime.date.fromisoformat(best["as_of"])),
        monthly=voice.money(best["usd_per_month"]),
        hours=counted(voice, HOURS_A_DAY, data["hours_per_day"]),
        constant=voice.money(best["usd_per_month_always_on"]),
    )


def _own(data: Mapping[str, Any], voice: Voice) -> list[str]:
    own = data["own_hardware"]
    if own is None:
        return [voice.text(_DOES_NOT_RUN)]
    said = []
    electricity = own["electricity"]
    if electricity["power"] is not None:
        said.append(
            voice.text(
                _POWER,
                hardware=_hardware(own),
                watts=voice.integer(electricity["power"]["watts"]),
                tariff=voice.money(electricity["usd_per_kwh"]),
                hours=counted(voice, HOURS_A_DAY, electricity["hours_per_day"]),
                monthly=voice.money(electricity["usd_per_month"]),
            )
        )
    return [*said, _balance(data, own, voice)]


def _balance(data: Mapping[str, Any], own: Mapping[str, Any], voice: Voice) -> str:
    hardware, rent = _hardware(own), own["rent"]
    if rent is None:
        return voice.text(_NO_RENT, hardware=hardware)
    if not own["purchase"]:
        return voice.text(_NO_PRICE, hardware=hardware)
    bought = own["purchase"][0]
    if bought["break_even"] == "unknown":
        return voice.text(_NO_POWER, hardware=hardware)
    months, constant = bought["break_even_months"], bought["break_even_months_always_on"]
    if months is None or constant is None:
        return voice.text(_NEVER, hardware=hardware, hours=counted(voice, HOURS_A_DAY, data["hours_per_day"]))
    return voice.text(
        _BREAK_EVEN,
        hardware=hardware,
        price=span(voice.money, bought["usd"]),
        months=span(lambda value: voice.number(value, 1), months),
        hourly=voice.money(rent["usd_per_hour"]),
        provider=rent["provider"],
        constant=span(lambda value: voice.number(value, 1), constant),
    )


def _hardware(found: Mapping[str, Any]) -> str:
    return f"{found['gpu_count']} × {found['gpu_name']}"


def _best_of_each(found: Comparison) -> list[Offered]:
    """One offer of every provider: the most dependable, then the cheapest."""
    best: dict[str, Offered] = {}
    for item in sorted(found.offered, key=lambda item: preference(item.rent.rental)):
        best.setdefault(item.rent.rental.offer.provider, item)
    return sorted(best.values(), key=lambda item: (item.rent.usd_per_hour, item.rent.rental.offer.id))


def _cheapest_current(found: Comparison) -> dict[str, Any] | None:
    """The cheapest offer that is dated, current, dependable and free of conditions."""
    plain = [item for item in found.offered if not preference(item.rent.rental)[0]]
    current = [item for item in plain if item.rent.rental.offer.current and item.rent.rental.offer.as_of]
    return costs.offered(current[0]) if current else None
