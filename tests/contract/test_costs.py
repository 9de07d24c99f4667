"""`/v1/costs`, the cost of a sizing, and the `cloud` section."""

import json

import pytest

KIMI = {"model": "kimi-k3.1-pro", "gpu": "h20-141gb", "quantization": "q4_k_m", "context_tokens": 8192}
RUNS = {"model": "llama-3.1-8b-instruct", "gpu": "h100-80gb-sxm", "gpu_count": 2, "engine": "vllm"}


def answered(client, path="/v1/costs", **parameters):
    answer = client.get(path, query_string=parameters)
    assert answer.status_code == 200, answer.get_data(as_text=True)
    return answer.json


@pytest.fixture(scope="module")
def kimi(app):
    return answered(app.test_client(), **KIMI)


def test_answer_has_its_parts(kimi):
    """The question, the fit of its own hardware, offers, exclusions, own hardware, versions."""
    assert list(kimi) == [
        "scenario",
        "fit",
        "as_of",
        "items",
        "total",
        "excluded",
        "own_hardware",
        "versions",
    ]
    assert kimi["as_of"] == "2026-11-30"
    assert kimi["total"] == len(kimi["items"])


def test_prices_of_a_public_page_at_365_twelfths_days(kimi):
    """8 x MI325X at 30.40 an hour are 3,698.67 a month of 4 hours a day, 22,192 around the clock."""
    (item,) = [item for item in kimi["items"] if item["provider"] == "DigitalOcean"]
    assert (item["gpu"], item["gpu_count"]) == ("instinct-mi325x-256gb", 8)
    assert item["usd_per_hour"] == 30.4
    assert item["usd_per_month"] == 3698.67
    assert item["usd_per_month_always_on"] == 22192
    assert item["verdict"] == "fits"
    assert item["needed_per_gpu"]["bytes"] <= item["usable_per_gpu"]["bytes"]
    assert (item["as_of"], item["age_days"], item["billing"]) == ("2026-11-05", 25, "per-second")


def test_hours_follow_the_question(client):
    """At 24 hours a day a month is 730 hours."""
    for item in answered(client, **KIMI, hours_per_day=24)["items"]:
        assert item["usd_per_month"] == item["usd_per_month_always_on"]


def test_hardware_that_no_one_rents_has_no_price(kimi):
    """No offer is known for an H20: no rent, no payback, and the reason in words."""
    own = kimi["own_hardware"]
    assert own["rent"] is None
    assert not own["asked"]
    notes = {note["code"]: note["message"] for note in own["notes"]}
    assert notes["no_offer_known"] == f"No rental offer is known for {own['gpu_count']} × H20 141GB HBM3e."
    assert own["electricity"]["power"]["gpu_watts"] == own["gpu_count"] * 400


def test_stale_and_doubtful_prices_say_so_every_time(kimi):
    for item in kimi["items"]:
        codes = {note["code"] for note in item["notes"]}
        assert ("price_stale" in codes) == ((item["age_days"] or 0) > 180)
        assert ("price_low_confidence" in codes) == (item["confidence"] == "low")
        assert all(note["message"] != note["code"] for note in item["notes"])


def test_exclusions_have_reasons_in_the_language(client):
    excluded = answered(client, **KIMI, lang="de")["excluded"]
    assert sum(len(item["offers"]) for item in excluded) > 100
    for item in excluded:
        assert item["reasons"]
        assert all(reason["message"] != reason["code"] for reason in item["reasons"])


def test_cost_of_a_sizing_is_null_unless_it_runs(client):
    """Rule: a configuration that does not fit gets no price."""
    assert answered(client, "/v1/sizing", **KIMI)["cost"] is None


def test_cost_of_a_sizing_names_its_offer(client):
    """Two H100 at 2.69 each, seen on 2026-11-09."""
    cost = answered(client, "/v1/sizing", **RUNS)["cost"]
    assert cost["usd_per_hour"] == 5.38
    assert (cost["offer"]["provider"], cost["offer"]["as_of"]) == ("RunPod", "2026-11-09")
    assert cost["usd_per_month_always_on"] == 3927.4  # 5.38 * 730
    assert cost["power_watts"] == cost["electricity"]["power"]["watts"] == 4026  # 1400 * 1.82 * 1.58
    assert cost["hours_per_day"] == 4
    assert cost["as_of"] == "2026-11-30"


def test_a_price_per_token_is_that_of_the_speed_beside_it(client):
    """usd_per_hour / (tokens per second * 3600) * 10^6; the low price comes from the high rate."""
    answer = answered(client, "/v1/sizing", **RUNS)
    cost, speed = answer["cost"], answer["speed"]
    tokens = cost["usd_per_million_output_tokens"]
    rate = speed["decode_tokens_per_second"]
    for price, tokens_per_second in (("low", "high"), ("estimate", "estimate"), ("high", "low")):
        expected = cost["usd_per_hour"] / 3600 / rate[tokens_per_second] * 1e6
        assert tokens[price] == pytest.approx(expected, rel=0.01)


def test_an_accelerator_without_offers_says_why_it_has_no_price(client):
    """An RTX 4080 Super runs 8B models, and no offer of it is known."""
    cost = answered(client, "/v1/sizing", model="qwen3-8b", gpu="rtx-4080-super")["cost"]
    assert cost["usd_per_hour"] is None
    assert cost["offer"] is None
    assert cost["usd_per_million_output_tokens"] is None
    assert "no_offer_known" in {note["code"] for note in cost["notes"]}
    assert cost["purchase"][0]["usd"] == {"low": 999, "high": 999}
    assert cost["purchase"][0]["break_even_months"] is None


def test_a_posted_accelerator_has_its_own_rent_and_price(client):
    """usd_per_hour and price_usd of gpu_spec: 2 * 1.5 an hour, 2 * 5,000 to buy."""
    spec = {
        "name": "Prototype",
        "memory_gib": 96,
        "memory_bandwidth_gbs": 1800,
        "fp16_tflops": 200,
        "tdp_watts": 300,
        "usd_per_hour": 1.5,
        "price_usd": 5000,
    }
    body = {"model": "qwen3-8b", "gpu_spec": spec, "gpu_count": 2}
    cost = client.post("/v1/sizing", json=body).json["cost"]
    assert cost["usd_per_hour"] == 3
    assert cost["offer"]["provider"] == "given"
    assert cost["purchase"][0]["usd"]["low"] == 10_000
    own = client.post("/v1/costs", json=body).json["own_hardware"]
    assert own["rent"]["usd_per_hour"] == 3


def test_money_is_decimal(kimi):
    """No amount has more digits than a hundredth of a cent: no binary rests."""

    def amounts(value, name=""):
        if isinstance(value, dict):
            for key, inner in value.items():
                yield from amounts(inner, f"{name}.{key}")
        elif isinstance(value, list):
            for inner in value:
                yield from amounts(inner, name)
        elif isinstance(value, float) and "usd" in name:
            yield name, value

    found = list(amounts(kimi))
    assert found
    for name, value in found:
        assert len(repr(value).partition(".")[2]) <= 4, (name, value)


def test_post_is_the_same_resource(client, kimi):
    answer = client.post("/v1/costs", json=KIMI)
    assert answer.status_code == 200
    assert answer.json["items"] == kimi["items"]


def test_wrong_parameters_are_refused(client):
    """A misspelt parameter, and a missing accelerator."""
    for wrong in ({**KIMI, "hours": 4}, {"model": "qwen3-8b"}):
        answer = client.get("/v1/costs", query_string=wrong)
        assert answer.status_code == 422
        assert answer.mimetype == "application/problem+json"


@pytest.mark.parametrize("lang", ["de", "zh", "en"])
def test_section_has_every_number_of_its_page(client, lang):
    """The section's rows are the best offer of each provider, and HTML says what JSON has."""
    data = answered(client, "/v1/fragments/cloud", **KIMI, lang=lang)
    providers = [row["provider"] for row in data["rows"]]
    assert len(providers) == len(set(providers))
    assert "DigitalOcean" in providers
    assert not set(providers) & set(data["without_offer"])
    page = client.get(
        "/v1/fragments/cloud", query_string={**KIMI, "lang": lang}, headers={"Accept": "text/html"}
    ).get_data(as_text=True)
    assert {"de": "3.698,67", "zh": "3,698.67", "en": "3,698.67"}[lang] in page
    assert "None" not in page


def test_section_of_what_runs_compares_like_with_like(client):
    """The paragraph prices, powers and rents the two GPUs that were asked for."""
    data = answered(client, "/v1/fragments/cloud", **RUNS)
    own = data["own_hardware"]
    assert own["asked"]
    assert own["gpu_count"] == 2
    assert own["purchase"][0]["usd"]["low"] == 60_000
    paragraph = " ".join(data["sentences"])
    assert "2 × H100 80GB SXM for $60,000.00" in paragraph
    assert "$5.38 per hour at RunPod" in paragraph
    assert json.dumps(data["sentences"]).count("%(") == 0


@pytest.mark.parametrize(
    ("spec", "hours", "outcome"),
    [
        ({"usd_per_hour": 1.0, "price_usd": 1000, "tdp_watts": 300}, 8, "months"),
        ({"usd_per_hour": 0.01, "price_usd": 1000, "tdp_watts": 300}, 8, "never"),
        ({"usd_per_hour": 1.0, "price_usd": 1000, "tdp_watts": 300}, 0, "never"),
        ({"usd_per_hour": 1.0, "price_usd": 1000}, 8, "unknown"),
        ({"price_usd": 1000, "tdp_watts": 300}, 8, "unknown"),
    ],
)
def test_never_is_not_said_of_what_is_not_known(client, spec, hours, outcome):
    """450 W at 0.25 $ are 0.1125 $ an hour: 1 $ of rent pays the card off, 0.01 $ never does."""
    card = {"name": "Own", "memory_gib": 48, "memory_bandwidth_gbs": 900, "fp16_tflops": 150, **spec}
    body = {"model": "qwen3-8b", "gpu_spec": card, "hours_per_day": hours}
    (bought,) = client.post("/v1/sizing", json=body).json["cost"]["purchase"]
    assert bought["break_even"] == outcome
    assert (bought["break_even_months"] is None) == (outcome != "months")
    said = client.post("/v1/fragments/cloud?lang=en", json=body, headers={"Accept": "text/html"}).get_data(
        as_text=True
    )
    assert ("never pays off" in said) == (outcome == "never")
