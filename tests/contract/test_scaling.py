"""The planning values of docs/scaling.md follow what docs/performance.md measured, and its sums are right."""

import math
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
MICROSECONDS = {"µs": 1.0, "ms": 1000.0, "s": 1_000_000.0}


def microseconds(text: str) -> float:
    number, unit = text.split()
    return float(number.replace(",", "")) * MICROSECONDS[unit]


def planned() -> dict[str, tuple[str, float]]:
    """Row of performance.md and CPU time, by the letter that stands for it."""
    text = (DOCS / "scaling.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([A-Z]) \| [^|]+ \| ([^|]+) \| ([\d.]+ \w+) \|$", text, re.M)
    return {letter: (row.strip(), microseconds(value)) for letter, row, value in rows}


def test_planning_values_follow_the_measured_ones():
    """Within a factor of three of what was measured, whatever machine `make bench` last ran on."""
    text = (DOCS / "performance.md").read_text(encoding="utf-8")
    measured = dict(re.findall(r"^\| ([^|]+) \| ([\d.,]+ [µm]?s) \|", text, re.M))
    assert planned().keys() == set("GMRCX")
    for row, value in planned().values():
        assert 1 / 3 < value / microseconds(measured[row]) < 3, row


def test_the_sums_on_paper_are_right():
    """Cores, bytes and shares as the document writes them out."""
    g, m, r, c, x = (planned()[letter][1] / 1e6 for letter in "GMRCX")
    assert [1 / g, 1 / m, 1 / r, 1 / c] == pytest.approx([40_000, 4_000, 2_000, 250])
    assert pytest.approx(2.2, abs=0.05) == 0.60 * 2.4 + 0.30 * 0.4 + 0.08 * 2.5 + 0.02 * 23
    assert pytest.approx(2.0) == 100_000 * 2500 * 8 / 1e9

    def share(kept: float, asked: float) -> float:
        """Sum of 1/n up to `kept` over the sum up to `asked`."""
        return (math.log(kept) + 0.577) / (math.log(asked) + 0.577)

    assert round(share(512e3, 1e6), 2) == 0.95
    assert round(share(512e3, 1e7), 2) == 0.82
    assert round(share(4.1e6, 1e7), 2) == 0.95
    assert 100_000 * g == pytest.approx(2.5)
    assert [4000 * r, 1000 * c, 1000 * r] == pytest.approx([2.0, 4.0, 0.5])
    assert math.ceil((4000 * r + 1000 * c + 1000 * r) / 0.6) == 11
    assert 1600 * r + 400 * c == pytest.approx(2.4)
    assert 100 * x == pytest.approx(3.5)
    assert 20_000 * c == pytest.approx(80)
    assert c / g == pytest.approx(160)
