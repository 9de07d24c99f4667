"""Decode speed over the accelerators of a group: the formula of the scalar path, its rates as arrays."""

from collections.abc import Iterable
from dataclasses import replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from service.core.hardware import GpuKind
from service.core.matrix.groups import Group, Member
from service.core.scenario import Scenario
from service.core.speed.classes import generation, is_known, runtime
from service.core.speed.constants import Interval, SpeedConstants
from service.core.speed.decode import Pace, pace, step
from service.core.speed.estimate import decode_interval, run_of, spread
from service.core.speed.run import Run, weight_peak

Rates = NDArray[np.float64]
_NO_LIMIT = float("inf")


class Speeds:
    """One group of accelerators; the paces and intervals of its generations are looked up once."""

    def __init__(self, group: Group, constants: SpeedConstants) -> None:
        self._constants = constants
        self._members = group.members
        self._classes = [(runtime(group.engine, m.backend), generation(m.gpu)) for m in group.members]
        known = group.members if is_known(group.engine) else ()
        self._measured = next((m for m in known if m.gpu.memory_bandwidth_gbs is not None), None)
        self._bandwidths = _rates(_bandwidth(member) for member in group.members)
        self._unified = np.array([m.gpu.kind is GpuKind.UNIFIED for m in group.members])
        self._peaks: dict[str, Rates] = {}
        self._paces: dict[str, Pace] = {}
        self._intervals: dict[object, Interval] = {}

    def decode(self, scenario: Scenario) -> Rates:
        """Tokens/s of all sequences: estimate, low and high of each accelerator; NaN where not known."""
        if self._measured is None:
            return np.full((3, len(self._members)), np.nan)
        member = self._measured
        made = run_of(replace(scenario, gpu=member.gpu, backend=member.backend))
        run = replace(
            made,
            bandwidth=_array(self._bandwidths),
            weight_peak=_array(self._peak(made.work.weights.precision)),
        )
        own = self._pace(made.grain) if made.layer_split else None
        taken = step(run, self._constants, own)
        found = spread(1 / taken.seconds, self._interval(made)).times(scenario.concurrent_sequences)
        decode = np.array([found.estimate, found.low, found.high])
        if scenario.cpu_offload_percent:  # the bandwidth of other hosts is not known
            decode[:, ~self._unified] = np.nan
        return decode

    def _pace(self, grain: str) -> Pace:
        if grain not in self._paces:
            rows = [pace(*named, grain, self._constants) for named in self._classes]
            columns = {name: _rates(getattr(row, name) for row in rows) for name in Pace.__slots__}
            self._paces[grain] = Pace(**{name: _array(column) for name, column in columns.items()})
        return self._paces[grain]

    def _peak(self, precision: str) -> Rates:
        """Without a known peak, products cost the step nothing, as in the scalar path."""
        if precision not in self._peaks:
            peaks = (weight_peak(member.gpu, precision) for member in self._members)
            self._peaks[precision] = _rates(_NO_LIMIT if peak is None else peak for peak in peaks)
        return self._peaks[precision]

    def _interval(self, made: Run) -> Interval:
        key = (made.sequences, made.host_share)
        if key not in self._intervals:
            rows = [
                decode_interval(replace(made, runtime=name, generation=where), self._constants)
                for name, where in self._classes
            ]
            low, high = _rates(row.low for row in rows), _rates(row.high for row in rows)
            self._intervals[key] = Interval(_array(low), _array(high), 0)
        return self._intervals[key]


def _bandwidth(member: Member) -> float:
    found = member.gpu.memory_bandwidth_gbs
    return np.nan if found is None else found * 1e9


def _rates(values: Iterable[float]) -> Rates:
    return np.array(list(values), np.float64)


def _array(values: Rates) -> float:
    """An array in the place of a number: the formulas of the core take both."""
    return cast(float, values)
