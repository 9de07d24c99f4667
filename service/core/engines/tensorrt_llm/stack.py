"""The ranks of many plans side by side: the fields of `Stage` and `Rates` as arrays."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.core.arrays import Whole, as_number
from service.core.engines.tensorrt_llm.budget import Stage
from service.core.engines.tensorrt_llm.cache import Rates


@dataclass(frozen=True, slots=True)
class Stack:
    """Plans over one axis. numbers: the fields of a stage and its rates that are numbers, over the plans.

    windows: blocks at most and the size of one, for the first window of each plan, the second, and so on; no
    size where a plan has none.
    """

    numbers: Whole
    windows: Whole

    def stage(self, index: NDArray[np.intp] | slice, *, column: bool = False) -> Stage:
        """The stages of these plans as one whose fields are arrays; column: with an axis for contexts."""

        def taken(row: Whole) -> int:
            own = row[index]
            return as_number(own[:, None] if column else own)

        weights, activations, overhead, state, block, of, degree = map(taken, self.numbers)
        windows = tuple((taken(most), taken(size)) for most, size in self.windows)
        return Stage(weights, activations, overhead, Rates(block, windows, of, degree), state)


def stack(stages: Sequence[Stage]) -> Stack:
    """Stages side by side."""
    most = max(len(stage.rates.windows) for stage in stages)
    windows = [(*stage.rates.windows, *[(0, 0)] * (most - len(stage.rates.windows))) for stage in stages]
    return Stack(
        np.array([_numbers(stage) for stage in stages], np.int64).T.copy(),
        np.array(windows, np.int64).reshape(len(stages), most, 2).transpose(1, 2, 0).copy(),
    )


def _numbers(stage: Stage) -> tuple[int, ...]:
    """The numbers of a stage in the order in which `Stack.stage` takes them."""
    rates = stage.rates
    return (
        stage.weights,
        stage.activations,
        stage.overhead,
        stage.state_bytes,
        rates.block,
        rates.of,
        rates.decode_context,
    )
