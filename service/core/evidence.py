"""How well a figure is known."""

from enum import StrEnum


class Evidence(StrEnum):
    """Where a figure comes from, best first."""

    CHECKPOINT = "checkpoint"  # the published tensor headers or file sizes
    CONFIG = "config"  # follows exactly from the published config.json
    RECIPE = "recipe"  # the quantizer's own rules applied to every tensor
    CALIBRATED = "calibrated"  # fitted to what the engine itself printed
    ESTIMATE = "estimate"  # a rule of thumb with a stated source
    UNKNOWN = "unknown"


def weakest(*levels: Evidence) -> Evidence:
    """The least certain of the given levels."""
    order = list(Evidence)
    return max(levels, key=order.index)
