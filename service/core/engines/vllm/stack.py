"""The ranks of many plans side by side: the fields of `Stage` and `Demand` as arrays."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.core.arrays import Whole, as_number
from service.core.engines.vllm.budget import Stage
from service.core.engines.vllm.buffers import Activations
from service.core.engines.vllm.generation import Generation
from service.core.engines.vllm.pool import Demand
from service.core.engines.vllm.specs import CacheConfig, Spec, SpecKind

_SLOTTED = (SpecKind.STATE, SpecKind.RING)
_NUMBERS = 12
_OF_A_TAKER = 4


@dataclass(frozen=True, slots=True)
class Takers:
    """Groups of one kind, at most one of each plan.

    columns: tokens of a block, window, slots, and how many groups, each over the plans; no groups where a
    plan has none.
    """

    kind: SpecKind
    columns: Whole


@dataclass(frozen=True, slots=True)
class Stack:
    """Plans over one axis. numbers: the fields of a stage and its demand that are numbers, over the plans."""

    numbers: Whole
    takers: tuple[Takers, ...]

    def stage(self, index: NDArray[np.intp] | slice, *, column: bool = False) -> Stage:
        """The stages of these plans as one whose fields are arrays; column: with a further axis for contexts.

        Windows have grown already by what drafting modules look back.
        """

        def taken(row: Whole) -> int:
            own = row[index]
            return as_number(own[:, None] if column else own)

        (
            weights,
            loaded,
            fixed,
            workspace,
            overhead,
            layer,
            sampler,
            sequences,
            vision,
            block,
            flight,
            degree,
        ) = (taken(row) for row in self.numbers)
        config = CacheConfig(Generation.OTHER, "", 1, flight, decode_context=degree)
        specs = []
        for found in self.takers:
            tokens, window, slots, groups = (taken(row) for row in found.columns)
            specs.append((Spec(found.kind, 0, tokens, window=window, slots=slots), groups))
        return Stage(
            weights=weights,
            loaded_buffers=loaded,
            activations=Activations(layer, sampler, sequences, vision),
            fixed_buffers=fixed,
            workspace_per_token=workspace,
            overhead=overhead,
            demand=Demand(config, tuple(specs), block),
        )


def stack(stages: Sequence[Stage]) -> Stack:
    """Stages side by side."""
    numbers = np.array([_numbers(stage) for stage in stages], np.int64).reshape(len(stages), _NUMBERS)
    return Stack(numbers.T.copy(), _takers([stage.demand for stage in stages]))


def _numbers(stage: Stage) -> tuple[int, ...]:
    """The numbers of a stage in the order in which `Stack.stage` takes them."""
    profiled, demand = stage.activations, stage.demand
    return (
        stage.weights,
        stage.loaded_buffers,
        stage.fixed_buffers,
        stage.workspace_per_token,
        stage.overhead,
        profiled.layer,
        profiled.sampler,
        profiled.sequences,
        profiled.vision,
        demand.bytes_per_block,
        demand.config.in_flight_tokens,
        demand.config.decode_context,
    )


def _takers(demands: Sequence[Demand]) -> tuple[Takers, ...]:
    """The first groups of each kind, the second ones, and so on."""
    found: dict[tuple[SpecKind, int], Whole] = {}
    for place, demand in enumerate(demands):
        met: Counter[SpecKind] = Counter()
        for spec, groups in demand.takers:
            kind = SpecKind.STATE if spec.kind in _SLOTTED else spec.kind
            key = (kind, met[kind])
            met[kind] += 1
            if key not in found:
                found[key] = np.zeros((_OF_A_TAKER, len(demands)), np.int64)
                found[key][0] = 1  # nothing is divided by zero where a plan has no such group
            window = spec.window + demand.config.extra_window
            found[key][:, place] = max(1, spec.block), window, spec.slots, groups
    return tuple(Takers(kind, columns) for (kind, _), columns in found.items())
