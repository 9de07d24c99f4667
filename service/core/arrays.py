"""Numbers or arrays: what formulas need so that one text serves a scenario and a whole matrix.

Whole numbers are Python's without limit, or int64 in arrays; arrays of Python numbers (dtype object) keep
what 64 bits do not hold. Rates are float64 in both.
"""

from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

Number = TypeVar("Number", bound=float)
Whole = NDArray[np.int64]
Rates = NDArray[np.float64]

LARGEST = 2**63 - 1
NOTHING = -1  # in arrays of whole numbers: no value


def smaller(one: Number, other: Number) -> Number:
    """The smaller of two numbers, or element by element."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return cast(Number, np.minimum(one, other))
    return one if one <= other else other


def larger(one: Number, other: Number) -> Number:
    """The larger of two numbers, or element by element."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return cast(Number, np.maximum(one, other))
    return one if one >= other else other


def chosen(condition: bool, one: Number, other: Number) -> Number:
    """`one` where the condition holds, `other` elsewhere."""
    if isinstance(condition, np.ndarray):
        return cast(Number, np.where(condition, one, other))
    return one if condition else other


def floor(value: float) -> int:
    """The whole part of a number that is not negative, as `int` has it."""
    if not isinstance(value, np.ndarray):
        return int(value)
    if value.dtype == object:
        return cast(int, np.array([int(one) for one in value.flat], object).reshape(value.shape))
    return cast(int, value.astype(np.int64))


def as_number(values: NDArray[Any]) -> int:
    """An array in the place of a whole number: the formulas of the core take both."""
    return cast(int, values)


def as_rate(values: NDArray[Any]) -> float:
    """An array in the place of a rate."""
    return cast(float, values)


def saturated(values: object) -> Whole:
    """Whole numbers as int64; absurd ones are cut to 64 bits."""
    found = np.asarray(values)
    if found.dtype == object:
        found = np.minimum(found, LARGEST)
    return found.astype(np.int64, copy=False)
