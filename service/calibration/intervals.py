"""What an interval is made of: residuals of groups that the constants had seen, and had not seen."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from service.calibration.fit import Facts, ratios
from service.calibration.observations import Observation
from service.calibration.start import calibrate
from service.core.speed.constants import speed_constants

_SHRINK = 20  # residuals at which a class weighs as much as all classes of its quantity together
_LOW, _HIGH = 0.1, 0.9
_LEAST = 0.05  # no interval is narrower to either side

Weighted = tuple[float, float]  # a ratio and its weight
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
    """P10 and P90 by class over both kinds of residuals, groups weighed by the root of their size.

    Who asks may mean a pair that was measured or one that was not; alone, the seen would promise too much and
    the unseen too little. Drawn towards those of the whole quantity, 20 / (20 + residuals) of the way.
    rows: measurements, each of which has both residuals.
    """
    residuals = [*unseen, *seen]
    sizes = Counter((row.kind, row.group) for row, _ in residuals)
    by_kind: dict[str, list[Weighted]] = defaultdict(list)
    pooled: dict[str, list[Weighted]] = defaultdict(list)
    for row, ratio in residuals:
        weighted = (ratio, sizes[row.kind, row.group] ** -0.5)
        by_kind[row.kind].append(weighted)
        pooled[row.quantity].append(weighted)
    return {
        kind: _interval(values, pooled[kind.partition(" ")[0]]) for kind, values in sorted(by_kind.items())
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


def _interval(values: Sequence[Weighted], pooled: Sequence[Weighted]) -> dict[str, float]:
    weight = len(values) / (len(values) + _SHRINK)

    def shrunk(part: float) -> float:
        return float(quantile(values, part) ** weight * quantile(pooled, part) ** (1 - weight))

    low, high = min(1 - _LEAST, shrunk(_LOW)), max(1 + _LEAST, shrunk(_HIGH))
    return {"low": low, "high": high, "rows": len(values) // 2}


def quantile(values: Iterable[Weighted], part: float) -> float:
    """The smallest value with at least a part of the weight at or below it."""
    ordered = sorted(values)
    wanted, reached = part * sum(weight for _, weight in ordered), 0.0
    for value, weight in ordered:
        reached += weight
        if reached >= wanted:
            return value
    return ordered[-1][0]
