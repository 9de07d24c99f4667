"""What an accelerator costs: every offer to rent it, and what is known of its purchase price."""

import datetime
from collections.abc import Mapping
from typing import Any

from service.catalog import Catalog
from service.core.cost.buy import purchases
from service.core.cost.facts import CONDITIONAL, Offer
from service.core.hardware import Gpu
from service.i18n.marking import mark, mark_plural
from service.i18n.voice import Voice
from service.render import amounts, costs, plans

_COUNT = mark_plural(
    "There is one offer to rent %(gpu)s among those collected up to %(day)s.",
    "There are %(n)s offers to rent %(gpu)s among those collected up to %(day)s.",
)
_NONE = mark("No offer to rent %(gpu)s is among those collected up to %(day)s.")
_BEST = mark(
    "The cheapest current price without conditions is %(price)s per GPU and hour at %(provider)s, seen on "
    "%(seen)s."
)
_NO_CURRENT = mark("None of these prices is current, dependable and free of conditions.")
_NO_PURCHASE = mark("No purchase price is known.")


def data_of_gpu(gpu: Gpu, catalog: object) -> dict[str, Any]:
    """Offers, dependable ones first, then the cheapest per GPU; purchase prices of one."""
    assert isinstance(catalog, Catalog)
    offers = sorted((offer for offer in catalog.costs.offers if offer.gpu == gpu.id), key=_order)
    plain = [offer for offer in offers if not _order(offer)[0] and offer.current]
    bought = purchases(gpu, 1, catalog.costs.prices.get(gpu.id, ()), None)
    return {
        "gpu": {"id": gpu.id, "name": gpu.name},
        "as_of": catalog.costs.as_of,
        "total": len(offers),
        "cheapest_current": _offer(plain[0], gpu) if plain else None,
        "rows": [_offer(offer, gpu) for offer in offers],
        "purchase": [plans.purchase(price) for price in bought],
    }


def sentences(data: Mapping[str, Any], voice: Voice) -> list[str]:
    """How many offers there are, the cheapest that can be relied on, and whether a price to buy is known."""
    day = voice.date(datetime.date.fromisoformat(data["as_of"]))
    gpu = data["gpu"]["name"]
    said = [voice.plural(*_COUNT, data["total"], gpu=gpu, day=day)]
    if not data["rows"]:
        said = [voice.text(_NONE, gpu=gpu, day=day)]
    elif best := data["cheapest_current"]:
        values = {"price": voice.money(best["usd_per_gpu_hour"]), "provider": best["provider"]}
        said.append(voice.text(_BEST, **values, seen=voice.period(best["as_of"])))
    else:
        said.append(voice.text(_NO_CURRENT))
    return said if data["purchase"] else [*said, voice.text(_NO_PURCHASE)]


def _order(offer: Offer) -> tuple[bool, bool, float, str]:
    conditional = offer.commitment in CONDITIONAL
    return (conditional, not offer.current, offer.usd_per_gpu_hour, offer.id)


def _offer(offer: Offer, gpu: Gpu) -> dict[str, Any]:
    memory = None if gpu.memory_bytes is None else gpu.memory_bytes * offer.count
    return {
        **costs.offer(offer),
        "gpu_count": offer.count,
        "memory": amounts.maybe_amount(memory),
        "usd_per_hour": offer.usd_per_hour,
        "usd_per_gpu_hour": offer.usd_per_gpu_hour,
        "notes": amounts.notes(offer.notes()),
    }
