"""The frozen speed of a sizing, or why there is none."""

from dataclasses import dataclass
from enum import StrEnum

from service.core.evidence import Evidence
from service.core.notes import Note


class Bound(StrEnum):
    """What most of a decode step is spent on."""

    MEMORY = "memory"  # reading weights and caches
    COMPUTE = "compute"  # matrix products, of prompts that are prefilled between the steps included
    INTERCONNECT = "interconnect"  # exchange between GPUs
    HOST = "host"  # launches, scheduling, and reading what is kept in system RAM


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with the interval that holds eight of ten measurements of its class: P10, estimate, P90."""

    low: float
    estimate: float
    high: float

    def times(self, factor: float) -> "Estimate":
        """The same estimate in another unit; a positive factor."""
        return Estimate(self.low * factor, self.estimate * factor, self.high * factor)


@dataclass(frozen=True, slots=True)
class Basis:
    """What an interval comes from: the class of measurements, and how many rows of it were held out.

    indicative: the class was never calibrated, so its interval is that of what users report.
    """

    name: str
    rows: int
    evidence: Evidence
    indicative: bool = False


@dataclass(frozen=True, slots=True)
class Speed:
    """Speed of a scenario that runs.

    decode: tokens/s of one sequence. decode_aggregate: tokens/s of all concurrent sequences, over all GPUs.
    prefill: prompt tokens/s of one request that runs alone; None where no honest figure exists.
    time_to_first_token_ms: of one request when nothing is queued before it; None with prefill.
    notes: what was left out of the model, and why a figure is missing.
    """

    decode: Estimate
    decode_aggregate: Estimate
    prefill: Estimate | None
    time_to_first_token_ms: Estimate | None
    bound: Bound
    decode_basis: Basis
    prefill_basis: Basis | None
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Withheld:
    """No speed, and why: a scenario that does not run has none, and neither has what is not known."""

    reasons: tuple[Note, ...]
