"""Reports drawn on a terminal: no figure is cut, and no word is squeezed to nothing."""

import io

import pytest
from rich.console import Console

from service.cli.drawing import Drawn

TABLE = """
| Recommendation | Hardware | Rent per hour | Purchase price | Verdict |
| :--- | :--- | ---: | ---: | :--- |
| Best single GPU | 1 × B200 180GB | $5.00 (Akash, Sep 20, 2026) | $40,000.00 | fits |
| Best value, used | 2 × RTX 3090 | $0.92 (RunPod, Jul 17, 2026) | $1,400.00 – $2,000.00 (used) | tight |
"""
FIGURES = ("$5.00", "(Akash, Sep 20, 2026)", "$40,000.00", "$1,400.00 – $2,000.00", "(used)")


def drawn(width: int) -> str:
    """The table in a window of so many columns."""
    out = io.StringIO()
    Console(file=out, width=width, force_terminal=False).print(Drawn(TABLE))
    return out.getvalue()


@pytest.mark.parametrize("width", [50, 60, 80, 100, 120, 200])
def test_figures_stay_whole_at_every_width(width):
    """Each figure and each remark behind it stands in one line."""
    text = drawn(width)
    assert all(figure in text for figure in FIGURES)
    assert all(len(line) <= width for line in text.splitlines())


@pytest.mark.parametrize("width", [50, 60, 80, 100, 120, 200])
def test_words_stay_readable_at_every_width(width):
    """“Recommendation” and “single” are words of the table; columns of one letter are none."""
    words = drawn(width).split()
    assert {"single", "Hardware", "B200", "fits"} <= set(words)


def test_a_wide_window_has_one_line_for_each_row():
    line = next(line for line in drawn(200).splitlines() if "Best single GPU" in line)
    assert "$5.00 (Akash, Sep 20, 2026)" in line
    assert "$40,000.00" in line


def test_a_narrow_window_names_each_figure():
    """Rows stand below each other: the heading of a column stands before its value."""
    lines = [" ".join(line.split()) for line in drawn(60).splitlines()]
    assert "Best value, used" in lines
    assert "Purchase price $1,400.00 – $2,000.00 (used)" in lines
