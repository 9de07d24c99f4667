"""Rows of an engine: a row is a model in a format on accelerators that are peers."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.core.engines.base import Engine
from service.core.engines.sheets import Case, Sheets, as_sheets
from service.core.matrix.fleets import Fleet, Group, Member
from service.core.scenario import Scenario

Settings = frozenset[tuple[str, Any]]  # parameters that were given, but for the axes and tokens


@dataclass(frozen=True, slots=True)
class Row:
    """quantization: place on its axis. name: the format.

    scenario: of the group's first accelerator; its format may be another one where the engine plans them
    alike. Where the engine takes contexts as an array, it says nothing of tokens; else it is of the first
    context that is possible, and `at` has it for every possible context, None where there is none.
    """

    quantization: int
    name: str
    group: Group
    scenario: Scenario
    at: tuple[Scenario | None, ...] = ()


@dataclass(slots=True)
class Batch:
    """All rows of an engine, and their places: rows in order, the accelerators of each group in order.

    settings: what was asked for. models: of each row, as places on their axis. cases: the same rows as the
    engine takes them, where it takes arrays; arrays: the engine then.
    fleet: every accelerator once; row and member: of each place; once `settle` was called.
    """

    engine: Engine
    settings: Settings
    rows: list[Row] = field(default_factory=list)
    models: list[int] = field(default_factory=list)
    cases: list[Case] = field(default_factory=list)
    fleet: Fleet = field(default_factory=lambda: Fleet(()))
    row: NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, np.intp))
    member: NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, np.intp))
    arrays: Sheets | None = field(init=False)

    def __post_init__(self) -> None:
        self.arrays = as_sheets(self.engine)

    def add(self, model: int, rows: Sequence[Row], case: Case | None = None) -> None:
        """Add rows of a model, which are those of a case where the engine takes arrays."""
        self.rows += rows
        self.models += [model] * len(rows)
        if case is not None:
            self.cases.append(case)

    def settle(self, fleet_of: Callable[[tuple[Group, ...]], Fleet]) -> None:
        """Number the places, when no rows will be added."""
        self.fleet = fleet_of(tuple(dict.fromkeys(row.group for row in self.rows)))
        places = [self.fleet.of_group(row.group) for row in self.rows]
        self.member = np.concatenate([self.member, *places])
        self.row = np.repeat(np.arange(len(self.rows)), [len(each) for each in places])

    @property
    def places(self) -> NDArray[np.intp]:
        """The accelerator of every place, as its place on the axis."""
        return self.fleet.places[self.member]

    def figures(self, name: Hashable, figure: Callable[[Member], Any], dtype: type) -> NDArray[Any]:
        """A figure of each accelerator, see `Fleet`; indexed by `member`, of each place."""
        return self.fleet.figures(name, figure, dtype)


def on(scenario: Scenario, member: Member) -> Scenario:
    """The scenario on an accelerator."""
    return replace(scenario, gpu=member.gpu, platform=member.platform, backend=member.backend)
