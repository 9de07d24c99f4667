"""Every offer against one scenario: which hardware runs it, and for how much."""

from collections.abc import Mapping
from itertools import groupby

from service.core.cost.elsewhere import Elsewhere, fewest, on_hardware
from service.core.cost.estimate import SpeedOf, own_cost, rent_of
from service.core.cost.facts import CostFacts, Offer
from service.core.cost.rent import Rental
from service.core.cost.result import Comparison, Excluded, Offered
from service.core.hardware import Gpu
from service.core.notes import Note
from service.core.scenario import Scenario
from service.core.sizing import Sizing


def compare(sizing: Sizing, facts: CostFacts, gpus: Mapping[str, Gpu], speed_of: SpeedOf) -> Comparison:
    """Offers that run the scenario, cheapest first; those that do not; and the scenario's own hardware.

    An offer of n accelerators is asked with the scenario on n of them; one that is priced per accelerator
    with the fewest of one machine that run it. Nothing is pooled: every GPU must hold its part.
    """
    scenario = sizing.scenario
    offered: list[Offered] = []
    excluded: list[Excluded] = []
    for (gpu_id, count), group in groupby(sorted(facts.offers, key=_hardware), key=_hardware):
        offers = tuple(group)
        if gpu_id not in gpus:
            excluded += [_outside(offer) for offer in offers]
            continue
        place = _place(scenario, gpus[gpu_id], count)
        if place.sizing is None or not place.runs:
            excluded.append(Excluded(offers, place.gpu_count, place.reasons))
            continue
        moved, speed = place.sizing.scenario, speed_of(place.sizing)
        offered += [Offered(place, rent_of(Rental(offer, place.gpu_count), moved, speed)) for offer in offers]
    offered.sort(key=lambda found: (found.rent.usd_per_hour, found.rent.rental.offer.id))
    own = own_cost(sizing, facts, speed_of)
    given = own is not None and own.gpu_count == scenario.gpu_count
    return Comparison(facts.as_of, tuple(offered), tuple(excluded), own, given)


def _hardware(offer: Offer) -> tuple[str, int]:
    """What must be sized for an offer: the accelerator and the number, 0 where the number is free."""
    return offer.gpu or "", 0 if offer.per_gpu_linear else offer.count


def _place(scenario: Scenario, gpu: Gpu, count: int) -> Elsewhere:
    return on_hardware(scenario, gpu, count) if count else fewest(scenario, gpu)


def _outside(offer: Offer) -> Excluded:
    return Excluded((offer,), None, (Note("gpu_not_in_catalog", {"gpu": offer.gpu_name}),))
