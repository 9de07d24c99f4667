"""Planning: the order of formats, the search on one accelerator, and the ranking, on hand-made facts."""

from dataclasses import replace
from decimal import Decimal
from itertools import pairwise

import pytest

from service.catalog import Catalog
from service.core.catalogued import Support
from service.core.cost.buy import Purchase
from service.core.cost.facts import Offer
from service.core.cost.rent import Rental
from service.core.engines import ENGINES
from service.core.evidence import Evidence
from service.core.hardware import EngineOnGpu, GpuKind
from service.core.planning.formats import ladder, least_bytes, nominal_bits
from service.core.planning.highlights import highlights
from service.core.planning.plan import plan_hardware, plan_models
from service.core.planning.prices import is_old
from service.core.planning.question import Demands, Facts, Option, Question
from service.core.planning.rank import front, places_of_hardware
from service.core.planning.search import search
from service.core.speed.estimate import estimate
from service.core.speed.result import Basis, Bound, Estimate, Speed
from service.core.weights.weigh import weigh
from service.errors import InvalidParameters
from tests.unit.factories import make_gpu, make_scenario, make_sizing


def speed(rate: float) -> Speed:
    one = Estimate(rate / 2, rate, rate * 2)
    basis = Basis("test", 1, Evidence.ESTIMATE)
    return Speed(one, one, None, None, Bound.MEMORY, basis, None)


def option(name: str, rate: float | None, rent: float | None, price: int | None, fmt: str = "q8_0") -> Option:
    """One accelerator of its own kind, with the marks that ranking looks at."""
    gpu = make_gpu(id=name, name=name)
    sizing = make_sizing(scenario=make_scenario(gpu=gpu, quantization=fmt))
    offer = None if rent is None else Rental(_offer(name, rent), 1)
    bought = None if price is None else Purchase("list", Decimal(price), Decimal(price))
    return Option(sizing, None if rate is None else speed(rate), offer, bought)


def _offer(gpu: str, price: float, age: int = 10) -> Offer:
    return Offer(
        "Example", gpu, 1, price, "on-demand", "hourly", "high", "a list", "2026-11-20", id=gpu, age_days=age
    )


def names(places) -> list[str]:
    return [place.option.gpu.id for place in places]


def codes(places, name: str) -> set[str]:
    (place,) = [place for place in places if place.option.gpu.id == name]
    return {reason.code for reason in place.reasons}


@pytest.fixture(scope="module")
def facts(catalog: Catalog) -> Facts:
    return Facts(catalog.costs, lambda sizing: estimate(sizing, catalog.speed))


BITS = {
    16: ("native", "bf16"),
    8: ("q8_0", "fp8", "mlx-8bit"),
    6: ("q6_k",),
    4: ("q4_k_m", "awq-int4", "mxfp4", "iq4_xs"),
    3: ("ud-q3_k_xl",),
    1: ("iq1_m",),
}


@pytest.mark.parametrize(("name", "bits"), [(name, bits) for bits, row in BITS.items() for name in row])
def test_a_format_has_the_bits_of_its_name(name: str, bits: int):
    assert nominal_bits(name) == bits


def test_formats_that_only_repeat_the_checkpoint_are_not_tried(catalog: Catalog):
    """gpt-oss is published in MXFP4: Q8_0 would be larger and no better; a bf16 model has every step."""
    llama_cpp = ENGINES["llama.cpp"]
    published_in_four = catalog.models["gpt-oss-20b"].architecture
    assert ladder(llama_cpp, published_in_four) == ("native", "q3_k_m", "q2_k")
    assert ladder(llama_cpp, catalog.models["qwen3-8b"].architecture)[:3] == ("native", "q8_0", "q6_k")


@pytest.mark.parametrize("name", ["q8_0", "q6_k", "q5_k_m", "q4_k_m", "iq4_xs", "q3_k_m", "q2_k", "fp8"])
def test_least_bytes_never_exceed_the_weights(catalog: Catalog, name: str):
    """What the search rules out unseen could really not be held: a bound below the tensor bytes."""
    for model in catalog.models.values():
        assert least_bytes(model, name) <= weigh(model, name).total_bytes, model.id


def test_only_what_nothing_beats_is_on_the_front():
    """b is dearer, slower and of fewer bits than a; c is the fastest; d has no price to be compared by."""
    a, b = option("a", 50, 1.0, None), option("b", 40, 2.0, None, "q4_k_m")
    c, d = option("c", 90, 3.0, None), option("d", 45, None, 500)
    assert names_of(front([a, b, c, d])) == ["a", "c", "d"]


def names_of(options) -> list[str]:
    return [found.gpu.id for found in options]


def test_a_price_of_one_kind_does_not_beat_a_price_of_the_other():
    """A cheap card to buy says nothing to those who rent."""
    rented, bought = option("rented", 20, 0.5, 9000), option("bought", 30, None, 400)
    assert len(front([rented, bought])) == 2


def test_fewer_of_the_same_gpu_beat_more_without_a_price():
    one = option("same", 20, None, None)
    scenario = replace(one.sizing.scenario, gpu_count=2)
    two = replace(one, sizing=replace(one.sizing, scenario=scenario))
    assert front([two, one]) == [one]


def test_places_go_by_format_front_price_and_speed():
    """Cheap first among those that nothing beats; few bits and unknown speeds last; each says why."""
    found = [
        option("slow-and-dear", 10, 4.0, None),
        option("fast", 80, 2.0, None),
        option("cheap", 20, 1.0, None),
        option("two-bit", 200, 0.1, None, "q2_k"),
        option("unknown", None, 0.2, None),
        option("to-buy", 15, None, 700),
    ]
    places = places_of_hardware(found)
    assert names(places) == ["cheap", "fast", "to-buy", "slow-and-dear", "two-bit", "unknown"]
    assert {"plan_ahead_price", "plan_unbeaten"} <= codes(places, "cheap")
    assert "plan_ahead_price_known" in codes(places, "fast")
    assert {"plan_ahead_unbeaten", "plan_cheapest_purchase"} <= codes(places, "to-buy")
    assert "plan_beaten" in codes(places, "slow-and-dear")
    assert {"plan_few_bits", "plan_fastest"} <= codes(places, "two-bit")
    assert "plan_last_without_speed" in codes(places, "unknown")


def test_an_old_price_stands_behind_a_current_one():
    """Half a year is 180 days."""
    old = replace(option("old", 50, 0.1, None), rental=Rental(_offer("old", 0.1, age=181), 1))
    current = option("current", 60, 1.0, None)
    places = places_of_hardware([old, current])
    assert names(places) == ["current", "old"]
    assert "plan_cheapest_rent" in codes(places, "current")


def test_highlights_name_the_best_of_each_kind(facts: Facts):
    """400 USD for 20 tokens/s are 20 USD a token/s, 900 for 60 are 15; bits come before speed alone."""
    known = facts.costs
    prices = {"a": known.prices["rtx-3060-12gb"], "b": known.prices["rtx-3060-12gb"]}
    own = Facts(replace(known, prices=prices), facts.speed_of)
    unified = option("u", 5, None, None)
    gpu = replace(unified.gpu, kind=GpuKind.UNIFIED)
    scenario = replace(unified.sizing.scenario, gpu=gpu)
    unified = replace(unified, sizing=replace(unified.sizing, scenario=scenario))
    a, b = option("a", 20, 1.0, 329), option("b", 60, 3.0, 329, "q4_k_m")
    found = highlights([a, b, unified], own)
    assert found.single is a  # eight bits before four
    assert found.unified is unified
    assert found.cloud is a
    assert found.value is not None
    assert found.value.option is b  # 329 / 60 tokens/s, against 329 / 20
    assert found.value.usd_per_token_rate == Decimal(329) / 60
    assert found.value_used is None
    assert set(found.smallest) == {a.gpu.kind, GpuKind.UNIFIED}


def trusted(name: str, rate: float, *, indicative: bool = False, status: str = "yes", port: bool = False):
    """An option: its speed with or without benchmarks, its engine known to run or not."""
    found = option(name, rate, None, None)
    scenario = found.sizing.scenario
    gpu = replace(scenario.gpu, engines=(EngineOnGpu(scenario.engine, scenario.backend, port=port),))
    model = replace(scenario.model, support={scenario.engine: Support(status)})
    sizing = replace(found.sizing, scenario=replace(scenario, gpu=gpu, model=model))
    assert isinstance(found.speed, Speed)
    basis = replace(found.speed.decode_basis, indicative=indicative)
    return replace(found, sizing=sizing, speed=replace(found.speed, decode_basis=basis))


@pytest.mark.parametrize(
    "doubt", [{"indicative": True}, {"status": "unknown"}, {"port": True}], ids=["speed", "model", "port"]
)
def test_a_value_rests_on_what_is_known_before_what_is_not(facts: Facts, doubt: dict[str, object]):
    """A doubtful option of the same price is chosen only alone, however fast it is said to be."""
    known = facts.costs
    price = known.prices["rtx-3060-12gb"]
    own = Facts(replace(known, prices={"sure": price, "doubtful": price}), facts.speed_of)
    sure, doubtful = trusted("sure", 20), trusted("doubtful", 90, **doubt)  # type: ignore[arg-type]
    both = highlights([doubtful, sure], own).value
    assert both is not None
    assert both.option is sure
    assert both.notes == ()
    alone = highlights([doubtful], own).value
    assert alone is not None
    assert alone.option is doubtful
    assert {note.code for note in alone.notes} == (
        {"plan_value_indicative"} if "indicative" in doubt else set()
    )


def test_every_pick_prefers_an_engine_that_is_known_to_run_there(facts: Facts):
    """A port is faster and cheaper here, and still stands behind; without another it is picked."""
    port, sure = trusted("port", 90, port=True), trusted("sure", 20)
    for found in (highlights([port, sure], facts), highlights([sure, port], facts)):
        assert found.single is sure
        assert list(found.smallest.values()) == [sure]
    assert highlights([port], facts).single is port
    unknown = trusted("unknown", 20, status="unknown")
    assert highlights([port, unknown], facts).single is unknown


def test_ports_of_the_catalog(catalog: Catalog):
    """vLLM runs on the MI50 as a community fork, on the MI300X by its own releases."""
    assert catalog.gpus["instinct-mi50-32gb"].port("vllm", "rocm") is not None
    assert catalog.gpus["instinct-mi50-32gb"].port("llama.cpp", "rocm") is None
    assert catalog.gpus["instinct-mi300x-192gb"].port("vllm", "rocm") is None


def test_a_card_that_does_not_exist_is_left_out(catalog: Catalog, facts: Facts):
    options, left = search(
        catalog.models["qwen3-8b"], catalog.gpus["mac-studio-m4-ultra-256gb"], Question(), facts
    )
    assert options == []
    assert left is not None
    assert left.reason.code == "gpu_does_not_exist"


def test_an_engine_that_does_not_run_there_is_said(catalog: Catalog, facts: Facts):
    question = Question(engine="mlx")
    _, left = search(catalog.models["qwen3-8b"], catalog.gpus["rtx-4090"], question, facts)
    assert left is not None
    assert left.reason.code == "engine_not_on_gpu"


def test_more_gpus_are_only_listed_for_a_better_format(catalog: Catalog, facts: Facts):
    """On one engine each further number of the same GPU gains at least two bits."""
    model, gpu = catalog.models["llama-3.3-70b-instruct"], catalog.gpus["l4-24gb"]
    found, _ = search(model, gpu, Question(engine="llama.cpp"), facts)
    counts = [o.sizing.scenario.gpu_count for o in found]
    bits = [o.bits for o in found]
    assert len(found) >= 2
    assert counts == sorted(set(counts))
    assert all(later - sooner >= 2 for sooner, later in pairwise(bits))


@pytest.mark.parametrize(
    ("demands", "code"),
    [
        (Demands(max_usd_per_hour=0.01), "plan_too_dear"),
        (Demands(min_decode_tokens_per_second=10_000), "plan_too_slow"),
        (Demands(max_ttft_ms=0.1), "plan_first_token_late"),
    ],
)
def test_what_misses_a_demand_is_left_out_with_the_reason(
    catalog: Catalog, facts: Facts, demands: Demands, code: str
):
    question = Question(engine="llama.cpp", demands=demands)
    plan = plan_hardware(catalog.models["qwen3-8b"], [catalog.gpus["rtx-4090"]], question, facts)
    assert plan.places == ()
    assert [left.reason.code for left in plan.excluded] == [code]


def test_demands_hold_for_every_place(catalog: Catalog, facts: Facts):
    demands = Demands(max_usd_per_hour=2.0, min_decode_tokens_per_second=60.0, max_ttft_ms=3000.0)
    plan = plan_hardware(catalog.models["qwen3-8b"], catalog.gpus.values(), Question(demands=demands), facts)
    assert plan.places
    for place in plan.places:
        found = place.option
        assert found.rental is not None
        assert found.rental.usd_per_hour <= 2
        assert isinstance(found.speed, Speed)
        assert found.speed.decode.estimate >= 60
        first = found.speed.time_to_first_token_ms
        assert first is not None
        assert first.estimate <= 3000


def test_every_model_is_a_place_or_has_a_reason(catalog: Catalog, facts: Facts):
    """A 671B model does not run on 24 GB, an 8B one does; nothing is lost on the way."""
    plan = plan_models(catalog.gpus["rtx-4090"], catalog.models.values(), Question(), facts)
    placed = [place.option.sizing.scenario.model.id for place in plan.places]
    left = [entry.model.id for entry in plan.excluded if entry.model is not None]
    assert sorted([*placed, *left]) == sorted(catalog.models)
    assert "qwen3-8b" in placed
    assert "deepseek-r1-0528-671b" in left


def test_parameters_that_no_engine_takes_are_an_error(catalog: Catalog, facts: Facts):
    for wrong in ({"kv_cache_dtype": "none"}, {"prompt_tokens": 9000}):
        with pytest.raises(InvalidParameters):
            plan_hardware(catalog.models["qwen3-8b"], catalog.gpus.values(), Question(values=wrong), facts)


@pytest.mark.parametrize(
    ("as_of", "old"),
    [
        ("2026-05", False),
        ("2026-04", True),
        ("2026", False),
        ("2025", True),
        ("2023-24", True),
        (None, False),
    ],
)
def test_a_purchase_price_is_old_after_half_a_year(as_of: str | None, old: bool):
    """Six months before November 2026 is May; a year counts from its December, a list price has no date."""
    price = Purchase("street", Decimal(1), Decimal(1), as_of=as_of)
    assert is_old(price, "2026-11-30") is old


def test_an_old_purchase_price_is_shown_but_not_compared():
    old = replace(option("old", 30, None, 100), purchase_old=True)
    new = option("new", 40, None, 900)
    places = places_of_hardware([old, new])
    assert names(places) == ["new", "old"]
    assert "plan_cheapest_purchase" in codes(places, "new")
