"""What no hardware can do is refused, with arithmetic that can be checked by hand; real runs are not."""

import pytest

from service.core.impossible import CLAIMED, SLACK, Claim, contradictions
from service.core.measurements import Measurement
from service.core.speed.work import work
from service.core.weights.formats import Family
from service.core.weights.weigh import weigh

HONEST = {
    "gpu_count": 1,
    "engine": "llama.cpp",
    "quantization": "q4_k_m",
    "context_tokens": 8192,
    "prompt_tokens": 4096,
    "output_tokens": 512,
    "concurrency": 1,
    "speculative_tokens": 0,
    "decode_tokens_per_second": 110.0,
    "prefill_tokens_per_second": 6800.0,
    "time_to_first_token_ms": 640.0,
}


@pytest.fixture
def claim(catalog):
    def build(model="qwen3-8b", gpu="rtx-4090", **changed):
        return Claim(catalog.models[model], catalog.gpus[gpu], **{**HONEST, **changed})

    return build


def codes(claim):
    return [(error.parameter, error.code) for error in contradictions(claim)]


def test_an_honest_measurement_is_possible(claim):
    assert codes(claim()) == []


def test_every_comparable_published_measurement_is_possible(catalog):
    """None of the published records that are compared would be refused: the bounds are not too tight."""
    checked = 0
    for model, rows in catalog.measurements.items():
        for row in rows:
            if row.comparable:
                assert contradictions(claim_of(row, catalog, model)) == (), row.id
                checked += 1
    assert checked > 700


def claim_of(row: Measurement, catalog, model: str) -> Claim:
    # The context of a record is the mean fill of the cache, not what a sequence may hold.
    names = [name for name in CLAIMED if name != "context_tokens" and hasattr(row, name)]
    values = {name: getattr(row, name) for name in names}
    return Claim(catalog.models[model], catalog.gpus[row.gpu], **values)


def test_decode_is_bounded_by_the_bandwidth(claim, catalog):
    """Weights of one step × steps/s ≤ bandwidth: 1,008 GB/s of an RTX 4090 over the bytes of Qwen3 8B."""
    model = catalog.models["qwen3-8b"]
    read = work(weigh(model, "q4_k_m", family=Family.GGUF), model.architecture).bytes_read(1)
    bound = 1008e9 / read
    assert 200 < bound < 240  # 4.67 GB
    assert codes(claim(decode_tokens_per_second=bound)) == []
    [error] = contradictions(claim(decode_tokens_per_second=bound * SLACK * 1.01))
    assert (error.parameter, error.code) == ("decode_tokens_per_second", "exceeds_bandwidth")
    values = error.values
    assert values["available_gbs"] == 1008
    assert values["needed_gbs"] == pytest.approx(values["steps"] * values["read_gb"], rel=2e-3)


@pytest.mark.parametrize(
    "lifted",
    [
        {"concurrency": 8},  # a step serves all sequences
        {"gpu_count": 2},
        {"speculative_tokens": 3},  # and may gain four tokens
        {"gpu": "h200-141gb-sxm"},  # 4.8 TB/s
    ],
)
def test_conditions_lift_the_bound(claim, lifted):
    """300 tokens/s are too much for one sequence on one RTX 4090, and not under these conditions."""
    fast = {"decode_tokens_per_second": 300.0, "context_tokens": 4608}
    assert codes(claim(**fast)) == [("decode_tokens_per_second", "exceeds_bandwidth")]
    assert codes(claim(**{**fast, **lifted})) == []


def test_drafts_count_as_far_as_they_were_accepted(claim):
    """Three drafts of which a tenth is accepted are 1.3 tokens a step: 216 × 1.3 = 281 tokens/s at most."""
    drafted = {"speculative_tokens": 3, "draft_acceptance": 0.1}
    assert codes(claim(decode_tokens_per_second=270.0, **drafted)) == []
    assert codes(claim(decode_tokens_per_second=320.0, **drafted)) == [
        ("decode_tokens_per_second", "exceeds_bandwidth")
    ]


def test_only_active_experts_are_read(claim):
    """A mixture of experts reads what one token needs: gpt-oss-120b may decode at 250 tokens/s on an H100."""
    run = {"model": "gpt-oss-120b", "gpu": "h100-80gb-sxm", "engine": "vllm", "quantization": "mxfp4"}
    run |= {"prefill_tokens_per_second": None, "time_to_first_token_ms": None}
    assert codes(claim(**run, decode_tokens_per_second=250.0)) == []
    assert codes(claim(**run, decode_tokens_per_second=5000.0)) == [
        ("decode_tokens_per_second", "exceeds_bandwidth")
    ]


def test_the_rate_of_one_sequence_is_bounded_too(claim):
    run = {"decode_tokens_per_second": None, "concurrency": 16}
    assert codes(claim(**run, decode_tokens_per_second_per_sequence=400.0)) == [
        ("decode_tokens_per_second_per_sequence", "exceeds_bandwidth")
    ]


def test_what_is_not_stated_counts_as_one(claim):
    """Without number of GPUs, concurrency and drafts the bound is that of one GPU and one sequence."""
    unstated = dict.fromkeys(("gpu_count", "concurrency", "speculative_tokens"))
    assert codes(claim(**unstated, decode_tokens_per_second=1000.0)) == [
        ("decode_tokens_per_second", "exceeds_bandwidth")
    ]


def test_prefill_is_bounded_by_the_peak(claim):
    """Two operations for each of 7 billion parameters: 10⁶ tokens/s are 14 PFLOPS, an RTX 4090 has 0.66."""
    [error] = contradictions(claim(prefill_tokens_per_second=1e6, time_to_first_token_ms=None))
    assert (error.parameter, error.code) == ("prefill_tokens_per_second", "exceeds_compute")
    assert 13_000 < error.values["needed_tflops"] < 15_000


def test_weights_must_fit_unless_they_were_offloaded(claim):
    """DeepSeek V3's 671 billion parameters do not lie in 24 GB, unless almost all lie in system RAM."""
    big = {"model": "deepseek-v3.2-685b", "decode_tokens_per_second": 5.0}
    big |= {"prefill_tokens_per_second": None, "time_to_first_token_ms": None}
    assert ("gpu_count", "weights_exceed_memory") in codes(claim(**big))
    assert codes(claim(**big, cpu_offload_percent=97.0)) == []


def test_prompt_and_output_must_fit_the_context(claim):
    [error] = contradictions(claim(context_tokens=4600))
    assert (error.parameter, error.code, error.values["sum"]) == ("context_tokens", "context_too_small", 4608)
    assert codes(claim(context_tokens=4608)) == []


@pytest.mark.parametrize(("waited", "possible"), [(602.0, True), (310.0, True), (290.0, False), (1e6, False)])
def test_first_token_and_prefill_must_agree(claim, waited, possible):
    """4,096 tokens at 6,800 tokens/s take 602 ms; less than half of it or far more is wrong."""
    found = codes(claim(time_to_first_token_ms=waited))
    assert found == ([] if possible else [("time_to_first_token_ms", "contradicts_prefill")])


def test_all_together_are_not_faster_than_each_times_their_number(claim):
    run = {"concurrency": 4, "decode_tokens_per_second_per_sequence": 50.0}
    assert codes(claim(**run, decode_tokens_per_second=190.0)) == []
    assert codes(claim(**run, decode_tokens_per_second=300.0)) == [
        ("decode_tokens_per_second", "contradicts_per_sequence")
    ]


def test_unknown_hardware_facts_bound_nothing(claim, catalog):
    """Where a card's bandwidth or peak is not known, nothing is refused because of it."""
    unknown = [gpu.id for gpu in catalog.gpus.values() if gpu.memory_bandwidth_gbs is None]
    for gpu in unknown:
        assert "exceeds_bandwidth" not in dict(map(reversed, codes(claim(gpu=gpu))))
