"""What a matrix asks of an engine: the figures of many formats, contexts and accelerators at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from service.core.arrays import NOTHING, Whole
from service.core.engines.broadcast import Offers
from service.core.scenario import Scenario

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Case:
    """One model on accelerators that are peers, in formats that it has the same layout and flags in.

    scenario: its accelerator, its format and its context are the first of many.
    """

    scenario: Scenario
    quantizations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Places:
    """The accelerators of all rows; a row is a format of a case, in order.

    row: of each place. offered: bytes that its accelerator offers, NOTHING where its memory is not known.
    """

    row: NDArray[np.intp]
    offered: Whole

    @property
    def known(self) -> Flags:
        """Places whose memory is known."""
        found: Flags = self.offered != NOTHING
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """Figures of an engine.

    Over rows and contexts, each axis of that length or of one: terms, bytes over all GPUs by the names of
    `Memory`; fullest, bytes on the fullest one; host, in system RAM; short, memory is missing beside a total
    above `usable`; refused, flags that the engine does not take for the model.
    Over places and contexts, likewise: usable and longest, NOTHING where there is none; crowded, a pool fixed
    by hand has no room itself.
    """

    terms: Mapping[str, NDArray[Any]]
    fullest: NDArray[Any]
    host: NDArray[Any]
    short: Flags
    refused: Flags
    usable: Whole
    longest: Whole
    crowded: Flags = field(default_factory=lambda: np.zeros((1, 1), np.bool_))


@runtime_checkable
class Sheets(Offers, Protocol):
    """An engine whose formulas take arrays; the method is optional for an engine."""

    def sheet(self, cases: Sequence[Case], contexts: Whole, places: Places) -> Sheet:
        """The plan of every row at every context, on every place.

        contexts: tokens, of dtype object where 64 bits might not do.
        """
        ...


def as_sheets(engine: object) -> Sheets | None:
    """The engine, if its formulas take arrays."""
    return _as_sheets(engine)


@lru_cache(maxsize=64)  # a look into a protocol is slow
def _as_sheets(engine: object) -> Sheets | None:
    return engine if isinstance(engine, Sheets) else None
