"""Prices and constants that costs are computed from."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from service.core.hardware import GpuKind
from service.core.notes import Note
from service.core.provenance import ProvidedBy

_STALE_DAYS = 180
_RELIABLE = frozenset({"high", "medium"})
# Prices for which the hardware may be taken away, or must be taken for long.
CONDITIONAL = frozenset({"spot", "reserved"})


@dataclass(frozen=True, slots=True)
class Offer:
    """A price for renting `count` accelerators in one instance.

    gpu: catalog id, None for a card outside the catalog, which gpu_name then names. usd_per_hour: the whole
    instance. per_gpu_linear: n accelerators cost n times this offer. as_of: day the price was seen, ISO 8601.
    age_days: from then to the day of the catalog; None without a date, when as_of_estimate names a period.
    provided_by: who states the price.
    """

    provider: str
    gpu: str | None
    count: int
    usd_per_hour: float
    commitment: str
    billing: str
    confidence: str
    source: str
    as_of: str | None
    as_of_estimate: str | None = None
    gpu_name: str | None = None
    instance: str | None = None
    region: str | None = None
    per_gpu_linear: bool = False
    note: str | None = None
    id: str = ""
    age_days: int | None = None
    provided_by: ProvidedBy = ProvidedBy.CATALOG

    @property
    def usd_per_gpu_hour(self) -> float:
        """Price of one accelerator for an hour."""
        return round(self.usd_per_hour / self.count, 6)

    @property
    def current(self) -> bool:
        """Whether the price is dated, at most half a year old, and from a source that can be relied on."""
        dated = self.age_days is not None and self.age_days <= _STALE_DAYS
        return dated and self.confidence in _RELIABLE

    def notes(self) -> tuple[Note, ...]:
        """What must be said beside the price, every time."""
        found = []
        if self.age_days is None:
            # The months of a remark such as "2025-11 to 2026-02 (undated)".
            months = " – ".join(re.findall(r"\d{4}-\d{2}", self.as_of_estimate or ""))
            found.append(Note("price_undated", {"period": months}))
        elif self.age_days > _STALE_DAYS:
            found.append(Note("price_stale", {"days": self.age_days}))
        if self.provided_by is ProvidedBy.OPERATOR:
            found.append(Note("price_by_operator"))
        if self.confidence not in _RELIABLE:
            found.append(Note("price_low_confidence"))
        if self.commitment == "spot":
            found.append(Note("price_spot"))
        if self.commitment == "reserved":
            found.append(Note("price_reserved"))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class HardwarePrice:
    """What one accelerator is sold for, in US dollars.

    kind: `list` (the maker's), `street` (what shops and markets ask) or `given` (by the caller).
    """

    kind: str
    low: float
    high: float
    used: bool = False
    as_of: str | None = None


@dataclass(frozen=True, slots=True)
class HostPower:
    """What a machine draws beside its accelerators, and the site beside the machine.

    per_gpu_watt: watts of the host for each watt of its accelerators. per_machine_watts: for each machine.
    pue: power of the site divided by that of the machine. source: where the numbers come from.
    """

    per_gpu_watt: float
    per_machine_watts: int
    pue: float
    source: str


@dataclass(frozen=True, slots=True)
class CostFacts:
    """Everything that a cost is computed from; as_of: the day on which prices were collected, ISO 8601.

    prices: by catalog id of the accelerator. offers: in the order of their file.
    """

    as_of: str
    offers: tuple[Offer, ...]
    prices: Mapping[str, tuple[HardwarePrice, ...]] = field(repr=False)
    power: Mapping[GpuKind, HostPower] = field(repr=False)
