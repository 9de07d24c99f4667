"""Accelerators that an engine plans alike, so that a matrix asks for one plan instead of many."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import Any, cast

from service.core.catalogued import Model
from service.core.engines import ENGINES
from service.core.engines.base import Reads
from service.core.engines.broadcast import Groups
from service.core.hardware import Gpu
from service.core.identity import Same
from service.core.layout import MAX_TENSOR_PARALLEL
from service.core.matrix.fleets import Fleet, Group, Member
from service.core.request import Request
from service.core.resolve import choose_backend, choose_engine, choose_platform, loads
from service.errors import InvalidParameters

_ASKED = ("engine", "backend", "platform")
_DEGREES = ("tensor_parallel", "pipeline_parallel", "data_parallel")  # their product is the number of GPUs
_MOST_FLEETS = 64

Choice = tuple[tuple[Group, ...], tuple[InvalidParameters, ...]]


class Grouping:
    """The groups of these accelerators for each format, made once for all models and questions.

    asked: engine, backend and platform as a request names them; count: GPUs that are asked for.
    """

    def __init__(self, gpus: Sequence[Gpu], asked: Mapping[str, Any], count: int) -> None:
        self._gpus, self._asked = gpus, asked
        # All that the choice of an engine follows from in an accelerator.
        self._run_by = [tuple(found.engine for found in gpu.engines) for gpu in gpus]
        self._count = count
        self._peers: dict[str, Callable[[Member], Hashable]] = {}
        self._by_format: dict[Hashable, Choice] = {}
        self._members: dict[tuple[str, int], Member | InvalidParameters] = {}
        self._groups: dict[tuple[str, tuple[int, ...]], Group] = {}
        self._fleets: dict[tuple[Group, ...], Fleet] = {}

    def choose(self, model: Model, quantization: str | None) -> Choice:
        """Groups of the accelerators for which an engine can be chosen, and why others were left out.

        Equal groups are one object.
        """
        key = _able(model, quantization)
        if key not in self._by_format:
            self._by_format[key] = self._split(model, quantization)
        return self._by_format[key]

    def fleet(self, groups: tuple[Group, ...]) -> Fleet:
        """The accelerators of these groups of one engine, with what is kept of them."""
        found = self._fleets.get(groups)
        if found is None:
            if len(self._fleets) >= _MOST_FLEETS:
                self._fleets.clear()
            found = self._fleets[groups] = Fleet(groups)
        return found

    def _split(self, model: Model, quantization: str | None) -> Choice:
        found: dict[tuple[str, Hashable], list[Member]] = defaultdict(list)
        refused = []
        engines: dict[tuple[str, ...], str | InvalidParameters] = {}
        for place, run_by in enumerate(self._run_by):
            if run_by not in engines:
                engines[run_by] = self._engine(model, place, quantization)
            engine = engines[run_by]
            member = engine if isinstance(engine, InvalidParameters) else self._member(model, engine, place)
            if isinstance(engine, str) and isinstance(member, Member):
                if engine not in self._peers:
                    self._peers[engine] = _peers_of(engine, self._count)
                found[engine, self._peers[engine](member)].append(member)
            elif isinstance(member, InvalidParameters):
                refused.append(member)
        groups = (self._group(engine, tuple(members)) for (engine, _), members in found.items())
        return tuple(groups), tuple(refused)

    def _engine(self, model: Model, place: int, quantization: str | None) -> str | InvalidParameters:
        asked = Request(model=model, gpu=self._gpus[place], quantization=quantization, **self._asked)
        try:
            return choose_engine(asked)
        except InvalidParameters as error:
            return error

    def _member(self, model: Model, engine: str, place: int) -> Member | InvalidParameters:
        key = engine, place
        if key not in self._members:
            self._members[key] = self._used(model, engine, place)
        return self._members[key]

    def _used(self, model: Model, engine: str, place: int) -> Member | InvalidParameters:
        gpu = self._gpus[place]
        asked = Request(model=model, gpu=gpu, **self._asked)
        try:
            return Member(place, gpu, choose_platform(asked), choose_backend(asked, engine))
        except InvalidParameters as error:
            return error

    def _group(self, engine: str, members: tuple[Member, ...]) -> Group:
        key = engine, tuple(member.place for member in members)
        return self._groups.setdefault(key, Group(engine, members))


def grouping(gpus: tuple[Gpu, ...], values: Mapping[str, Any]) -> Grouping:
    """The grouping of a question; remembered for the accelerators and values that were asked for last."""
    count = values.get("gpu_count") or prod(values.get(name) or 1 for name in _DEGREES)
    return _grouping(Same(*gpus), *(values.get(name) for name in _ASKED), count)


@lru_cache(maxsize=32)
def _grouping(
    axis: Same, engine: str | None, backend: str | None, platform: str | None, count: int
) -> Grouping:
    asked = dict(zip(_ASKED, (engine, backend, platform), strict=True))
    return Grouping(cast(tuple[Gpu, ...], axis.objects), asked, count)


forget_groupings = _grouping.cache_clear


def _able(model: Model, quantization: str | None) -> Hashable:
    """What the choice of an engine follows from in a format: the engines that load it."""
    if quantization is None:
        return None
    return tuple(loads(engine, model.architecture, quantization) for engine in ENGINES.values())


def _peers_of(name: str, count: int) -> Callable[[Member], Hashable]:
    """What the plan of an engine, its layout included, follows from; count: GPUs that are asked for."""
    engine = ENGINES[name]
    if not isinstance(engine, Groups):
        return lambda member: member.place
    groups, whole_layers = engine, ENGINES[name].splits_layers
    # No rank has a neighbour that was not asked for, unless the engine reads the request in its own way.
    most = MAX_TENSOR_PARALLEL if isinstance(engine, Reads) else min(MAX_TENSOR_PARALLEL, count)

    def peers(member: Member) -> Hashable:
        node = None if whole_layers else min(most, member.gpu.max_per_node)
        return node, groups.peers(member.gpu, member.platform, member.backend)

    return peers
