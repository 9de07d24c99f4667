"""Decode speed of all places of an engine: the formula of the scalar path, its figures as arrays."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from service.core.arrays import Rates, as_number, as_rate
from service.core.hardware import Gpu, GpuKind
from service.core.identity import Same
from service.core.matrix.batches import Batch, Row, on
from service.core.scenario import Scenario
from service.core.speed.cache_reads import CacheReads, cache_reads
from service.core.speed.classes import generation, grain, is_known, runtime
from service.core.speed.constants import Interval, SpeedConstants
from service.core.speed.decode import Pace, pace, step
from service.core.speed.estimate import decode_interval, run_of, spread
from service.core.speed.run import Run, family, weight_peak
from service.core.speed.work import Work, work_of
from service.core.speed.works import Works

_NO_LIMIT = float("inf")
Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Filled:
    """Reads of caches where `CacheReads.on_rank` stands in the formula: rows x tokens, any tensor degree."""

    reads: Rates

    def on_rank(self, tensor: int) -> float:  # noqa: ARG002 - the rows were chosen by their layout
        """Bytes on one rank."""
        return as_rate(self.reads)


class Speeds:
    """The places of a batch; what its accelerators have of their own is looked up once.

    pairs: prompt and output tokens, a column of the answer for each.
    """

    def __init__(self, batch: Batch, pairs: Sequence[Pair], constants: SpeedConstants) -> None:
        self._batch, self._pairs, self._constants = batch, pairs, constants
        self._by = Same(constants)

    def decode(self) -> Rates:
        """Tokens/s of all sequences: estimate, low and high of each place and pair; NaN where not known."""
        found = np.full((3, len(self._batch.row), len(self._pairs)), np.nan)
        if not is_known(self._batch.engine.id):
            return found
        alike: dict[Hashable, list[int]] = defaultdict(list)
        for number, row in enumerate(self._batch.rows):
            # The step takes one layout at a time, and intervals also tell apart models with experts.
            experts = row.scenario.model.architecture.experts is not None
            alike[row.scenario.layout, row.scenario.gpu_count, experts].append(number)
        if len(alike) == 1:
            return self._of(range(len(self._batch.rows)), np.arange(len(self._batch.row)))
        for rows in alike.values():
            wanted = np.zeros(len(self._batch.rows), np.bool_)
            wanted[rows] = True
            places = np.flatnonzero(wanted[self._batch.row])
            found[:, places] = self._of(rows, places)
        return found

    def _of(self, rows: Sequence[int], places: NDArray[np.intp]) -> Rates:
        """The speeds of rows that are alike in what is no array."""
        member = self._batch.member[places]
        example = self._example(rows)
        if example is None:
            return np.full((3, len(member), len(self._pairs)), np.nan)
        row = np.searchsorted(rows, self._batch.row[places])
        own = [self._batch.rows[number] for number in rows]
        made = self._run(example, own, row, member)
        paced = self._pace([each.name for each in own], row, member) if example.layer_split else None
        taken = step(made, self._constants, paced)
        scenario = own[0].scenario
        estimate = spread(1 / taken.seconds, self._interval(example, member))
        found = estimate.times(scenario.concurrent_sequences)
        decode = np.array([found.estimate, found.low, found.high])
        if scenario.cpu_offload_percent:  # the bandwidth of other hosts is not known
            unified = self._batch.figures("unified", lambda m: m.gpu.kind is GpuKind.UNIFIED, bool)
            decode[:, ~unified[member]] = np.nan
        return decode

    def _example(self, rows: Sequence[int]) -> Run | None:
        """The run of the first row on an accelerator of known bandwidth."""
        for number in rows:
            row = self._batch.rows[number]
            for member in row.group.members:
                if member.gpu.memory_bandwidth_gbs is not None:
                    return run_of(replace(on(row.scenario, member), quantization=row.name))
        return None

    def _run(self, example: Run, rows: Sequence[Row], row: NDArray[np.intp], member: NDArray[np.intp]) -> Run:
        """The example with the figures of all places and pairs as arrays."""
        works = [_work(each) for each in rows]
        bandwidths = self._batch.figures("bandwidth", lambda m: _bandwidth(m.gpu), float)
        reads = self._cache_reads(rows)
        prompts, outputs = (np.array(each, np.int64) for each in zip(*self._pairs, strict=True))
        return replace(
            example,
            bandwidth=as_rate(bandwidths[member][:, None]),
            weight_peak=as_rate(self._peaks([work.weights.precision for work in works], row, member)),
            work=Works(works, row).as_work,
            cache=cast(CacheReads, Filled(reads[row])),
            prompt_tokens=as_number(prompts),
            output_tokens=as_number(outputs),
        )

    def _cache_reads(self, rows: Sequence[Row]) -> Rates:
        """Bytes on a rank of each row, at a cache filled with the prompt and half of the output."""
        known: dict[Hashable, list[float]] = {}
        found = []
        for row in rows:
            scenario = row.scenario
            key = (id(scenario.model), scenario.kv_cache_dtype, scenario.kv_cache_dtype_v)
            if key not in known:
                known[key] = [_on_rank(scenario, prompt + output / 2) for prompt, output in self._pairs]
            found.append(known[key])
        return np.array(found, np.float64)

    def _peaks(self, precisions: Sequence[str], row: NDArray[np.intp], member: NDArray[np.intp]) -> Rates:
        """Without a known peak, products cost the step nothing, as in the scalar path."""
        names = list(dict.fromkeys(precisions))
        table = np.array([self._peak(name) for name in names])
        chosen = np.array([names.index(precision) for precision in precisions])
        found: Rates = table[chosen[row], member][:, None]
        return found

    def _peak(self, precision: str) -> Rates:
        return self._batch.figures(("peak", precision), lambda m: _peak(m.gpu, precision), float)

    def _pace(self, formats: Sequence[str], row: NDArray[np.intp], member: NDArray[np.intp]) -> Pace:
        grains = {name: grain(name) for name in dict.fromkeys(formats)}
        names = list(dict.fromkeys(grains.values()))
        chosen = np.array([names.index(grains[each]) for each in formats])[row]
        known = np.array([self._paces(name) for name in names])
        return Pace(*(as_rate(figures[chosen, member, None]) for figures in known.transpose(1, 0, 2)))

    def _paces(self, grain: str) -> Rates:
        """The fields of `Pace` of every accelerator."""

        def of(runtime: str, generation: str) -> tuple[float, ...]:
            found = pace(runtime, generation, grain, self._constants)
            return tuple(getattr(found, name) for name in Pace.__slots__)

        return self._batch.fleet.kept(("pace", grain, self._by), lambda: self._by_class(of))

    def _interval(self, example: Run, member: NDArray[np.intp]) -> Interval:
        """The interval of runs like the example on each accelerator."""

        def of(runtime: str, generation: str) -> tuple[float, ...]:
            found = decode_interval(replace(example, runtime=runtime, generation=generation), self._constants)
            return found.low, found.high

        # All of a run, beside its accelerator, that decides how far it is from what was measured.
        like = example.sequences, example.host_share, example.layout, example.work.experts > 0
        known = self._batch.fleet.kept(("interval", like, self._by), lambda: self._by_class(of))
        low, high = (as_rate(figures[member, None]) for figures in known)
        return Interval(low, high, 0)

    def _by_class(self, figures: Callable[[str, str], tuple[float, ...]]) -> Rates:
        """Figures of the class of measurements that each accelerator belongs to: figures x accelerators."""
        engine = self._batch.engine.id
        classes = [
            (runtime(engine, each.backend), generation(each.gpu)) for each in self._batch.fleet.members
        ]
        known = {one: figures(*one) for one in dict.fromkeys(classes)}
        return np.array([known[one] for one in classes], np.float64).T.copy()


def _work(row: Row) -> Work:
    return work_of(row.scenario.model, row.name, family(row.scenario.engine, row.name))


def _on_rank(scenario: Scenario, filled: float) -> float:
    reads = cache_reads(
        scenario.model.architecture, filled, scenario.kv_cache_dtype, scenario.kv_cache_dtype_v
    )
    return reads.on_rank(1 if scenario.layout.split == "layer" else scenario.layout.tensor)


def _bandwidth(gpu: Gpu) -> float:
    found = gpu.memory_bandwidth_gbs
    return np.nan if found is None else found * 1e9


def _peak(gpu: Gpu, precision: str) -> float:
    found = weight_peak(gpu, precision)
    return _NO_LIMIT if found is None else found
