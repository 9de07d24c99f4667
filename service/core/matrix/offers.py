"""What the accelerators of a group offer a plan: usable memory, and the contexts that it holds."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from service.core.engines import ENGINES
from service.core.engines.broadcast import Broadcasts
from service.core.matrix.groups import Group
from service.core.scenario import Scenario
from service.core.sizing import EnginePlan

Bytes = NDArray[np.int64]
NOTHING = -1  # in arrays of whole numbers: no value


class Offers:
    """The memory of a group; amounts that several accelerators offer are evaluated once.

    scenario: the group's first, from which the offers follow but for its model, format and context.
    """

    def __init__(self, group: Group, scenario: Scenario) -> None:
        engine = ENGINES[group.engine]
        self._engine = engine if isinstance(engine, Broadcasts) else None
        self._count = len(group.members)
        self._amounts: list[int] = []
        if self._engine is not None:
            offered = [
                self._engine.offered(
                    replace(scenario, gpu=member.gpu, platform=member.platform, backend=member.backend)
                )
                for member in group.members
            ]
            self._amounts = sorted({amount for amount in offered if amount is not None})
            index = {amount: place for place, amount in enumerate(self._amounts)}
            nowhere = len(self._amounts)
            self._index = np.array([nowhere if a is None else index[a] for a in offered], np.intp)

    @property
    def shared(self) -> bool:
        """Whether the plan's own usable memory is not that of the whole group."""
        return self._engine is not None

    def usable(self, scenario: Scenario, plan: EnginePlan) -> Bytes:
        """Usable bytes of each accelerator, NOTHING where not known."""
        if self._engine is None:
            usable = plan.usable_bytes
            return np.full(self._count, NOTHING if usable is None else max(0, usable), np.int64)
        return self._spread([max(0, amount) for amount in self._engine.usable(scenario, self._amounts)])

    def longest(self, scenario: Scenario, plan: EnginePlan) -> Bytes:
        """The largest context of each accelerator, NOTHING where there is none."""
        if self._engine is None:
            found = plan.max_context_tokens
            return np.full(self._count, NOTHING if found is None else found, np.int64)
        longest = self._engine.longest(scenario, self._amounts)
        return self._spread([NOTHING if tokens is None else tokens for tokens in longest])

    def _spread(self, by_amount: Sequence[int]) -> Bytes:
        return np.array([*by_amount, NOTHING], np.int64)[self._index]
