"""The frozen matrix: arrays over the axes, and measures that name the axes along which they vary."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.core.arrays import NOTHING
from service.core.matrix.question import AXES, Question
from service.core.sizing import Verdict

VERDICTS = tuple(Verdict)
CODES = {verdict: number for number, verdict in enumerate(VERDICTS)}
VERDICT = "verdict"
SPEEDS = tuple(f"decode_tokens_per_second{which}" for which in ("", "_low", "_high"))
# Figures of a cell that keep all axes, so that they can be read beside each other.
_WHOLE = frozenset({VERDICT, "total_bytes", *SPEEDS})
_DIGITS = 4


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure of every cell. values: over the named axes, in that order.

    Whole numbers have NOTHING and rates NaN where there is no value; verdicts are places in VERDICTS.
    """

    name: str
    axes: tuple[str, ...]
    values: NDArray[Any]

    def listed(self) -> list[Any]:
        """The values in row-major order, None where there is none; speeds with four significant digits."""
        column = self.column()
        if isinstance(column, list):
            return column
        return _without(column.tolist(), np.isnan(column)) if column.dtype.kind == "f" else column.tolist()

    def over(self, shape: Sequence[int]) -> NDArray[Any]:
        """The values over all AXES, repeated along those that are left out."""
        lengths = [length if axis in self.axes else 1 for axis, length in zip(AXES, shape, strict=True)]
        return np.broadcast_to(self.values.reshape(lengths), shape)

    def column(self) -> NDArray[Any] | list[Any]:
        """As `listed`, but numbers as an array where that says the same: NaN where a rate is missing."""
        flat = self.values.ravel()
        if self.name == VERDICT:
            names: list[Any] = np.array([str(v) for v in VERDICTS], object).take(flat).tolist()
            return names
        if flat.dtype.kind == "f":
            return significant(flat) if self.name in SPEEDS else flat
        missing = flat == NOTHING
        return _without(flat.tolist(), missing) if missing.any() else flat


@dataclass(frozen=True, slots=True)
class Matrix:
    """quantizations, contexts: the axes with their defaults filled in, a format of None being the engine's.

    measures: by name, in the order in which they are shown.
    """

    question: Question
    quantizations: tuple[str, ...]
    contexts: tuple[int, ...]
    measures: Mapping[str, Measure]


def blank(name: str) -> Any:
    """What stands in an array where a measure has no value, of the array's own kind."""
    if name == VERDICT:
        return np.int8(CODES[Verdict.UNSUPPORTED])
    return np.float64(np.nan) if name in SPEEDS or name == "usd_per_hour" else np.int64(NOTHING)


def measure(name: str, values: NDArray[Any]) -> Measure:
    """The measure of an array over all AXES; an axis along which nothing changes is left out."""
    axes = list(AXES)
    if name not in _WHOLE and values.size:
        for number in reversed(range(len(AXES))):
            first = values.take([0], number)
            # Most axes that vary differ at their ends; the whole is looked at only where these agree.
            if _equal(first, values.take([-1], number)) and _equal(first, values):
                values = values.take(0, number)
                axes.pop(number)
    return Measure(name, tuple(axes), values)


def _equal(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Whether arrays that broadcast are equal, values that are missing included."""
    same = one == other
    if one.dtype.kind == "f":
        same |= np.isnan(one) & np.isnan(other)
    return bool(same.all())


def significant(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values with four significant digits, as near as a float comes; zero, NaN and infinity stay."""
    with np.errstate(divide="ignore", invalid="ignore"):
        exponents = _DIGITS - 1 - np.floor(np.log10(np.abs(values)))
        # Powers of ten up to 22 are exact, so one rounding is all that happens.
        up, down = 10.0 ** np.maximum(exponents, 0), 10.0 ** np.maximum(-exponents, 0)
        rounded = np.rint(values * up / down) / up * down
    return np.where(np.isfinite(exponents), rounded, values)


def _without(values: list[Any], missing: NDArray[np.bool_]) -> list[Any]:
    for place in np.flatnonzero(missing):
        values[place] = None
    return values
