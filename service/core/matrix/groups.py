"""Accelerators that an engine plans alike, so that a matrix asks for one plan instead of many."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from service.core.catalogued import Model
from service.core.engines import ENGINES
from service.core.engines.broadcast import Groups
from service.core.hardware import Gpu, Platform
from service.core.layout import MAX_TENSOR_PARALLEL
from service.core.request import Request
from service.core.resolve import choose_backend, choose_engine, choose_platform
from service.errors import InvalidParameters


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


class Grouping:
    """The groups for each model and format, made once for all that share them.

    refused: why accelerators or formats were left out, the first reason of each.
    """

    def __init__(self, gpus: Sequence[Gpu], values: Mapping[str, Any]) -> None:
        self._gpus = gpus
        self._asked = {name: values.get(name) for name in ("engine", "backend", "platform")}
        self._by_choice: dict[Hashable, tuple[Group, ...]] = {}
        self.refused: list[InvalidParameters] = []

    def groups(self, model: Model, quantization: str | None) -> tuple[Group, ...]:
        """Groups of the accelerators for which an engine can be chosen."""
        loads = tuple(engine.loads_native(model.architecture) for engine in ENGINES.values())
        key = (quantization, loads if quantization == "native" else None)
        if key not in self._by_choice:
            self._by_choice[key] = tuple(self._split(model, quantization))
        return self._by_choice[key]

    def _split(self, model: Model, quantization: str | None) -> Iterable[Group]:
        found: dict[tuple[str, Hashable], list[Member]] = defaultdict(list)
        for place, gpu in enumerate(self._gpus):
            request = Request(model=model, gpu=gpu, quantization=quantization, **self._asked)
            try:
                engine = choose_engine(request)
                member = Member(place, gpu, choose_platform(request), choose_backend(request, engine))
            except InvalidParameters as error:
                self.refused.append(error)
                continue
            found[engine, _peers(engine, member)].append(member)
        return [Group(engine, tuple(members)) for (engine, _), members in found.items()]


def _peers(name: str, member: Member) -> Hashable:
    """What the plan of an engine, its layout included, follows from."""
    engine = ENGINES[name]
    if not isinstance(engine, Groups):
        return member.place
    node = None if engine.splits_layers else min(MAX_TENSOR_PARALLEL, member.gpu.max_per_node)
    return node, engine.peers(member.gpu, member.platform, member.backend)
