"""Ranking: the front of price, speed and format, the order of the places, and the reason of each."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf

from service.core.notes import Note
from service.core.planning.formats import AS_PUBLISHED, USUAL_BITS
from service.core.planning.question import Option

_RENT, _OLD_RENT, _PURCHASE, _NONE = range(4)  # a dependable and current price first


@dataclass(frozen=True, slots=True)
class Place:
    """An option at its place. unbeaten: on the front of price, speed and format. reasons: why it is there."""

    option: Option
    unbeaten: bool
    reasons: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class _Marks:
    """What options are compared by; infinity where a price is not known, 0 where a speed is not."""

    option: Option
    rent: float
    purchase: float
    rate: float
    bits: int
    gpu: str
    count: int

    def beats(self, other: "_Marks") -> bool:
        """At least as good in price, speed and format, and better in one; unknown prices prove nothing."""
        if self.rate < other.rate or self.bits < other.bits:
            return False
        if self.gpu == other.gpu and self.count <= other.count:
            cheaper, dearer = self.count < other.count, False
        else:
            cheaper = self.rent < other.rent or self.purchase < other.purchase
            dearer = self.rent > other.rent or self.purchase > other.purchase
            if other.rent == inf and other.purchase == inf:
                return False
        return not dearer and (cheaper or self.rate > other.rate or self.bits > other.bits)


def _beaten_by(m: _Marks, marks: Iterable[_Marks]) -> _Marks | None:
    """The first that beats it; what is slower or of fewer bits does not, and need not be asked."""
    rate, bits = m.rate, m.bits
    return next((o for o in marks if o.rate >= rate and o.bits >= bits and o.beats(m)), None)


_Key = Callable[[_Marks], tuple[float | str, ...]]


def front(options: Iterable[Option]) -> list[Option]:
    """Options that no other beats."""
    marks = [_marks(option) for option in options]
    return [m.option for m in marks if _beaten_by(m, marks) is None]


def places_of_hardware(options: Sequence[Option]) -> tuple[Place, ...]:
    """Hardware for a model in order: known speed, 4 bit or more, unbeaten, known price, cheap, fast."""
    marks = [_marks(option) for option in options]
    beaten = {id(m.option): _beaten_by(m, marks) for m in marks}

    def key(m: _Marks) -> tuple[float | str, ...]:
        price = _price_kind(m)
        return (
            m.rate == 0,
            m.bits < USUAL_BITS,
            beaten[id(m.option)] is not None,
            price,
            (m.rent, m.rent, m.purchase, 0.0)[price],
            -m.rate,
            m.count,
            m.gpu,
        )

    codes = ("speed_known", "format", "unbeaten", "price_known", "price", "speed", "count", "name")
    best = _superlatives(marks)
    return tuple(
        Place(
            m.option,
            beaten[id(m.option)] is None,
            (*best(m), *_standing(m, beaten[id(m.option)]), *ahead),
        )
        for m, ahead in _ordered(marks, key, codes)
    )


def places_of_models(options: Sequence[Option]) -> tuple[Place, ...]:
    """Models for an accelerator in order: known speed, 4 bit or more, the largest, the fastest."""

    def key(m: _Marks) -> tuple[float | str, ...]:
        model = m.option.sizing.scenario.model
        return (m.rate == 0, m.bits < USUAL_BITS, -model.parameters_total, -m.rate, model.id)

    codes = ("speed_known", "format", "size", "speed", "name")
    marks = [_marks(option) for option in options]
    return tuple(
        Place(m.option, True, (*_standing(m, None, models=True), *ahead))
        for m, ahead in _ordered(marks, key, codes)
    )


def _ordered(
    marks: Sequence[_Marks], key: _Key, codes: tuple[str, ...]
) -> Iterator[tuple[_Marks, list[Note]]]:
    """Options in the order of a key, each with why it is ahead of the next place."""
    ordered = sorted(marks, key=key)
    for place, m in enumerate(ordered, start=1):
        yield m, _ahead(key(m), key(ordered[place]), place + 1, codes) if place < len(ordered) else []


def _marks(option: Option) -> _Marks:
    rental, purchase = option.rental, option.purchase
    return _Marks(
        option,
        inf if rental is None else float(rental.usd_per_hour),
        inf if purchase is None or option.purchase_old else float(purchase.low),
        option.rate or 0.0,
        option.bits,
        option.gpu.id,
        option.sizing.scenario.gpu_count,
    )


def _price_kind(m: _Marks) -> int:
    rental = m.option.rental
    if rental is not None:
        return _RENT if rental.offer.current else _OLD_RENT
    return _PURCHASE if m.purchase < inf else _NONE


def _superlatives(marks: Sequence[_Marks]) -> Callable[[_Marks], list[Note]]:
    """What an option has that no other of all options has better."""
    usual = [m for m in marks if m.bits >= USUAL_BITS] or list(marks)
    current = [m for m in usual if _price_kind(m) == _RENT]
    rent = min((m.rent for m in current), default=inf)
    purchase = min((m.purchase for m in usual), default=inf)
    rate = max((m.rate for m in marks), default=0.0)
    known, rented = {id(m) for m in usual}, {id(m) for m in current}

    def found(m: _Marks) -> list[Note]:
        notes = []
        if m.rent == rent and id(m) in rented:
            notes.append(Note("plan_cheapest_rent", {"usd_per_hour": m.rent}))
        if m.purchase == purchase < inf and id(m) in known:
            bought = m.option.purchase
            used = bought is not None and bought.used
            notes.append(Note(f"plan_cheapest_purchase{'_used' if used else ''}", {"usd": m.purchase}))
        if m.rate == rate > 0:
            notes.append(Note("plan_fastest", {"rate": float(f"{m.rate:.4g}")}))
        return notes

    return found


def _standing(m: _Marks, beaten_by: _Marks | None, *, models: bool = False) -> list[Note]:
    notes = []
    if m.bits == AS_PUBLISHED:
        notes.append(Note("plan_as_published"))
    if m.bits < USUAL_BITS:
        notes.append(Note("plan_few_bits", {"bits": m.bits}))
    if m.rate == 0:
        notes.append(Note("plan_last_without_speed"))
    if beaten_by is not None:
        scenario = beaten_by.option.sizing.scenario
        values = {"gpu": scenario.gpu.name, "gpu_count": scenario.gpu_count}
        notes.append(Note("plan_beaten", {**values, "format": scenario.quantization}))
    elif not models:
        notes.append(Note("plan_unbeaten"))
    return notes


def _ahead(
    own: tuple[float | str, ...], theirs: tuple[float | str, ...], place: int, codes: tuple[str, ...]
) -> list[Note]:
    """The first mark in which an option is ahead of the next place."""
    found = next((code for code, a, b in zip(codes, own, theirs, strict=True) if a != b), None)
    return [] if found is None else [Note(f"plan_ahead_{found}", {"place": place})]
