"""Formulas as text and value at once, and the trace that collects them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.derivation.expressions import (
    Expression,
    add,
    ceil_div,
    largest,
    lift,
    named,
    pad,
    smallest,
)
from service.core.derivation.steps import Topic, Trace, Unit
from service.core.evidence import Evidence
from service.core.sizing import Sourced
from tests.unit.test_derivation import evaluate

SOURCE = Sourced(Evidence.CONFIG, "a rule")
NUMBERS = st.integers(1, 10**6).map(lift)
BINARY = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a // (b if b.value > 0 else lift(7)),
    lambda a, b: ceil_div(a, b if b.value > 0 else lift(7)),
    lambda a, b: pad(a, b if b.value > 0 else lift(7)),
    largest,
    smallest,
]
FORMULAS = st.recursive(
    NUMBERS,
    lambda inner: st.tuples(st.sampled_from(BINARY), inner, inner).map(lambda of: of[0](of[1], of[2])),
    max_leaves=12,
)


@given(FORMULAS)
def test_the_text_of_a_formula_means_its_value(formula: Expression):
    """Brackets stand wherever precedence or association needs them."""
    assert evaluate(formula.substituted) == formula.value
    assert evaluate(formula.symbolic) == formula.value


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda a, b, c: a - (b - c), "a - (b - c)"),
        (lambda a, b, c: a - b - c, "a - b - c"),
        (lambda a, b, c: a * (b + c), "a * (b + c)"),
        (lambda a, b, c: a * b * c, "a * b * c"),
        (lambda a, b, c: a * (b // c), "a * (b // c)"),
        (lambda a, b, c: a // b * c, "a // b * c"),
        (lambda a, b, c: a // (b * c), "a // (b * c)"),
        (lambda a, b, c: (a + b) // c, "(a + b) // c"),
        (lambda a, b, c: add((a, b, c)), "a + b + c"),
        (lambda a, b, c: ceil_div(a + b, c), "ceil_div(a + b, c)"),
        (lambda a, b, c: largest(a, smallest(b, c)), "max(a, min(b, c))"),
    ],
)
def test_formulas_have_no_more_brackets_than_they_need(build, text: str):
    formula = build(named("a", 9), named("b", 4), named("c", 2))
    assert formula.symbolic == text
    assert formula.inputs == ("a", "b", "c")


def test_negative_values_stand_in_brackets():
    assert (named("a", 1) - named("b", -2)).substituted == "1 - (-2)"


def test_a_formula_that_misses_the_engines_figure_is_dropped():
    """The engine's own number stays, as a leaf with its source."""
    trace = Trace()
    layers = trace.given("layers", 24, Unit.LAYERS, SOURCE)
    kept = trace.follows("cache", layers * 10, Unit.BYTES, SOURCE, figure=240)
    leaf = trace.follows("state", layers * 10, Unit.BYTES, SOURCE, figure=241)
    assert (kept.value, leaf.value) == (240, 241)
    steps = {step.symbol: step for step in trace.steps}
    assert steps["cache"].formula == "layers * 10"
    assert steps["cache"].substituted == "24 * 10"
    assert steps["state"].formula is None
    assert steps["state"].source == "a rule"


def test_equal_steps_are_one_and_others_get_a_number():
    trace = Trace()
    first = trace.given("layers", 24, Unit.LAYERS, SOURCE)
    again = trace.given("layers", 24, Unit.LAYERS, SOURCE)
    other = trace.given("layers", 30, Unit.LAYERS, SOURCE)
    assert first == again
    assert other.symbolic == "layers_2"
    assert len(trace.steps) == 2


def test_steps_are_ordered_by_topic():
    trace = Trace()
    trace.about(Topic.LIMITS)
    trace.given("limit", 1, Unit.COUNT, SOURCE)
    trace.about(Topic.WEIGHTS)
    trace.given("weights", 1, Unit.COUNT, SOURCE)
    assert [step.symbol for step in trace.steps] == ["weights", "limit"]


def test_a_sum_is_known_no_better_than_its_parts():
    trace = Trace()
    guess = Sourced(Evidence.ESTIMATE, "a guess")
    parts = trace.given("a", 1, Unit.BYTES, SOURCE) + trace.given("b", 2, Unit.BYTES, guess)
    trace.follows("sum", parts, Unit.BYTES, SOURCE)
    assert trace.steps[-1].evidence is Evidence.ESTIMATE
