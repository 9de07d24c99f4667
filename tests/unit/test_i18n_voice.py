"""Numbers, money and dates as each language writes them."""

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from service.core.cost.currency import ExchangeRate
from service.i18n import voice

NBSP = "\u00a0"
GIB = 2**30


@pytest.mark.parametrize(
    ("tag", "expected"),
    [("de", f"1.566,20{NBSP}GiB"), ("zh", "1,566.20 GiB"), ("en", "1,566.20 GiB")],
)
def test_memory_is_written_with_the_separators_of_the_language(tag: str, expected: str):
    assert voice(tag).gib(int(1566.2 * GIB)) == expected


@pytest.mark.parametrize(("tag", "expected"), [("de", f"30,40{NBSP}$"), ("zh", "US$30.40"), ("en", "$30.40")])
def test_money_is_in_us_dollars(tag: str, expected: str):
    assert voice(tag).money(30.4) == expected


# European Central Bank, 30 October 2026: 1.1172 US dollars and 7.4326 yuan for one euro.
EURO = ExchangeRate("EUR", Decimal("0.895095"), "2026-10-30", 31, "ecb", "European Central Bank")
YUAN = ExchangeRate("CNY", Decimal("6.652882"), "2026-10-30", 31, "ecb", "European Central Bank")


@pytest.mark.parametrize(
    ("tag", "rate", "expected"),
    [
        ("de", EURO, f"27,21{NBSP}€"),
        ("en", EURO, "€27.21"),
        ("zh", EURO, "€27.21"),
        ("de", YUAN, f"202,25{NBSP}CN¥"),
        ("en", YUAN, "CN¥202.25"),
        ("zh", YUAN, "¥202.25"),
    ],
)
def test_money_in_another_currency_is_converted_and_written_by_cldr(tag, rate, expected):
    """30.40 * 0.895095 = 27.210888 and 30.40 * 6.652882 = 202.2476, rounded to the cent."""
    assert voice(tag, rate).money(30.4) == expected
    assert voice(tag).money(30.4) != expected


def test_small_amounts_keep_four_decimals_in_every_currency():
    """0.18 * 0.895095 = 0.1611; what is below one unit of the currency is shown as finely as it is known."""
    assert voice("en", EURO).money(0.18) == "€0.1611"
    assert voice("en", YUAN).money(0.18) == "CN¥1.20"
    assert voice("en").money(0.18) == "$0.18"


def test_a_rate_is_old_after_a_week():
    """Seven days older than the prices is not old yet, eight are."""
    assert not replace(EURO, age_days=7).old
    assert replace(EURO, age_days=8).old


@pytest.mark.parametrize(
    ("tag", "expected"), [("de", f"1.174,1{NBSP}%"), ("zh", "1,174.1%"), ("en", "1,174.1%")]
)
def test_percent_takes_a_ratio(tag: str, expected: str):
    assert voice(tag).percent(11.741, 1) == expected


@pytest.mark.parametrize(
    ("tag", "expected"), [("de", f"2,78{NBSP}Bio."), ("zh", "2.78万亿"), ("en", "2.78T")]
)
def test_large_counts_are_short(tag: str, expected: str):
    """A German Billion is 10^12, a 万亿 likewise."""
    assert voice(tag).compact(2_779_483_135_584) == expected


@pytest.mark.parametrize(
    ("tag", "expected"), [("de", "05.11.2026"), ("zh", "2026年11月5日"), ("en", "Nov 5, 2026")]
)
def test_dates_are_short(tag: str, expected: str):
    assert voice(tag).date(date(2026, 11, 5)) == expected


@pytest.mark.parametrize(
    ("tag", "expected"), [("de", "a, b oder c"), ("zh", "a、b 或 c"), ("en", "a, b, or c")]
)
def test_choices_are_joined_by_the_languages_or(tag: str, expected: str):
    assert voice(tag).choices(["a", "b", "c"]) == expected


def test_chinese_words_have_no_space_between_them():
    """A space stands beside Latin text and digits only, also where a value ends in Chinese."""
    assert voice("zh").list(["权重", "缓存", "b"]) == "权重、缓存和 b"
    assert voice("zh").text("License: %(license)s.", license="自定义") == "许可证：自定义。"
    asked = "No offer to rent %(gpu)s is among those collected up to %(day)s."
    said = voice("zh").text(asked, gpu="RTX 4090", day="2026年11月5日")
    assert said == "截至 2026年11月5日收集的报价中没有 RTX 4090 的租用报价。"


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (4096, "4K"),
        (8192, "8K"),
        (131_072, "128K"),
        (2**20, "1M"),
        (10 * 2**20, "10M"),
        (1000, "1,000"),
        (1, "1"),
    ],
)
def test_a_context_has_its_usual_name(count: int, expected: str):
    assert voice("en").tokens(count) == expected


def test_negative_headroom_keeps_its_sign():
    assert voice("de").gib(-GIB * 3 // 2) == f"-1,50{NBSP}GiB"


def test_plural_follows_the_grammar_of_the_language():
    """German and English tell one from many, Chinese does not."""
    forms = ("This does not fit on one %(gpu)s.", "This does not fit on %(n)s × %(gpu)s.")
    assert voice("en").plural(*forms, 1, gpu="X") == "This does not fit on one X."
    assert voice("en").plural(*forms, 1200, gpu="X") == "This does not fit on 1,200 × X."
    assert voice("de").plural(*forms, 2, gpu="X") == f"Das passt nicht auf 2{NBSP}×{NBSP}X."
    assert voice("zh").plural(*forms, 1, gpu="X") == "1 × X 装不下。"


def test_sentences_are_joined_as_the_language_does():
    assert voice("de").paragraph(["Eins.", "", "Zwei."]) == "Eins. Zwei."
    assert voice("zh").paragraph(["一。", "二。"]) == "一。二。"


def test_a_value_that_looks_like_a_placeholder_is_only_text():
    said = voice("en").text("%(model)s has %(total)s parameters.", model="%(total)s 100%", total="5")
    assert said == "%(total)s 100% has 5 parameters."


def test_a_voice_is_built_once():
    assert voice("de") is voice("de")
