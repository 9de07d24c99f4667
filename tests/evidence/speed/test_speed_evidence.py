"""Estimates against measurements of (model, GPU) pairs that the constants had not seen.

Constants are fitted here to four fifths of the pairs; the last fifth, sha1(model + gpu) mod 5 = 0, is judged.
"""

from dataclasses import replace

import pytest

from service.calibration.__main__ import strict_check
from service.calibration.baselines import active_bytes, whole_model
from service.calibration.intervals import Residuals, coverage, intervals, quantile
from service.calibration.observations import Observation, Quantity, fold, observations
from service.calibration.report import BEGIN, END, lines, summary
from service.calibration.start import calibrate
from tests.contract.fragment_cases import facts
from tests.published import ROOT

Intervals = dict[str, dict[str, float]]


@pytest.fixture(scope="module")
def rows() -> list[Observation]:
    return list(observations(facts()))


@pytest.fixture(scope="module")
def strict(rows: list[Observation]) -> tuple[Residuals, Intervals]:
    """What the fold measured / estimated, and intervals, neither of which has seen it."""
    return strict_check(rows)


@pytest.fixture(scope="module")
def held_out(strict: tuple[Residuals, Intervals]) -> Residuals:
    return strict[0]


def median_error(residuals: Residuals) -> float:
    """Percent."""
    return 100 * quantile([(abs(1 / ratio - 1), 1.0) for _, ratio in residuals], 0.5)


def single_stream(residuals: Residuals) -> Residuals:
    return [
        (row, ratio)
        for row, ratio in residuals
        if row.quantity is Quantity.DECODE and row.run.layer_split and row.run.sequences == 1
    ]


def test_a_pair_is_learnt_from_or_judged_never_both(rows: list[Observation]):
    """Every row of a pair is in the same fold."""
    by_group: dict[str, set[int]] = {}
    for row in rows:
        by_group.setdefault(row.group, set()).add(row.fold)
    assert all(len(folds) == 1 for folds in by_group.values())
    assert {fold("llama-3.1-8b-instruct", "rtx-4090")} == by_group["llama-3.1-8b-instruct rtx-4090"]


def test_single_stream_decode_is_within_a_tenth(held_out: Residuals):
    assert len(single_stream(held_out)) > 50
    assert median_error(single_stream(held_out)) <= 10


def test_single_stream_decode_of_llama_cpp_on_cuda_is_within_six_percent(held_out: Residuals):
    own = [one for one in single_stream(held_out) if one[0].run.runtime == "llama.cpp cuda"]
    assert len(own) > 20
    assert median_error(own) <= 6


def test_batched_decode_is_within_22_percent(held_out: Residuals):
    own = [one for one in held_out if one[0].kind == "decode serving"]
    assert len(own) > 200
    assert median_error(own) <= 22


def test_prefill_is_within_22_percent(held_out: Residuals):
    own = [one for one in held_out if one[0].quantity is Quantity.PREFILL]
    assert len(own) > 50
    assert median_error(own) <= 22


def test_decode_beats_what_a_visitor_would_guess(held_out: Residuals):
    """Bandwidth over model size, and 72.5 % of it over active bytes with a cap of 200 tokens/s."""
    own = [one for one in held_out if one[0].quantity is Quantity.DECODE]
    for guess in (whole_model, active_bytes):
        guessed: Residuals = [(row, row.value / guess(row)) for row, _ in own]
        assert median_error(own) < median_error(guessed) / 2


@pytest.mark.parametrize("which", ["strict", "served"])
def test_intervals_hold_what_they_promise(strict: tuple[Residuals, Intervals], which: str):
    """Eight of ten over all and in classes of a hundred rows or more; smaller ones by their few groups."""
    residuals, found = strict
    if which == "served":
        found = {
            name: {"low": one.low, "high": one.high, "rows": one.rows}
            for name, one in facts().speed.intervals.items()
        }
    for name, (count, part) in coverage(residuals, found).items():
        low, high = (0.75, 0.85) if count >= 100 else (0.60, 0.95)
        assert low <= part <= high, (name, count, part)


def pairs(ratios_by_group: list[list[float]], known: Observation) -> Residuals:
    """Residuals of one class, a group for each list."""
    return [
        (replace(known, group=f"group {number}"), ratio)
        for number, ratios in enumerate(ratios_by_group)
        for ratio in ratios
    ]


def test_an_interval_is_as_wide_as_its_groups_are_apart(rows: list[Observation]):
    """Ten rows a group within 2 %: groups at 0.5, 1 and 2 need a wider interval than three at 1.

    Alone, the two outer groups are a third each, so P10 and P90 lie on them; with one left out, the others
    end at 1 or at the other side, and the left-out group lies far beyond.
    """
    near = [0.99 + 0.002 * number for number in range(10)]
    alike = pairs([near] * 3, rows[0])
    apart = pairs([[ratio * factor for ratio in near] for factor in (0.5, 1.0, 2.0)], rows[0])
    (narrow,), (wide,) = (intervals(found, found).values() for found in (alike, apart))
    assert (narrow["low"], narrow["high"]) == (pytest.approx(0.95), pytest.approx(1.05))
    assert wide["low"] < 0.5 * 0.99
    assert wide["high"] > 2 * 1.008
    assert wide["rows"] == len(apart)


def test_a_class_that_was_never_judged_unseen_has_no_interval(rows: list[Observation]):
    """What a fit says of its own rows promises nothing of others."""
    assert intervals([], pairs([[1.0, 1.1]], rows[0])) == {}


def test_the_table_of_the_page_is_that_of_the_constants(strict: tuple[Residuals, Intervals]):
    """docs/speed.md and config/speed.yaml tell the same errors, those that are found here again."""
    page = (ROOT / "docs" / "speed.md").read_text(encoding="utf-8")
    shown = page.split(BEGIN)[1].split(END)[0].split("\n")
    for line in lines(*strict):
        assert f"| {' | '.join(cell.strip() for cell in line.split('|'))} |" in shown
    kept = facts().speed.errors
    for name, row in summary(*strict).items():
        assert kept[name] == pytest.approx(row, rel=1e-3), name


def test_the_constants_are_those_of_the_measurements(rows: list[Observation]):
    """config/speed.yaml is what `make calibrate` makes of config/measurements/, but for its digits."""
    fresh, kept = calibrate(rows), facts().speed
    for name, runtime in kept.runtimes.items():
        for generation, value in runtime.efficiency.items():
            assert value == pytest.approx(fresh["runtimes"][name]["efficiency"][generation], rel=0.01)
    assert kept.serving.efficiency == pytest.approx(fresh["serving"]["efficiency"], rel=0.01)
