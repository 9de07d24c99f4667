"""Offers for a given number of one accelerator."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from service.core.cost.facts import CONDITIONAL, Offer
from service.core.cost.money import decimal
from service.core.hardware import Gpu
from service.core.notes import Note
from service.core.provenance import ProvidedBy
from service.core.units import ceil_div

GIVEN = "given"


@dataclass(frozen=True, slots=True)
class Rental:
    """An offer taken for `gpu_count` accelerators. machines: how many instances that is."""

    offer: Offer
    gpu_count: int
    machines: int = 1

    @property
    def usd_per_hour(self) -> Decimal:
        """Price of all instances."""
        return decimal(self.offer.usd_per_hour) * (self.gpu_count // self.offer.count)

    def notes(self) -> tuple[Note, ...]:
        """What must be said beside the price."""
        if self.machines == 1:
            return self.offer.notes()
        return (*self.offer.notes(), Note("several_machines", {"machines": self.machines}))


def rentals(gpu: Gpu, gpu_count: int, offers: Iterable[Offer]) -> tuple[Rental, ...]:
    """Every offer that makes up the number exactly, most dependable first, then the cheapest.

    Instances are only joined when each is a whole machine, since a model is not split over halves of them.

    A price without conditions comes before spot and reserved, a current one before an old, undated or
    doubtful one, and one instance before several. A rent that the caller gave is the only one.
    """
    if gpu.usd_per_hour is not None:
        return (Rental(_given(gpu), gpu_count, ceil_div(gpu_count, gpu.max_per_node)),)
    found = (_taken(offer, gpu, gpu_count) for offer in offers if offer.gpu == gpu.id)
    return tuple(sorted((rental for rental in found if rental is not None), key=preference))


def _taken(offer: Offer, gpu: Gpu, gpu_count: int) -> Rental | None:
    if gpu_count % offer.count:
        return None
    if offer.per_gpu_linear:
        return Rental(offer, gpu_count, ceil_div(gpu_count, max(gpu.max_per_node, offer.count)))
    machines = gpu_count // offer.count
    return Rental(offer, gpu_count, machines) if machines == 1 or offer.count >= gpu.max_per_node else None


def preference(rental: Rental) -> tuple[bool, bool, bool, Decimal, str]:
    """The order of rentals of the same hardware."""
    offer = rental.offer
    conditional = offer.commitment in CONDITIONAL
    return (conditional, not offer.current, rental.machines > 1, rental.usd_per_hour, offer.id)


def _given(gpu: Gpu) -> Offer:
    return Offer(
        provider=GIVEN,
        gpu=gpu.id,
        count=1,
        usd_per_hour=gpu.usd_per_hour or 0.0,
        commitment=GIVEN,
        billing=GIVEN,
        confidence="high",
        source="given by the caller",
        as_of=None,
        per_gpu_linear=True,
        id=GIVEN,
        age_days=0,
        provided_by=ProvidedBy.CALLER,
    )
