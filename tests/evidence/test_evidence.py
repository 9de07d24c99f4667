"""What engines printed in public logs against what is computed for the same question."""

from statistics import median

import pytest

from tests.evidence.cases import cases, logs
from tests.evidence.report import ACCURACY, BEGIN, END, Score, by_term, scores, section

WORST = {  # the largest relative error of any log
    ("vllm", "token bytes"): 0.005,
    ("vllm", "pool tokens"): 0.01,
    ("vllm", "request"): 0.005,
    ("vllm", "longest context"): 0.01,
    ("vllm", "weights"): 0.015,
    ("sglang", "token bytes"): 0.005,
    ("llama.cpp", "compute"): 0.15,
}
MEDIAN = {("vllm", "pool"): 0.08, ("vllm", "activations"): 0.05}
EXACT = {"kv cache", "windows", "state", "context"}  # llama.cpp and what launches it
SHOWN = {("vllm", "graphs")}  # a flat amount, listed without a promise


def named(score: Score) -> str:
    return f"{score.case.id}: {score.term} {score.computed:.2f}, printed {score.reported}"


def test_no_log_is_dropped():
    """Each log has exactly one scenario, and each scenario compares something or says why it does not."""
    assert sorted(case.id for case in cases()) == sorted(logs())
    assert len(logs()) >= 70
    for case in cases():
        assert case.compare or case.left_out, case.id
        assert not set(case.compare) & set(case.left_out), case.id
        assert all(len(reason) > 5 for reason in case.left_out.values()), case.id


def test_every_printed_figure_is_compared_or_left_out_with_a_reason():
    """Weights, pool, tokens and buffers of a log are not passed over in silence."""
    terms = {
        "weights_gib": "weights",
        "activation_peak_gib": "activations",
        "kv_needed_gib": "request",
        "recurrent_state_mib": "state",
        "kv_cache_mib": "kv cache",
        "compute_buffer_mib": "compute",
    }
    for case in cases():
        if not case.compare:
            continue
        said = {*case.compare, *case.left_out}
        missing = {term for field, term in terms.items() if field in case.reported} - said
        assert not missing, (case.id, missing)


@pytest.mark.parametrize(("engine", "term"), sorted(WORST))
def test_the_worst_log_is_within_its_bound(engine: str, term: str):
    found = by_term()[engine, term]
    assert [named(score) for score in found if abs(score.error) > WORST[engine, term]] == []


@pytest.mark.parametrize(("engine", "term"), sorted(MEDIAN))
def test_the_median_log_is_within_its_bound(engine: str, term: str):
    errors = [abs(score.error) for score in by_term()[engine, term]]
    assert median(errors) <= MEDIAN[engine, term]


def test_caches_and_states_of_llama_cpp_are_exact():
    """To the last digit that the log prints."""
    found = [score for score in scores() if score.term in EXACT]
    assert len(found) >= 14
    assert [named(score) for score in found if not score.exact] == []


def test_every_compared_term_has_a_bound():
    promised = {*WORST, *MEDIAN, *SHOWN, *((engine, term) for engine, term in by_term() if term in EXACT)}
    assert set(by_term()) <= promised


def test_the_page_holds_the_current_table():
    """docs/accuracy.md is what `make evidence` writes."""
    page = ACCURACY.read_text(encoding="utf-8")
    written = page[page.index(BEGIN) : page.index(END) + len(END)]
    assert written == section()
