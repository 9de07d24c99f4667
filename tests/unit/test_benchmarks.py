"""The report of `make bench`: every row is explained, and a row beyond its mark is found."""

from pathlib import Path

import pytest

from benchmarks.marks import FLOOR, FRAGMENT_FLOOR, IN_PROCESS, MEMORY, OVER_HTTP, START_UP, Mark
from benchmarks.over_http import Measured
from benchmarks.report import DOCUMENT, TEMPLATE, Figures, document, printed
from benchmarks.sections import Spent

ROWS = (*OVER_HTTP, *IN_PROCESS, START_UP, MEMORY)


def figures(**changed) -> Figures:
    """A run in which every row over HTTP takes 100 µs, every other 1 µs, and no nginx was there."""
    seconds = {row: 0.0001 for row in OVER_HTTP if "nginx" not in row}
    given = {
        "over_http": {row: Measured(spent, 1.0) for row, spent in seconds.items()},
        "in_process": dict.fromkeys(IN_PROCESS, 0.000_001),
        "sections": {("memory", "a model on GPUs"): Spent(0.001, 0.002)},
        "start_up_seconds": 2.0,
        "memory_bytes": 200 * 2**20,
        "load": 0.5,
        "rounds": 9,
    }
    return Figures(**{**given, **changed})


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("file", [TEMPLATE, DOCUMENT], ids=["template", "document"])
def test_every_row_is_explained(file: Path, row: str):
    """A figure that nobody explains says nothing."""
    assert f"**{row}**" in file.read_text(encoding="utf-8")


@pytest.mark.parametrize("row", ROWS)
def test_every_row_is_in_the_document_and_printed(row: str):
    """What was measured is shown; what could not be measured is shown as skipped."""
    assert f"\n| {row} |" in document(figures())
    assert f"\n{row}  " in printed(figures())


def test_the_document_has_no_gaps():
    """Every place for a figure is filled."""
    assert "{{" not in document(figures())
    assert "| memory | a model on GPUs | 1 ms | 2 ms | 3 ms |" in document(figures())
    assert "skipped: no nginx here" in document(figures())


def test_the_document_is_the_templates():
    """Words are changed in the template: all its lines but those with figures stand in the document."""
    written = DOCUMENT.read_text(encoding="utf-8").splitlines()
    assert [line for line in TEMPLATE.read_text(encoding="utf-8").splitlines() if "{{" not in line] == [
        line for line in written if line in TEMPLATE.read_text(encoding="utf-8").splitlines()
    ]


def test_a_ratio_is_to_the_floor_of_the_same_length():
    """Rows with fragments have a floor of their own: 100 µs of 125 µs are 0.8 of it, not 0.4 of the other."""
    over_http = {
        **figures().over_http,
        FLOOR: Measured(0.00005, 1.0),
        FRAGMENT_FLOOR: Measured(0.0001, 1.0),
        "cached fragment": Measured(0.000125, 1.0),
    }
    [line] = [
        line for line in document(figures(over_http=over_http)).splitlines() if "| cached fragment |" in line
    ]
    assert "| 0.80 |" in line


def test_rows_beyond_their_marks_are_named():
    """A hit that costs three floors, a slow computation, a slow start and too much memory fail the run."""
    assert figures().late() == []
    over_http = {**figures().over_http, "cached JSON": Measured(0.0003, 1.0)}
    late = figures(
        over_http=over_http,
        in_process={**figures().in_process, "size()": 1.0},
        sections={("faq", "a model on GPUs"): Spent(0.1, 0.05), ("tips", "a model"): Spent(0.3, 0.02)},
        start_up_seconds=60.0,
        memory_bytes=2**32,
    )
    assert set(late.late()) == {"cached JSON", "size()", "faq of a model on GPUs", START_UP, MEMORY}
    assert "beyond their marks" in printed(late)


def test_a_mark_looks_at_both_bounds():
    """A ratio below or a time above its bound is beyond."""
    mark = Mark(least_ratio=0.5, most_ms=1)
    assert mark.kept(0.0005, 0.00025)
    assert not mark.kept(0.0005, 0.0002)
    assert not mark.kept(0.0011, 0.0011)
