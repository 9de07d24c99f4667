"""Prices in euros and yuan: beside the US dollars, at the published rate of a named day, and said so."""

import re
from decimal import ROUND_HALF_EVEN, Decimal

import pytest

QUESTION = "model=llama-3.3-70b-instruct&gpu=h100-80gb-sxm&gpu_count=2"
# European Central Bank, reference rates of 30 October 2026: 1 EUR = 1.1172 USD = 7.4326 CNY.
USD_PER_EUR, CNY_PER_EUR = Decimal("1.1172"), Decimal("7.4326")
PER_USD = {
    "EUR": (1 / USD_PER_EUR).quantize(Decimal("0.000001")),
    "CNY": (CNY_PER_EUR / USD_PER_EUR).quantize(Decimal("0.000001")),
}
AGE_DAYS = 31  # from then to 30 November 2026, when prices were collected


def amounts(value, path=()):
    """Every field whose name holds a currency's code, by its path."""
    if isinstance(value, dict):
        for name, item in value.items():
            if {"usd", "eur", "cny"} & set(name.split("_")):
                yield (*path, name), item
            else:
                yield from amounts(item, (*path, name))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from amounts(item, (*path, place))


def converted(usd, code):
    if usd is None:
        return None
    if isinstance(usd, dict):
        return {name: converted(part, code) for name, part in usd.items()}
    exact = Decimal(str(usd)) * PER_USD[code]
    return float(exact.quantize(Decimal("0.0001" if exact < 1 else "0.01"), ROUND_HALF_EVEN))


@pytest.mark.parametrize("code", ["EUR", "CNY"])
@pytest.mark.parametrize("path", ["/v1/sizing", "/v1/costs", "/v1/plan", "/v1/fragments/cloud"])
def test_each_price_stands_in_both_currencies(client, path, code):
    """Beside every amount of US dollars stands the one that the rate gives; without `currency` none does."""
    plain = client.get(f"{path}?{QUESTION}").json
    answer = client.get(f"{path}?{QUESTION}&currency={code.lower()}").json
    for document in (plain, answer):
        document.pop("scenario", None)
    own = dict(amounts(plain))
    assert own
    assert all("usd" in place[-1] for place in own)
    both = dict(amounts(answer))
    assert {place: both.pop(place) for place in own} == own
    named = {
        (*place[:-1], "_".join(code.lower() if part == "usd" else part for part in place[-1].split("_")))
        for place in own
    }
    assert both.keys() - {(*place[:-1], "per_usd") for place in both} == named
    for place, usd in own.items():
        name = "_".join(code.lower() if part == "usd" else part for part in place[-1].split("_"))
        assert both[(*place[:-1], name)] == converted(usd, code)


@pytest.mark.parametrize("code", ["EUR", "CNY"])
def test_the_rate_is_named_with_its_day(client, code):
    """The rate, its day, how old it was when the prices were compiled, and where it was published."""
    found = client.get(f"/v1/costs?{QUESTION}&currency={code}&lang=en").json["currency"]
    assert found["code"] == code
    assert found["per_usd"] == float(PER_USD[code])
    assert (found["as_of"], found["age_days"], found["old"]) == ("2026-10-30", AGE_DAYS, True)
    assert "European Central Bank" in found["source"]
    assert "Oct 30, 2026" in found["message"]
    assert f"{AGE_DAYS} days old" in found["message"]
    sizing = client.get(f"/v1/sizing?{QUESTION}&currency={code}").json
    assert sizing["cost"]["currency"]["per_usd"] == found["per_usd"]
    assert sizing["scenario"]["currency"] == code


def test_dollars_are_the_default(client):
    """Without the parameter, and with USD, the answer is the same but for the scenario's own words."""
    plain = client.get(f"/v1/sizing?{QUESTION}").json
    assert plain["scenario"]["currency"] == "USD"
    assert "currency" not in plain["cost"]
    asked = client.get(f"/v1/sizing?{QUESTION}&currency=USD").json
    assert asked["cost"] == plain["cost"]


@pytest.mark.parametrize(
    ("lang", "code", "rate", "price"),
    [
        ("de", "EUR", "0,8951\u00a0€", r"\d,\d\d\u00a0€"),
        ("en", "CNY", "CN¥6.6529", r"CN¥\d+\.\d\d"),
        ("zh", "CNY", "¥6.6529", r"[^N]¥\d+\.\d\d"),
        ("zh", "EUR", "€0.8951", r"€\d+\.\d\d"),
    ],
)
def test_a_page_writes_money_as_the_language_does(client, lang, code, rate, price):
    """The table shows the converted amounts only, and one sentence names the rate."""
    text = client.get(
        f"/v1/fragments/cloud?{QUESTION}&currency={code}&lang={lang}", headers={"Accept": "text/html"}
    ).get_data(as_text=True)
    assert text.count(rate) == 1
    assert re.search(price, text)
    assert not re.search(r"US\$|(?<![N])\$|\d\s\$", text)


def test_a_report_and_a_posted_scenario_take_it_too(client):
    """The whole report, the page and a body."""
    for path in ("/v1/report", "/report"):
        text = client.get(f"{path}?{QUESTION}&currency=EUR&lang=de", headers={"Accept": "text/html"})
        assert "0,8951\u00a0€" in text.get_data(as_text=True)
    body = {"model": "llama-3.3-70b-instruct", "gpu": "h100-80gb-sxm", "gpu_count": 2, "currency": "EUR"}
    assert client.post("/v1/costs", json=body).json == client.get(f"/v1/costs?{QUESTION}&currency=EUR").json


def test_sections_without_prices_say_nothing_of_rates(client):
    """Memory is the same in every currency."""
    address = f"/v1/fragments/memory?{QUESTION}&lang=en"
    assert client.get(f"{address}&currency=EUR").json == client.get(address).json


def test_another_currency_is_refused(client):
    """Only what has a rate; the answer lists it."""
    answer = client.get(f"/v1/costs?{QUESTION}&currency=GBP")
    assert answer.status_code == 422
    (error,) = answer.json["errors"]
    assert (error["parameter"], error["code"]) == ("currency", "not_allowed")
    assert error["allowed"] == ["USD", "EUR", "CNY"]


def test_reasons_of_a_plan_name_prices_in_the_currency(client):
    """A price inside a sentence is converted as the field is."""
    plan = client.get("/v1/plan?model=qwen3-8b&currency=EUR&lang=en").json
    (cheapest,) = [
        (item, reason)
        for item in plan["items"]
        for reason in item["reasons"]
        if reason["code"] == "plan_cheapest_rent"
    ][:1]
    item, reason = cheapest
    assert reason["parameters"]["eur_per_hour"] == item["rent"]["eur_per_hour"]
    assert f"€{item['rent']['eur_per_hour']:.4f}".rstrip("0") in reason["message"]
