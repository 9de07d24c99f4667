"""The work of many forward passes at once, in the place of the work of one."""

from collections.abc import Iterable, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from service.core.arrays import Rates, as_number, as_rate
from service.core.speed.work import WeightSums, Work


class Works:
    """The work of many passes, each figure a column, in the place of one `Work`.

    index: the passes, as places in `works`.
    """

    def __init__(self, works: Sequence[Work], index: NDArray[np.intp]) -> None:
        self._works, self._index = works, index
        columns = self._columns(
            (
                work.weights.fixed_bytes,
                work.weights.expert_bytes,
                work.weights.fixed_parameters,
                work.weights.expert_parameters,
                work.layers,
                work.expert_layers,
                work.active_parameters,
            )
            for work in works
        )
        fixed, experts, fixed_parameters, expert_parameters = map(as_number, columns[:4])
        self.weights = WeightSums(fixed, experts, fixed_parameters, expert_parameters, "")
        self.layers, self.expert_layers, self.active_parameters = map(as_rate, columns[4:])

    def _columns(self, figures: Iterable[tuple[float, ...]]) -> Rates:
        """Figures of each pass, as a column of all places for each."""
        return np.array(list(figures), np.float64).T[:, self._index, None]

    def expert_share(self, tokens: float) -> float:
        """As `Work.expert_share`; equal passes are evaluated once."""
        known: dict[tuple[int, int], float] = {}
        for work in self._works:
            key = (work.experts, work.experts_per_token)
            if key not in known:
                known[key] = work.expert_share(tokens)
        shares = self._columns((known[work.experts, work.experts_per_token],) for work in self._works)
        return as_rate(shares[0])

    @property
    def as_work(self) -> Work:
        """The formulas of the speed model take it as one."""
        return cast(Work, self)
