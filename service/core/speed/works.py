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
        self.weights = WeightSums(
            as_number(self._each("fixed_bytes", of_weights=True)),
            as_number(self._each("expert_bytes", of_weights=True)),
            as_number(self._each("fixed_parameters", of_weights=True)),
            as_number(self._each("expert_parameters", of_weights=True)),
            "",
        )
        self.layers = as_rate(self._each("layers"))
        self.expert_layers = as_rate(self._each("expert_layers"))
        self.active_parameters = as_rate(self._each("active_parameters"))

    def _each(self, name: str, *, of_weights: bool = False) -> Rates:
        found = (getattr(work.weights if of_weights else work, name) for work in self._works)
        return self._column(found)

    def _column(self, figures: Iterable[float]) -> Rates:
        return np.array(list(figures), np.float64)[self._index, None]

    def expert_share(self, tokens: float) -> float:
        """As `Work.expert_share`; equal passes are evaluated once."""
        known: dict[tuple[int, int], float] = {}
        for work in self._works:
            key = (work.experts, work.experts_per_token)
            if key not in known:
                known[key] = work.expert_share(tokens)
        return as_rate(self._column(known[work.experts, work.experts_per_token] for work in self._works))

    @property
    def as_work(self) -> Work:
        """The formulas of the speed model take it as one."""
        return cast(Work, self)
