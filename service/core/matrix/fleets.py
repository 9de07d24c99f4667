"""The accelerators of a matrix, and what was looked up of them for good."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from service.core.hardware import Gpu, Platform

Kept = TypeVar("Kept")
_MOST_KEPT = 256


@dataclass(frozen=True, slots=True)
class Member:
    """An accelerator of a group: its place on the axis, and how it would be used."""

    place: int
    gpu: Gpu
    platform: Platform
    backend: str


@dataclass(frozen=True, eq=False)
class Group:
    """Accelerators with the same plan, but for what follows from their memory where the engine says so."""

    engine: str
    members: tuple[Member, ...]


class Fleet:
    """Every accelerator of some groups once, and figures of them, kept from one question to the next.

    A figure is kept by a name, which must say all that it follows from beside the accelerators; objects in it
    as `Same`. So facts of a catalog that was read anew are looked up anew.
    """

    def __init__(self, groups: Sequence[Group]) -> None:
        distinct = {member.place: member for group in groups for member in group.members}
        self.members = tuple(distinct.values())
        index = {place: number for number, place in enumerate(distinct)}
        self.places = np.array(list(distinct), np.intp)
        self._of_group = {
            group: np.array([index[member.place] for member in group.members], np.intp) for group in groups
        }
        self._kept: dict[Hashable, Any] = {}

    def of_group(self, group: Group) -> NDArray[np.intp]:
        """The accelerators of a group, as places in `members`."""
        return self._of_group[group]

    def kept(self, name: Hashable, make: Callable[[], Kept]) -> Kept:
        """What is kept by that name, made the first time."""
        found: Kept | None = self._kept.get(name)
        if found is None:
            found = make()
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[name] = found
        return found

    def figures(self, name: Hashable, figure: Callable[[Member], Any], dtype: type) -> NDArray[Any]:
        """A figure of each accelerator, kept by that name."""
        return self.kept(name, lambda: np.array([figure(member) for member in self.members], dtype))
