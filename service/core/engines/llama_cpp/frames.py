"""Rows of a matrix by what llama.cpp computes once for them: a model with its settings, in all formats."""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np

from service.core.arrays import Whole, as_number
from service.core.catalogued import Model
from service.core.engines.llama_cpp.layers import Counts, Kinds, kinds
from service.core.engines.llama_cpp.load import Group, Load
from service.core.engines.llama_cpp.plan import file_family, load_of, refusals
from service.core.engines.llama_cpp.shares import Shares, shares
from service.core.engines.llama_cpp.split import Device, Offload, devices, offload
from service.core.engines.sheets import Case
from service.core.identity import ByIdentity
from service.core.scenario import Scenario
from service.core.weights.derived import FromWeights

_shares: FromWeights[Shares] = FromWeights(lambda _, table: shares(table))

# Everything of a scenario that the figures follow from beside its format, its context and its accelerator.
_decisive = attrgetter(
    "kv_cache_dtype",
    "kv_cache_dtype_v",
    "concurrent_sequences",
    "gpu_count",
    "max_batched_tokens",
    "vision",
    "speculative_tokens",
    "cpu_offload_percent",
)


@dataclass(frozen=True, slots=True)
class Setup:
    """Formats of one model that differ in nothing but the bytes of their weights.

    settings: all that the load follows from beside the model, the bytes of weights and the accelerator.
    formats: by name. load: of the devices without the process's context, its weights a column over the
    formats. placed: bytes of weights on all devices; hosted: in system RAM. refused: by llama.cpp itself.
    """

    settings: tuple[Hashable, ...]
    formats: tuple[str, ...]
    load: Load
    placed: Whole
    hosted: Whole
    refused: bool

    @property
    def single(self) -> bool:
        """Whether one device holds all."""
        return len(self.load.groups) == 1


# What the questions to come are likely to ask again: some formats with some settings.
_MOST_SETUPS = 16
_setups: ByIdentity[Model, dict[Hashable, tuple[Setup, ...]]] = ByIdentity(lambda _: {})


@dataclass(frozen=True, slots=True)
class Frame:
    """Rows that ask for the formats of a set-up, by format."""

    scenario: Scenario
    setup: Setup
    rows: tuple[list[int], ...]


def frames(cases: Sequence[Case]) -> Iterator[Frame]:
    """The formats of each model by what they have in common; without offloading that is everything."""
    models: dict[tuple[object, ...], tuple[Scenario, dict[str, list[int]]]] = {}
    row = 0
    for case in cases:
        scenario = case.scenario
        key = (id(scenario.model), *_decisive(scenario))
        _, formats = models.setdefault(key, (scenario, defaultdict(list)))
        for quantization in case.quantizations:
            formats[quantization].append(row)
            row += 1
    for scenario, formats in models.values():
        for setup in _setups_of(scenario, tuple(formats)):
            yield Frame(scenario, setup, tuple(formats[name] for name in setup.formats))


def placed_weights(scenario: Scenario, quantization: str) -> Shares:
    """The weights of the scenario's model in a format, by place."""
    return _shares(
        scenario.model,
        quantization,
        mtp=scenario.speculative_tokens > 0,
        vision=scenario.vision,
        family=file_family(quantization),
    )


def _setups_of(scenario: Scenario, formats: tuple[str, ...]) -> tuple[Setup, ...]:
    """The set-ups of formats; remembered by the scenario's model and settings, of which all follows."""
    known = _setups(scenario.model)
    key = (*_decisive(scenario), formats)
    found = known.get(key)
    if found is None:
        found = tuple(_set_up(scenario, formats))
        if len(known) >= _MOST_SETUPS:
            known.clear()
        known[key] = found
    return found


def _set_up(scenario: Scenario, formats: Sequence[str]) -> Iterator[Setup]:
    alike: dict[tuple[Hashable, ...], list[tuple[str, Shares, Offload]]] = defaultdict(list)
    for name in formats:
        placed = placed_weights(scenario, name)
        moved = offload(placed, scenario.cpu_offload_percent)
        alike[len(placed.layers), moved.layers, moved.staging, bool(moved.bytes)].append(
            (name, placed, moved)
        )
    refused = bool(refusals(scenario))
    for settings, members in alike.items():
        names, placements, moves = zip(*members, strict=True)
        layers = len(placements[0].layers)
        spread = [
            devices(placed, scenario.gpu_count, moved)
            for placed, moved in zip(placements, moves, strict=True)
        ]
        weights = np.array([[device.weights for device in each] for each in spread], np.int64)
        groups = _groups(spread[0], weights, kinds(scenario.model.architecture, layers))
        yield Setup(
            settings=(*_decisive(scenario), *settings),
            formats=names,
            load=replace(load_of(scenario, layers, groups, moves[0]), overhead=0),
            placed=weights.sum(axis=1),
            hosted=np.array([placed.tables + moved.bytes for _, placed, moved in members], np.int64),
            refused=refused,
        )


def _groups(spread: Sequence[Device], weights: Whole, file_kinds: Kinds) -> tuple[Group, ...]:
    """Devices with the same kinds of layers; of their weights, the largest in each format."""
    alike: dict[tuple[Counts, bool], list[int]] = defaultdict(list)
    for number, device in enumerate(spread):
        alike[file_kinds.among(device.layers), device.last].append(number)
    return tuple(
        Group(as_number(weights[:, numbers].max(axis=1)[:, None]), counts, last, len(numbers))
        for (counts, last), numbers in alike.items()
    )
