"""Rows of a matrix by what llama.cpp computes once for them: a model with its settings, in all formats."""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from service.core.arrays import Whole, as_number
from service.core.engines.llama_cpp.layers import Counts, Kinds, kinds
from service.core.engines.llama_cpp.load import Group, Load
from service.core.engines.llama_cpp.plan import file_family, load_of
from service.core.engines.llama_cpp.shares import Shares, shares
from service.core.engines.llama_cpp.split import Device, Offload, devices, offload
from service.core.engines.sheets import Case
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
class _Format:
    """One format of a model: its weights by place, what moves to the host, and the rows that ask for it."""

    rows: list[int]
    placed: Shares
    moved: Offload


@dataclass(frozen=True, slots=True)
class Frame:
    """Formats of one model that differ in nothing but the bytes of their weights.

    settings: all that the load follows from beside the model, the bytes of weights and the accelerator.
    rows: that ask for one of them; format: of each row. load: of the devices without the process's context,
    its weights a column over the formats. placed: bytes of weights on all devices; hosted: in system RAM.
    """

    scenario: Scenario
    settings: tuple[Hashable, ...]
    rows: NDArray[np.intp]
    format: NDArray[np.intp]
    load: Load
    placed: Whole
    hosted: Whole

    @property
    def single(self) -> bool:
        """Whether one device holds all."""
        return len(self.load.groups) == 1


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
        alike: dict[tuple[Hashable, ...], list[_Format]] = defaultdict(list)
        for quantization, rows in formats.items():
            found = _format(scenario, quantization, rows)
            placed, moved = found.placed, found.moved
            alike[len(placed.layers), moved.layers, moved.staging, bool(moved.bytes)].append(found)
        for settings, members in alike.items():
            yield _frame(scenario, (*_decisive(scenario), *settings), members)


def placed_weights(scenario: Scenario, quantization: str) -> Shares:
    """The weights of the scenario's model in a format, by place."""
    return _shares(
        scenario.model,
        quantization,
        mtp=scenario.speculative_tokens > 0,
        vision=scenario.vision,
        family=file_family(quantization),
    )


def _format(scenario: Scenario, quantization: str, rows: list[int]) -> _Format:
    placed = placed_weights(scenario, quantization)
    return _Format(rows, placed, offload(placed, scenario.cpu_offload_percent))


def _frame(scenario: Scenario, settings: tuple[Hashable, ...], formats: Sequence[_Format]) -> Frame:
    layers, moved = len(formats[0].placed.layers), formats[0].moved
    spread = [devices(each.placed, scenario.gpu_count, each.moved) for each in formats]
    weights = np.array([[device.weights for device in each] for each in spread], np.int64)
    groups = _groups(spread[0], weights, kinds(scenario.model.architecture, layers))
    return Frame(
        scenario,
        settings,
        np.array([row for each in formats for row in each.rows], np.intp),
        np.repeat(np.arange(len(formats)), [len(each.rows) for each in formats]),
        replace(load_of(scenario, layers, groups, moved), overhead=0),
        weights.sum(axis=1),
        np.array([each.placed.tables + each.moved.bytes for each in formats], np.int64),
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
