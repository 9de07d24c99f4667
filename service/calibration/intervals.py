"""What an interval is made of: residuals of groups that the constants had seen, and had not seen."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log

from service.calibration.fit import Facts, ratios
from service.calibration.observations import Observation
from service.calibration.start import calibrate
from service.core.speed.constants import speed_constants

_SHRINK = 20  # residuals at which a class weighs as much as all classes of its quantity together
_FEW_GROUPS = 4  # groups at which a class's own reach weighs as much as that of its quantity
_LOW, _HIGH = 0.1, 0.9
_LEAST = 0.05  # no interval is narrower to either side

Weighted = tuple[float, float]  # a ratio and its weight
Ends = tuple[float, float]  # low and high
Distance = tuple[float, float, float]  # from the low and the high end, and the weight
Residuals = list[tuple[Observation, float]]


def held_out(rows: Sequence[Observation], folds: Iterable[int]) -> Residuals:
    """Measured / estimated of the rows of each fold, by constants fitted without its groups."""
    found: Residuals = []
    for fold in folds:
        facts = calibrate([row for row in rows if row.fold != fold])
        found += judged(facts, [row for row in rows if row.fold == fold])
    return found


def judged(facts: Facts, rows: Iterable[Observation]) -> Residuals:
    """Residuals of the rows whose class the constants were calibrated for."""
    constants = speed_constants(facts)
    known = [
        row
        for row in rows
        if not row.reported and constants.is_calibrated(row.run.runtime, row.run.generation)
    ]
    return list(zip(known, ratios(known, constants), strict=True))


def intervals(unseen: Residuals, seen: Residuals) -> dict[str, dict[str, float]]:
    """Low and high end by class over both kinds of residuals, groups weighed by the root of their size.

    Who asks may mean a pair that was measured or one that was not; alone, the seen would promise too much and
    the unseen too little. The ends are P10 and P90, drawn towards those of the whole quantity by
    20 / (20 + residuals), and then each is moved out until a tenth lies beyond it when every unseen residual
    is held against the ends that the other groups alone would give: few groups know little of a further one.
    A class that was never judged unseen has none. rows: measurements that were.
    """
    parts = (_weighed(unseen), _weighed(seen))
    both = [one for part in parts for one in part]
    ends = {kind: _ends(kind, both) for kind in sorted({one.kind for one in parts[0]})}
    apart = {kind: [*_apart(kind, parts[0], both)] for kind in ends}
    apart = {kind: [*found, *_distances(ends[kind], parts[1], kind)] for kind, found in apart.items()}
    return {
        kind: _interval(kind, found, apart, both) | {"rows": sum(one.kind == kind for one in parts[0])}
        for kind, found in ends.items()
    }


def user_interval(facts: Facts, rows: Iterable[Observation]) -> dict[str, float]:
    """P10 and P90 of what users report, by the final constants."""
    reported = [row for row in rows if row.reported]
    values = [(ratio, 1.0) for ratio in ratios(reported, speed_constants(facts))]
    return {"low": quantile(values, _LOW), "high": quantile(values, _HIGH), "rows": len(values)}


def coverage(residuals: Residuals, found: Mapping[str, Mapping[str, float]]) -> dict[str, tuple[int, float]]:
    """Rows and the part inside the interval, by class and over all."""
    inside: dict[str, list[bool]] = defaultdict(list)
    for row, ratio in residuals:
        if row.kind in found:
            hit = found[row.kind]["low"] <= ratio <= found[row.kind]["high"]
            inside[row.kind].append(hit)
            inside["all"].append(hit)
    return {kind: (len(hits), sum(hits) / len(hits)) for kind, hits in inside.items()}


@dataclass(frozen=True, slots=True)
class _Judged:
    """A residual with its weight."""

    kind: str
    group: str
    ratio: float
    weight: float

    @property
    def quantity(self) -> str:
        """What was measured, as a class begins with it."""
        return _quantity(self.kind)


def _quantity(kind: str) -> str:
    return kind.partition(" ")[0]


def _weighed(residuals: Residuals) -> list[_Judged]:
    named = [(row.kind, row.group, ratio) for row, ratio in residuals]
    sizes = Counter((kind, group) for kind, group, _ in named)
    return [_Judged(kind, group, ratio, sizes[kind, group] ** -0.5) for kind, group, ratio in named]


def _ends(kind: str, residuals: Sequence[_Judged]) -> Ends:
    """P10 and P90 of a class, drawn towards those of its quantity."""
    own = [(one.ratio, one.weight) for one in residuals if one.kind == kind]
    pooled = [(one.ratio, one.weight) for one in residuals if one.quantity == _quantity(kind)]
    weight = len(own) / (len(own) + _SHRINK)

    def shrunk(part: float) -> float:
        near = quantile(own, part) ** weight if own else 1.0
        return float(near * quantile(pooled, part) ** (1 - weight))

    return min(1 - _LEAST, shrunk(_LOW)), max(1 + _LEAST, shrunk(_HIGH))


def _apart(kind: str, unseen: Sequence[_Judged], both: Sequence[_Judged]) -> Iterator[Distance]:
    """Distances of each group's unseen residuals from the ends that all other groups give."""
    for group in sorted({one.group for one in unseen if one.kind == kind}):
        others = [one for one in both if one.group != group]
        if any(one.quantity == _quantity(kind) for one in others):
            yield from _distances(_ends(kind, others), [one for one in unseen if one.group == group], kind)


def _distances(ends: Ends, residuals: Iterable[_Judged], kind: str) -> Iterator[Distance]:
    """Logarithm of each ratio in units of either end's: 1 lies on the end, more beyond it."""
    low, high = (log(end) for end in ends)
    for one in residuals:
        if one.kind == kind:
            yield log(one.ratio) / low, log(one.ratio) / high, one.weight


def _interval(
    kind: str, ends: Ends, apart: Mapping[str, Sequence[Distance]], both: Sequence[_Judged]
) -> dict[str, float]:
    """The ends moved out; of few groups by as much as all classes of the quantity need together."""
    pooled = [one for name, found in apart.items() if _quantity(name) == _quantity(kind) for one in found]
    groups = len({one.group for one in both if one.kind == kind})
    weight = groups / (groups + _FEW_GROUPS)
    low, high = (
        end ** (_reach(apart[kind], side) ** weight * _reach(pooled, side) ** (1 - weight))
        for side, end in enumerate(ends)
    )
    return {"low": low, "high": high}


def _reach(distances: Iterable[Distance], side: int) -> float:
    """How far an end must lie out for a tenth to be beyond it; never nearer than it is."""
    return max(1.0, quantile([(found[side], found[2]) for found in distances], _HIGH))


def quantile(values: Iterable[Weighted], part: float) -> float:
    """The smallest value with at least a part of the weight at or below it."""
    ordered = sorted(values)
    wanted, reached = part * sum(weight for _, weight in ordered), 0.0
    for value, weight in ordered:
        reached += weight
        if reached >= wanted:
            return value
    return ordered[-1][0]
