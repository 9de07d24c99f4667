"""Coordinate descent on the logarithm of each constant, through the service's own formulas."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from math import exp, log
from typing import Any

from service.calibration.observations import Observation, Quantity
from service.core.speed.constants import SpeedConstants, speed_constants
from service.core.speed.decode import step
from service.core.speed.prefill import first_token_seconds, prefill_seconds

Facts = dict[str, Any]
Place = tuple[str, ...]
_FIRST_STRIDE, _LAST_STRIDE = 0.2, 0.004  # of the logarithm of a constant
_PRIOR = 0.005  # weight of one unit of log distance from the start, so that a thin class stays near it


@dataclass(frozen=True, slots=True)
class Free:
    """A constant to be fitted and its bounds."""

    path: Place
    low: float
    high: float


def predict(observation: Observation, constants: SpeedConstants) -> float:
    """The estimate in the unit of the observation's value."""
    run = observation.run
    if observation.quantity is Quantity.DECODE:
        return run.sequences / step(run, constants).seconds
    seconds = prefill_seconds(run, constants, observation.before)
    assert seconds is not None  # every accelerator with measurements has a known peak
    if observation.quantity is Quantity.PREFILL:
        return run.prompt_tokens / seconds
    return first_token_seconds(run, constants, seconds, step(run, constants).seconds)


def ratios(rows: Iterable[Observation], constants: SpeedConstants) -> list[float]:
    """Measured / estimated of each row."""
    return [row.value / predict(row, constants) for row in rows]


def fit(facts: Mapping[str, Any], free: Sequence[Free], rows: Sequence[Observation]) -> Facts:
    """Facts whose free constants minimise the mean absolute log ratio.

    Groups are weighed by the root of their size. Every constant is bounded and drawn weakly to its start.
    """
    found = deepcopy(dict(facts))
    if not rows:
        return found
    start = {one.path: log(get(found, one.path)) for one in free}
    sizes = Counter(row.group for row in rows)
    weights = [sizes[row.group] ** -0.5 for row in rows]
    total = sum(weights) or 1.0

    def loss() -> float:
        constants = speed_constants(found)
        spread = sum(
            weight * abs(log(ratio)) for weight, ratio in zip(weights, ratios(rows, constants), strict=True)
        )
        drift = sum(abs(log(get(found, path)) - origin) for path, origin in start.items())
        return float(spread / total + _PRIOR * drift / len(rows) ** 0.5)

    best, stride = loss(), _FIRST_STRIDE
    while stride > _LAST_STRIDE:
        improved = False
        for one in free:
            for direction in (1, -1):
                old = get(found, one.path)
                put(found, one.path, min(one.high, max(one.low, old * exp(direction * stride))))
                tried = loss()
                if tried < best - 1e-7:
                    best, improved = tried, True
                    break
                put(found, one.path, old)
        stride = stride if improved else stride / 2
    return found


def get(facts: Mapping[str, Any], path: Place) -> float:
    """The constant at a path."""
    value: Any = facts
    for name in path:
        value = value[name]
    return float(value)


def put(facts: Facts, path: Place, value: float) -> None:
    """Replace the constant at a path."""
    place: Any = facts
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
