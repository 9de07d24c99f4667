"""The longest contexts of many rows and places: one table of bytes by context for all that need the same."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from service.core.arrays import NOTHING, Whole
from service.core.engines.llama_cpp.limits import contexts_within
from service.core.engines.sheets import Places


class Search:
    """The largest contexts of all places: room is what an accelerator leaves beside the process's context.

    Places that need the same are searched together.
    """

    def __init__(self, places: Places, room: Whole) -> None:
        self.longest = np.full(len(room), NOTHING, np.int64)
        self._places, self._room = places, room
        rows = 1 + int(places.row.max(initial=-1))
        self._weights = np.zeros(rows, np.int64)
        self._needed_by_row = np.zeros(rows, np.intp)
        self._needed: list[tuple[Whole, int]] = []

    def add(
        self, rows: NDArray[np.intp], needed: Sequence[Whole], number: Whole, weights: Whole, longest: int
    ) -> None:
        """Rows with the bytes of the fullest device at every step.

        number: of the entry of `needed` that a row takes; weights: bytes of the row that come on top.
        longest: tokens that the model was made for.
        """
        self._needed_by_row[rows] = len(self._needed) + number
        self._weights[rows] = weights
        self._needed += [(own, longest) for own in needed]

    def run(self) -> None:
        """Search all places."""
        known = np.flatnonzero(self._places.known)
        wanted = self._needed_by_row[self._places.row[known]]
        order = known[np.argsort(wanted, kind="stable")]
        rows = self._places.row[order]
        room = self._room[order] - self._weights[rows]
        ends = np.cumsum(np.bincount(wanted, minlength=len(self._needed)))
        start = 0
        for (needed, longest), end in zip(self._needed, ends.tolist(), strict=True):
            self.longest[order[start:end]] = contexts_within(needed, room[start:end], longest)
            start = end
