"""The longest contexts of many rows and places: one table of bytes by context for all that need the same."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from service.core.arrays import NOTHING, Whole
from service.core.engines.llama_cpp.limits import Ladder
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
        self._ladder_of_row = np.zeros(rows, np.intp)
        self._ladders: list[Ladder] = []

    def add(
        self,
        rows: NDArray[np.intp],
        ladders: Sequence[Ladder],
        number: NDArray[np.intp],
        weights: Whole | int,
    ) -> None:
        """Rows with what the fullest device needs at every step.

        number: of the ladder that a row takes; weights: bytes of the row that come on top.
        """
        self._ladder_of_row[rows] = len(self._ladders) + number
        self._weights[rows] = weights
        self._ladders += ladders

    def run(self) -> None:
        """Search all places."""
        known = np.flatnonzero(self._places.known)
        wanted = self._ladder_of_row[self._places.row[known]]
        order = known[np.argsort(wanted, kind="stable")]
        rows = self._places.row[order]
        room = self._room[order] - self._weights[rows]
        ends = np.cumsum(np.bincount(wanted, minlength=len(self._ladders)))
        start = 0
        found = np.zeros(len(order), np.int64)
        for ladder, end in zip(self._ladders, ends.tolist(), strict=True):
            found[start:end] = ladder.contexts_within(room[start:end])
            start = end
        self.longest[order] = found
