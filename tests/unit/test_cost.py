"""Costs from dated offers, with every expectation worked out from the price lists."""

from dataclasses import replace
from decimal import Decimal

import pytest

from service.catalog import Catalog, Offer
from service.core.cost.buy import months_to_break_even, purchases
from service.core.cost.compare import compare
from service.core.cost.elsewhere import fewest, on_hardware
from service.core.cost.estimate import cost, own_cost
from service.core.cost.money import decimal, hours_per_month, rounded
from service.core.cost.power import power
from service.core.cost.rent import Rental, rentals
from service.core.cost.tokens import usd_per_million
from service.core.evidence import Evidence
from service.core.request import Request
from service.core.resolve import resolve
from service.core.size import size
from service.core.sizing import Sizing, Verdict
from service.core.speed.result import Basis, Bound, Estimate, Speed

SPEED = Speed(
    decode=Estimate(60.0, 80.0, 100.0),
    decode_aggregate=Estimate(60.0, 80.0, 100.0),
    prefill=Estimate(2000.0, 4000.0, 5000.0),
    time_to_first_token_ms=None,
    bound=Bound.MEMORY,
    decode_basis=Basis("test", 1, Evidence.ESTIMATE),
    prefill_basis=None,
)


def sized(catalog: Catalog, model: str, gpu: str, **parameters: object) -> Sizing:
    request = Request(model=catalog.models[model], gpu=catalog.gpus[gpu], **parameters)
    return size(resolve(request))


def no_speed(_: Sizing) -> None:
    return None


def offer(**changes: object) -> Offer:
    facts = {
        "provider": "Example",
        "gpu": "h100-80gb-sxm",
        "count": 1,
        "usd_per_hour": 2.0,
        "commitment": "on-demand",
        "billing": "hourly",
        "confidence": "high",
        "source": "a price list",
        "as_of": "2026-11-01",
        "age_days": 29,
    }
    return Offer(**{**facts, **changes})


@pytest.fixture(scope="module")
def kimi(catalog: Catalog):
    """Kimi K3.1 Pro in Q4_K_M against every offer, asked with one H20 that does not hold it."""
    sizing = sized(catalog, "kimi-k3.1-pro", "h20-141gb", quantization="q4_k_m", context_tokens=8192)
    return sizing, compare(sizing, catalog.costs, catalog.gpus, no_speed)


@pytest.mark.parametrize(
    ("provider", "count", "hourly", "monthly", "always_on"),
    [
        # 30.40 * 4 * 365/12 = 3,698.67 and 30.40 * 730 = 22,192; 55.52 * 4 * 365/12 = 6,754.93.
        ("DigitalOcean", 8, "30.4", "3698.67", "22192"),
        ("RunPod", 8, "55.52", "6754.93", "40529.6"),
    ],
)
def test_a_month_has_365_twelfths_of_a_day(kimi, provider, count, hourly, monthly, always_on):
    """The two offers of a public price page of 2026-11-05, at 4 hours a day and around the clock."""
    rents = [
        found.rent
        for found in kimi[1].offered
        if found.rent.rental.offer.provider == provider and found.rent.usd_per_hour == Decimal(hourly)
    ]
    (rent,) = [rent for rent in rents if rent.rental.gpu_count == count]
    assert rounded(rent.usd_per_month) == Decimal(monthly)
    assert rent.usd_per_month_always_on == Decimal(always_on)


def test_every_offered_hardware_holds_its_part_per_gpu(kimi):
    """No pooled sum: 8 x 141 GB = 1,128 GB and 8 x 180 GB = 1,440 GB never hold 1,566 GiB of weights."""
    _, found = kimi
    assert found.offered
    for item in found.offered:
        plan = item.place.sizing.plan
        assert plan.fullest.total <= plan.usable_bytes
        assert item.place.gpu.id in {"b300-288gb", "instinct-mi325x-256gb"}


def test_every_offer_is_either_offered_or_excluded_with_a_reason(catalog: Catalog, kimi):
    _, found = kimi
    offered = [item.rent.rental.offer.id for item in found.offered]
    excluded = [offer.id for item in found.excluded for offer in item.offers]
    assert sorted([*offered, *excluded]) == sorted(o.id for o in catalog.offers)
    assert len(offered) + len(excluded) == 155
    assert all(item.reasons for item in found.excluded)


def test_offers_come_cheapest_first(kimi):
    prices = [item.rent.usd_per_hour for item in kimi[1].offered]
    assert prices == sorted(prices)


def test_a_price_per_gpu_is_taken_for_the_fewest_of_one_machine(catalog: Catalog, kimi):
    """B300 at 6.94: seven hold Q4_K_M of Kimi K3.1, 7 * 6.94 = 48.58 an hour; six do not."""
    sizing, found = kimi
    prices = {item.rent.usd_per_hour for item in found.offered if item.rent.rental.offer.per_gpu_linear}
    assert Decimal("48.58") in prices
    gpu = catalog.gpus["b300-288gb"]
    assert fewest(sizing.scenario, gpu).gpu_count == 7
    assert on_hardware(sizing.scenario, gpu, 6).verdict is Verdict.DOES_NOT_FIT


def test_a_card_outside_the_catalog_is_excluded_by_name(kimi):
    names = {
        note.parameters["gpu"]
        for item in kimi[1].excluded
        for note in item.reasons
        if note.code == "gpu_not_in_catalog"
    }
    assert {"A100 80GB PCIe", "H100 80GB PCIe"} <= names


def test_one_machine_is_the_most_that_a_price_per_gpu_is_taken_for(catalog: Catalog, kimi):
    """RTX 3090s are rented four to a machine; dozens would hold the model, no machine has them."""
    place = fewest(kimi[0].scenario, catalog.gpus["rtx-3090"])
    assert place.verdict is Verdict.DOES_NOT_FIT
    assert place.reasons[0].code == "exceeds_one_machine"


def test_hardware_that_does_not_run_has_no_cost(catalog: Catalog, kimi):
    """One H20 holds a tenth of it: no rent, no electricity, no price of tokens."""
    assert kimi[0].verdict is Verdict.DOES_NOT_FIT
    assert cost(kimi[0], catalog.costs, SPEED) is None


def test_the_own_hardware_is_the_smallest_number_that_runs_it(catalog: Catalog, kimi):
    """13 H20 in the place of one; none of the offers rents an H20, which is said."""
    own = kimi[1].own
    assert own is not None
    assert (own.gpu.id, own.gpu_count) == ("h20-141gb", kimi[0].limits.min_gpu_count)
    assert not kimi[1].own_count_given
    assert own.rent is None
    assert "no_offer_known" in {note.code for note in own.notes}


def test_a_cost_is_of_the_hardware_that_was_sized(catalog: Catalog):
    """Two H100 at RunPod's 2.69 of 2026-11-09 each: 5.38 an hour, and both are bought and powered."""
    sizing = sized(catalog, "llama-3.1-8b-instruct", "h100-80gb-sxm", gpu_count=2, engine="vllm")
    found = cost(sizing, catalog.costs, SPEED)
    assert found is not None
    assert found.rent is not None
    assert found.rent.usd_per_hour == Decimal("5.38")
    assert found.rent.rental.offer.provider == "RunPod"
    assert found.power is not None
    assert found.power.gpu_watts == 2 * 700
    (balance,) = found.balances
    assert balance.purchase.low == 2 * 30_000


def test_the_price_of_tokens_divides_the_price_by_the_rate_of_the_same_hardware(catalog: Catalog):
    """5.38 / (80 * 3600) * 10^6 = 18.68; the low rate of 60 makes 24.91, the high one of 100 makes 14.94."""
    sizing = sized(catalog, "llama-3.1-8b-instruct", "h100-80gb-sxm", gpu_count=2, engine="vllm")
    found = cost(sizing, catalog.costs, SPEED)
    assert found is not None
    assert found.rent is not None
    tokens = found.rent.output_tokens
    assert tokens is not None
    assert [rounded(x) for x in (tokens.low, tokens.estimate, tokens.high)] == [
        Decimal("14.94"),
        Decimal("18.68"),
        Decimal("24.91"),
    ]
    inputs = found.rent.input_tokens
    assert inputs is not None
    assert rounded(inputs.estimate) == Decimal("0.3736")


def test_a_price_page_once_divided_one_machine_by_another(catalog: Catalog):
    """30.40 an hour over 1 token/s are 8,444.44; over the 375.9 tokens/s of its own kind they are 22.46."""
    assert rounded(usd_per_million(Decimal("30.4"), Estimate(1, 1, 1)).estimate) == Decimal("8444.44")
    own = usd_per_million(Decimal("30.4"), Estimate(375.9, 375.9, 375.9))
    assert rounded(own.estimate) == Decimal("22.46")


def test_without_speed_there_is_no_price_of_tokens(catalog: Catalog):
    sizing = sized(catalog, "qwen3-8b", "rtx-4090")
    found = cost(sizing, catalog.costs, None)
    assert found is not None
    assert found.rent is not None
    assert found.rent.output_tokens is None
    assert "no_speed_no_token_price" in {note.code for note in found.notes}


def test_electricity_is_all_gpus_with_host_and_site(catalog: Catalog):
    """8 x H100: 5,600 W of GPUs, 0.82 W a watt for the host, PUE 1.58: 16,103 W; 4 h a day at 0.25."""
    drawn = power(catalog.gpus["h100-80gb-sxm"], 8, catalog.costs.power)
    assert drawn is not None
    assert (drawn.gpu_watts, drawn.host_watts) == (5600, 4592)
    assert drawn.watts == 16_103  # (5600 + 4592) * 1.58 = 16103.36
    assert rounded(drawn.usd(hours_per_month(4), 0.25)) == Decimal("489.80")  # 16.103 * 121.667 * 0.25


def test_a_desktop_has_a_host_and_no_data_center(catalog: Catalog):
    """Five RTX 4090 of 450 W stand in two machines of 150 W; a Mac's limit is that of the whole machine."""
    drawn = power(catalog.gpus["rtx-4090"], 5, catalog.costs.power)
    assert drawn is not None
    assert drawn.watts == 5 * 450 + 2 * 150
    mac = catalog.gpus["macbook-pro-m4-max-128gb"]
    machine = power(mac, 1, catalog.costs.power)
    assert machine is not None
    assert machine.watts == mac.tdp_watts


def test_an_unknown_power_limit_stays_unknown(catalog: Catalog):
    assert power(catalog.gpus["ascend-910c-128gb"], 1, catalog.costs.power) is None


def test_break_even_sets_rent_less_electricity_against_the_price():
    """12,000 / (1,200 - 200) = 12 months; where electricity costs as much as the rent: never."""
    assert months_to_break_even(Decimal(12_000), Decimal(1_200), Decimal(200)) == 12
    assert months_to_break_even(Decimal(12_000), Decimal(200), Decimal(200)) is None
    assert months_to_break_even(Decimal(12_000), Decimal(100), Decimal(200)) is None


def test_buying_is_compared_with_renting_the_same_number_of_the_same_gpu(catalog: Catalog):
    """Two H100: 60,000 against 5.38 * 121.667 = 654.57 of rent and 4,026 W * 121.667 h * 0.25 = 122.46."""
    sizing = sized(catalog, "llama-3.1-8b-instruct", "h100-80gb-sxm", gpu_count=2, engine="vllm")
    found = own_cost(sizing, catalog.costs, no_speed)
    assert found is not None
    months = found.balances[0].months
    assert months is not None
    assert float(months[0]) == pytest.approx(60_000 / (654.57 - 122.46), rel=1e-4)


def test_a_budget_stands_in_for_the_price(catalog: Catalog):
    """The caller's 20,000 is the only way of buying that is compared."""
    sizing = sized(
        catalog,
        "llama-3.1-8b-instruct",
        "h100-80gb-sxm",
        gpu_count=2,
        engine="vllm",
        hardware_budget_usd=20_000,
        hours_per_day=24,
    )
    found = cost(sizing, catalog.costs, None)
    assert found is not None
    (balance,) = found.balances
    assert (balance.purchase.kind, balance.purchase.low) == ("budget", Decimal(20_000))
    assert balance.months == balance.always_on  # 24 hours a day are around the clock


def test_no_hours_never_pay_off(catalog: Catalog):
    sizing = sized(catalog, "qwen3-8b", "rtx-4090", hours_per_day=0)
    found = cost(sizing, catalog.costs, None)
    assert found is not None
    assert {balance.months for balance in found.balances} == {None}
    assert None not in {balance.always_on for balance in found.balances}


def test_list_and_street_prices_are_told_apart(catalog: Catalog):
    """RTX 4090: 1,599 by the maker, 1,400 to 1,700 used in 2026-05; three of them cost three times that."""
    bought = purchases(catalog.gpus["rtx-4090"], 3, catalog.costs.prices["rtx-4090"], None)
    assert [(p.kind, p.low, p.high, p.used) for p in bought] == [
        ("list", 3 * 1599, 3 * 1599, False),
        ("street", 3 * 1400, 3 * 1700, True),
    ]


@pytest.mark.parametrize(
    ("changes", "codes"),
    [
        ({}, set()),
        ({"age_days": 180}, set()),
        ({"age_days": 181}, {"price_stale"}),
        ({"confidence": "low"}, {"price_low_confidence"}),
        ({"age_days": None, "as_of": None, "as_of_estimate": "about 2026-09 (undated)"}, {"price_undated"}),
        ({"commitment": "spot"}, {"price_spot"}),
        ({"commitment": "reserved"}, {"price_reserved"}),
    ],
)
def test_what_must_be_said_of_a_price(changes: dict[str, object], codes: set[str]):
    """Older than 180 days, undated, of low confidence, or bound to a condition."""
    assert {note.code for note in offer(**changes).notes()} == codes


def test_ages_are_counted_to_the_day_of_the_catalog(catalog: Catalog):
    """2026-11-05 was 25 days before 2026-11-30; undated prices have no age, and none lies in the future."""
    assert catalog.costs.as_of == "2026-11-30"
    ages = {o.as_of: o.age_days for o in catalog.offers}
    assert ages["2026-11-05"] == 25
    assert ages[None] is None
    assert all(age >= 0 for age in ages.values() if age is not None)


def test_every_stale_or_doubtful_price_of_the_catalog_says_so(catalog: Catalog):
    for found in catalog.offers:
        old = found.age_days is None or found.age_days > 180
        said = {note.code for note in found.notes()}
        assert bool(said & {"price_stale", "price_undated"}) == old, found.id
        assert ("price_low_confidence" in said) == (found.confidence == "low"), found.id


def test_a_current_price_is_preferred_to_a_cheaper_old_one(catalog: Catalog):
    gpu = catalog.gpus["h100-80gb-sxm"]
    offers = [
        offer(id="spot", usd_per_hour=0.5, commitment="spot"),
        offer(id="old", usd_per_hour=1.0, age_days=400),
        offer(id="current", usd_per_hour=2.0),
        offer(id="dear", usd_per_hour=3.0),
    ]
    assert [rental.offer.id for rental in rentals(gpu, 1, offers)] == ["current", "dear", "old", "spot"]


def test_only_whole_machines_are_joined(catalog: Catalog):
    """16 H100 are two machines of eight, or sixteen times a price per GPU, never sixteen of one."""
    gpu = catalog.gpus["h100-80gb-sxm"]
    offers = [
        offer(id="one"),
        offer(id="eight", count=8, usd_per_hour=20.0),
        offer(id="linear", per_gpu_linear=True, usd_per_hour=2.69),
    ]
    found = {rental.offer.id: rental for rental in rentals(gpu, 16, offers)}
    assert set(found) == {"eight", "linear"}
    assert found["eight"].usd_per_hour == 40
    assert found["linear"].usd_per_hour == Decimal("43.04")
    assert {rental.machines for rental in found.values()} == {2}
    assert all("several_machines" in {n.code for n in rental.notes()} for rental in found.values())


def test_a_rent_that_the_caller_gives_is_the_only_one(catalog: Catalog):
    """gpu_spec with usd_per_hour: offers of catalog cards say nothing about it."""
    gpu = replace(catalog.gpus["h100-80gb-sxm"], usd_per_hour=1.25)
    (rental,) = rentals(gpu, 4, catalog.offers)
    assert rental.usd_per_hour == 5
    assert rental.notes() == ()


def test_money_has_no_binary_rests():
    """0.1 + 0.2 is 0.3, and 2.69 taken 16 times is 43.04."""
    assert decimal(0.1) + decimal(0.2) == decimal(0.3)
    assert Rental(offer(usd_per_hour=2.69, per_gpu_linear=True), 16).usd_per_hour == decimal(43.04)
    assert float(rounded(Decimal("0.28") / 3)) == 0.0933


def test_the_end_of_a_division_decides_no_half():
    """1.671 * 4 * 365 / 12 is 203.305 exactly, half a cent, which goes to the even 203.30."""
    assert float(rounded(decimal(1.671) * hours_per_month(4))) == 203.3


def test_what_belongs_to_the_callers_machine_is_not_asked_of_a_rented_one(catalog: Catalog):
    """Layout, system RAM and platform stay behind; context, sequences, engine and format go along."""
    sizing = sized(
        catalog,
        "qwen3-32b",
        "rtx-4090",
        gpu_count=4,
        engine="vllm",
        quantization="bf16",
        tensor_parallel=4,
        platform="linux-desktop",
        system_memory_gib=16,
        context_tokens=4096,
        concurrent_sequences=2,
    )
    place = on_hardware(sizing.scenario, catalog.gpus["h200-141gb-sxm"], 1)
    assert place.runs
    assert place.sizing is not None
    moved = place.sizing.scenario
    assert (moved.layout.tensor, moved.system_memory_gib, moved.platform) == (1, None, "linux-server")
    assert (moved.context_tokens, moved.concurrent_sequences) == (4096, 2)
    assert (moved.engine, moved.quantization) == ("vllm", "bf16")


def test_hardware_without_the_engine_is_excluded(catalog: Catalog):
    """MLX runs on Macs only, whatever an H100 could hold."""
    sizing = sized(catalog, "qwen3-8b", "mac-studio-m3-ultra-512gb", engine="mlx")
    place = on_hardware(sizing.scenario, catalog.gpus["h100-80gb-sxm"], 1)
    assert place.verdict is Verdict.UNSUPPORTED
    assert [note.code for note in place.reasons] == ["engine_not_on_gpu"]
