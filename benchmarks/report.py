"""The figures of a run: on the terminal, and in docs/performance.md."""

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from benchmarks.marks import (
    FLOOR,
    FRAGMENT_FLOOR,
    IN_PROCESS,
    MEMORY,
    MEMORY_MOST_BYTES,
    OVER_HTTP,
    SECTION_MOST_MS,
    SHOWING_MOST_MS,
    START_UP,
    START_UP_MOST_SECONDS,
)
from benchmarks.over_http import Measured
from benchmarks.sections import Spent
from benchmarks.servers import ROOT

TEMPLATE = Path(__file__).with_name("performance.md")
DOCUMENT = ROOT / "docs" / "performance.md"


@dataclass(frozen=True, slots=True)
class Figures:
    """What a run measured. in_process: CPU seconds by row; load: of the machine before the run.

    sections: CPU seconds by section and what it is about.
    """

    over_http: Mapping[str, Measured]
    in_process: Mapping[str, float]
    sections: Mapping[tuple[str, str], Spent]
    start_up_seconds: float
    memory_bytes: int
    load: float
    rounds: int

    def late(self) -> list[str]:
        """The rows that are beyond their marks."""
        rows = [row for row, seconds in self.in_process.items() if not IN_PROCESS[row].kept(seconds, 0.0)]
        rows += [row for row, seen in self.over_http.items() if not self._kept(row, seen)]
        for (section, about), spent in self.sections.items():
            if 1000 * spent.whole > SECTION_MOST_MS or 1000 * spent.showing > SHOWING_MOST_MS:
                rows.append(f"{section} of {about}")
        if self.start_up_seconds > START_UP_MOST_SECONDS:
            rows.append(START_UP)
        if self.memory_bytes > MEMORY_MOST_BYTES:
            rows.append(MEMORY)
        return rows

    def floor_seconds(self, row: str) -> float:
        """The floor that a row is compared with: ready bytes of the same length."""
        return self.over_http[FRAGMENT_FLOOR if "fragment" in row else FLOOR].cpu_seconds

    def _kept(self, row: str, seen: Measured) -> bool:
        return OVER_HTTP[row].kept(seen.cpu_seconds, self.floor_seconds(row))


def document(figures: Figures) -> str:
    """The text of docs/performance.md."""
    text = TEMPLATE.read_text(encoding="utf-8")
    for name, table in {
        "machine": machine(figures),
        "over_http": _table(("row", "CPU per request", "of the floor", "requests/s", "mark"), _http(figures)),
        "in_process": _table(("row", "CPU", "mark"), _process(figures)),
        "sections": _table(("section", "about", "computing", "showing", "whole"), _sections(figures)),
        "whole": _table(("row", "measured", "mark"), _whole(figures)),
    }.items():
        text = text.replace("{{" + name + "}}", table)
    return text


def machine(figures: Figures) -> str:
    """Where and when, in one sentence."""
    now = datetime.now(UTC)
    return (
        f"{now:%Y-%m-%d}, {os.cpu_count()} cores ({_processor()}), {platform.system()} "
        f"{platform.release().partition('-')[0]}, Python {platform.python_version()}, gunicorn "
        f"{version('gunicorn')}; load average before the run {figures.load:.1f}; medians of {figures.rounds} "
        "interleaved rounds."
    )


def _http(figures: Figures) -> list[Sequence[str]]:
    rows: list[Sequence[str]] = []
    for row, mark in OVER_HTTP.items():
        seen = figures.over_http.get(row)
        if seen is None:
            rows.append((row, "skipped: no nginx here", "", "", ""))
            continue
        ratio = figures.floor_seconds(row) / seen.cpu_seconds
        part = f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.2g}"
        least = f"≥ {mark.least_ratio}" if mark.least_ratio else ""
        most = f"≤ {mark.most_ms:g} ms" if mark.most_ms else ""
        rows.append((row, _time(seen.cpu_seconds), part, f"{seen.per_second:,.0f}", least or most))
    return rows


def _process(figures: Figures) -> list[Sequence[str]]:
    return [
        (row, _time(figures.in_process[row]), f"≤ {mark.most_ms:g} ms")
        for row, mark in IN_PROCESS.items()
        if row in figures.in_process
    ]


def _sections(figures: Figures) -> list[Sequence[str]]:
    return [
        (section, about, _time(spent.computing), _time(spent.showing), _time(spent.whole))
        for (section, about), spent in figures.sections.items()
    ]


def _whole(figures: Figures) -> list[Sequence[str]]:
    return [
        (START_UP, f"{figures.start_up_seconds:.2f} s", f"≤ {START_UP_MOST_SECONDS:g} s"),
        (MEMORY, f"{figures.memory_bytes / 2**20:.0f} MiB", f"≤ {MEMORY_MOST_BYTES >> 20} MiB"),
    ]


def printed(figures: Figures) -> str:
    """The tables for a terminal, and what is beyond its mark."""
    late = figures.late()
    tables = ("\n".join("  ".join(_padded(row)) for row in rows) for rows in _tables(figures))
    verdict = f"beyond their marks: {', '.join(late)}" if late else "all within their marks"
    return "\n\n".join([machine(figures), *tables, verdict])


def _tables(figures: Figures) -> list[list[Sequence[str]]]:
    return [_http(figures), _process(figures), _sections(figures), _whole(figures)]


def _padded(row: Sequence[str]) -> list[str]:
    return [f"{row[0]:34}", *(f"{cell:>12}" for cell in row[1:])]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _time(seconds: float) -> str:
    micro = 1e6 * seconds
    if micro < 10:
        return f"{micro:.2f} µs"
    return f"{micro:.0f} µs" if micro < 1000 else f"{micro / 1000:.3g} ms"


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
