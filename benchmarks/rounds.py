"""Interleaved rounds: every case is timed in turn, so that a busy machine disturbs all of them alike."""

import time
from collections.abc import Callable, Mapping
from statistics import median


def cpu_seconds(work: Callable[[], object], repeats: int) -> float:
    """CPU seconds of one call, over `repeats` calls."""
    start = time.process_time()
    for _ in range(repeats):
        work()
    return (time.process_time() - start) / repeats


def measure(cases: Mapping[str, tuple[Callable[[], object], int]], rounds: int) -> dict[str, float]:
    """Median CPU seconds of each case over the rounds. cases: name -> (call, calls a round)."""
    for work, _ in cases.values():
        work()
    seen: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, (work, repeats) in cases.items():
            seen[name].append(cpu_seconds(work, repeats))
    return {name: median(times) for name, times in seen.items()}
