"""The options that people ask for by name: best single GPU, best value, unified memory, cloud, smallest."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from service.core.cost.buy import Purchase
from service.core.hardware import GpuKind
from service.core.notes import Note
from service.core.planning.formats import USUAL_BITS
from service.core.planning.prices import cheapest_purchase, is_old
from service.core.planning.question import Facts, Option


@dataclass(frozen=True, slots=True)
class Bought:
    """An option with one of its prices and what a token/s of one sequence costs at it, US dollars."""

    option: Option
    purchase: Purchase
    usd_per_token_rate: Decimal

    @property
    def notes(self) -> tuple[Note, ...]:
        """That nothing better is known, where the value rests on a speed without benchmarks."""
        return () if self.option.calibrated else (Note("plan_value_indicative"),)


@dataclass(frozen=True, slots=True)
class Highlights:
    """Each None or absent where no option qualifies.

    single: one accelerator with memory of its own: the best format, then the fastest. unified: the same of
    machines with unified memory. value, value_used: lowest price of a token/s of one sequence, new and used.
    cloud: the lowest rent. smallest: for each kind of accelerator the fewest, then those of least memory.
    Formats of less than four bits, and engines that are not known to run the model there by their own
    releases, count only where there is nothing else; so do uncalibrated speeds for a value.
    """

    single: Option | None
    unified: Option | None
    value: Bought | None
    value_used: Bought | None
    cloud: Option | None
    smallest: Mapping[GpuKind, Option]


def highlights(options: Sequence[Option], facts: Facts) -> Highlights:
    """What stands out among the options of a model."""
    usual = [option for option in options if option.bits >= USUAL_BITS] or list(options)
    single = [option for option in usual if option.sizing.scenario.gpu_count == 1]
    own = [option for option in single if option.gpu.kind is not GpuKind.UNIFIED]
    unified = [option for option in usual if option.gpu.kind is GpuKind.UNIFIED]
    rented = _supported(option for option in usual if option.rental is not None)
    return Highlights(
        single=max(_supported(own), key=_strength, default=None),
        unified=max(_supported(unified), key=_strength, default=None),
        value=_value(usual, facts, used=False),
        value_used=_value(usual, facts, used=True),
        cloud=min(rented, key=_rent, default=None),
        smallest={kind: found for kind in GpuKind if (found := _smallest(usual, kind)) is not None},
    )


def _supported(options: Iterable[Option]) -> list[Option]:
    """Those whose engine is known to run there, else those where it is no port, else all."""
    found = list(options)
    known = [option for option in found if option.supported]
    return known or [option for option in found if option.released] or found


def _strength(option: Option) -> tuple[int, float]:
    return option.bits, option.rate or 0.0


def _rent(option: Option) -> tuple[bool, Decimal, float]:
    """Dependable prices first, see `Offer.current`."""
    assert option.rental is not None
    return not option.rental.offer.current, option.rental.usd_per_hour, -(option.rate or 0.0)


def _value(options: Iterable[Option], facts: Facts, *, used: bool) -> Bought | None:
    """The lowest price of a token/s: by dependable speeds if there are any, else by what is known."""
    priced = [bought for option in options if (bought := _bought(option, facts, used)) is not None]
    trusted = {id(option) for option in _supported(bought.option for bought in priced)}
    found = [bought for bought in priced if id(bought.option) in trusted]
    calibrated = [bought for bought in found if bought.option.calibrated] or found
    return min(calibrated, key=lambda bought: bought.usd_per_token_rate, default=None)


def _bought(option: Option, facts: Facts, used: bool) -> Bought | None:
    price = cheapest_purchase(option.gpu, option.sizing.scenario.gpu_count, facts, used=used)
    if price is None or is_old(price, facts.costs.as_of) or not option.rate:
        return None
    return Bought(option, price, price.low / Decimal(str(option.rate)))


def _smallest(options: Iterable[Option], kind: GpuKind) -> Option | None:
    found = _supported(option for option in options if option.gpu.kind is kind)
    return min(found, key=lambda o: (_size(o), -o.bits, -(o.rate or 0.0)), default=None)


def _size(option: Option) -> tuple[int, int]:
    return option.sizing.scenario.gpu_count, option.gpu.memory_bytes or 0
