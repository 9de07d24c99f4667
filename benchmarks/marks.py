"""The rows of the report, in its order, and the marks beyond which a run fails.

Marks are roomy: they tell a fault from a slow or busy machine. What the service is meant to reach stands in
the documentation.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

FLOOR = "bare WSGI"
FRAGMENT_FLOOR = "bare WSGI, fragment"
PER_CELL = "full matrix, per cell"


@dataclass(frozen=True, slots=True)
class Mark:
    """Bounds of a row, None where there is none.

    least_ratio: requests per CPU second, as a part of the floor's. most_ms: CPU milliseconds of a request.
    """

    least_ratio: float | None = None
    most_ms: float | None = None

    def kept(self, cpu_seconds: float, floor_seconds: float) -> bool:
        """Whether a measured row is within its bounds."""
        slow = self.most_ms is not None and 1000 * cpu_seconds > self.most_ms
        return not slow and (self.least_ratio is None or floor_seconds / cpu_seconds >= self.least_ratio)


OVER_HTTP: Mapping[str, Mark] = MappingProxyType(
    {
        FLOOR: Mark(),
        "bare WSGI, two headers": Mark(),
        FRAGMENT_FLOOR: Mark(),
        "cached JSON": Mark(least_ratio=0.65),
        "cached fragment": Mark(least_ratio=0.65),
        "cached fragment, brotli": Mark(least_ratio=0.65),
        "not modified (304)": Mark(least_ratio=0.7),
        "matrix, warm": Mark(most_ms=5),
        "from Redis": Mark(most_ms=10),
        "sizing, uncached": Mark(most_ms=60),
        "fragment, uncached": Mark(most_ms=60),
        "matrix, cold": Mark(most_ms=2000),
        "through nginx": Mark(least_ratio=1.5),
        "through nginx, 304": Mark(least_ratio=1.5),
    }
)
IN_PROCESS: Mapping[str, Mark] = MappingProxyType(
    {
        "size()": Mark(most_ms=30),
        "weights of all models, one format": Mark(most_ms=100),
        "sizing with derivation": Mark(most_ms=80),
        "costs": Mark(most_ms=400),
        "plan for a model": Mark(most_ms=600),
        "plan for a GPU": Mark(most_ms=600),
        "models of a GPU, cold process": Mark(most_ms=500),
        "tiers of a GPU, cold process": Mark(most_ms=1000),
        "full matrix": Mark(most_ms=1000),
        PER_CELL: Mark(most_ms=0.005),
        "full matrix, one model": Mark(most_ms=50),
        "matrix of one format and context": Mark(most_ms=100),
        "full matrix as JSON": Mark(most_ms=2000),
        "full matrix as CSV": Mark(most_ms=5000),
        "damaged config, worst": Mark(most_ms=1000),
    }
)
SECTION_MOST_MS = 400.0  # any section, computed and shown
SHOWING_MOST_MS = 40.0
START_UP, MEMORY = "start-up to the first answer", "memory of two workers"
START_UP_MOST_SECONDS = 10.0
MEMORY_MOST_BYTES = 400 * 2**20
