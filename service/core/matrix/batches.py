"""Rows of an engine: a row is a model in a format on accelerators that are peers."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.core.engines.base import Engine
from service.core.engines.sheets import Case, Sheets
from service.core.matrix.groups import Group, Member
from service.core.scenario import Scenario

Fleet = dict[Hashable, NDArray[Any]]  # facts of some accelerators by name


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """model, quantization: places on their axes. name: the format.

    scenario: of the group's first accelerator at the first context that is possible; its format may be
    another one where the engine plans them alike. at: of every possible context, None where there is none;
    empty where the engine takes contexts as an array.
    """

    model: int
    quantization: int
    name: str
    group: Group
    scenario: Scenario
    at: tuple[Scenario | None, ...] = ()


@dataclass(slots=True)
class Batch:
    """All rows of an engine, and their places: rows in order, the accelerators of each group in order.

    cases: the same rows as the engine takes them, where it takes arrays. members: every accelerator once;
    row and member: of each place, once `settle` was called.
    """

    engine: Engine
    rows: list[Row] = field(default_factory=list)
    cases: list[Case] = field(default_factory=list)
    members: list[Member] = field(default_factory=list)
    row: NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, np.intp))
    member: NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, np.intp))
    takes_arrays: bool = field(init=False)
    _fleet: Fleet = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.takes_arrays = isinstance(self.engine, Sheets)

    def settle(self, fleets: dict[Hashable, Fleet]) -> None:
        """Number the places, when no rows will be added; fleets: what is known of accelerators already."""
        groups = {id(row.group): row.group for row in self.rows}
        self._fleet = fleets.setdefault((self.engine.id, *groups), {})
        distinct = {member.place: member for group in groups.values() for member in group.members}
        self.members = list(distinct.values())
        index = {place: number for number, place in enumerate(distinct)}
        own = {
            key: np.array([index[member.place] for member in group.members], np.intp)
            for key, group in groups.items()
        }
        places = [own[id(row.group)] for row in self.rows]
        self.member = np.concatenate([self.member, *places])
        self.row = np.repeat(np.arange(len(self.rows)), [len(each) for each in places])

    @property
    def places(self) -> NDArray[np.intp]:
        """The accelerator of every place, as its place on the axis."""
        found: NDArray[np.intp] = self.fact("place", lambda member: member.place, np.intp)[self.member]
        return found

    def of_members(self, figure: Callable[[Member], Any], dtype: type) -> NDArray[Any]:
        """A figure of each accelerator; indexed by `member`, of each place."""
        return np.array([figure(member) for member in self.members], dtype)

    def fact(self, name: Hashable, figure: Callable[[Member], Any], dtype: type) -> NDArray[Any]:
        """As `of_members`, for what no question changes: kept by its name."""
        if name not in self._fleet:
            self._fleet[name] = self.of_members(figure, dtype)
        return self._fleet[name]


def on(scenario: Scenario, member: Member) -> Scenario:
    """The scenario on an accelerator."""
    return replace(scenario, gpu=member.gpu, platform=member.platform, backend=member.backend)
