"""Which language an answer speaks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.errors import InvalidParameters
from service.i18n import LANGUAGES, content_language, negotiate


@pytest.mark.parametrize(
    ("lang", "expected"),
    [
        ("de", "de"),
        ("DE", "de"),
        ("de-AT", "de"),
        ("de_CH", "de"),
        ("zh", "zh"),
        ("zh-CN", "zh"),
        ("zh_CN", "zh"),
        ("zh-Hans", "zh"),
        ("zh-Hans-CN", "zh"),
        ("zh-SG", "zh"),
        ("zh-TW", "zh"),
        ("zh-Hant", "zh"),
        ("ZH-cn", "zh"),
        ("en", "en"),
        ("en-GB", "en"),
    ],
)
def test_lang_names_a_language_by_its_primary_subtag(lang: str, expected: str):
    assert negotiate(lang, None) == expected


@pytest.mark.parametrize(
    "lang",
    [
        "fr",
        "",
        " ",
        "de ",
        "d",
        "de;q=1",
        "de,en",
        "*",
        "zh-",
        "-de",
        "de--AT",
        "en.UTF-8",
        "deutsch",
        "日本",
    ],
)
def test_an_unknown_or_malformed_lang_lists_the_languages(lang: str):
    """The header never rescues a wrong parameter."""
    with pytest.raises(InvalidParameters) as caught:
        negotiate(lang, "de")
    (error,) = caught.value.errors
    assert (error.parameter, error.code) == ("lang", "not_allowed")
    assert set(error.allowed or ()) == {"de", "zh", "en"}


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, "en"),
        ("", "en"),
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("zh-CN", "zh"),
        ("zh-TW,en;q=0.5", "zh"),
        ("de-AT, de;q=0.9", "de"),
        ("DE-de", "de"),
        ("fr-FR, fr;q=0.9, de;q=0.3, en;q=0.2", "de"),
        ("en;q=0.1, de;q=0.9", "de"),
        ("de;q=0.5, zh;q=0.5", "de"),
        ("fr", "en"),
        ("*", "en"),
        ("de;q=0, *;q=0.5", "en"),
        ("en;q=0, *", "de"),
        ("en;q=0, de;q=0, *", "zh"),
        ("*;q=0.1, zh;q=0.9", "zh"),
        ("de;q=0", "en"),
        ("de;q=0, zh", "zh"),
        ("de-CH;q=0, de;q=0.4", "de"),
        ("de;q=abc, zh;q=0.1", "zh"),
        ("de;q=2, zh;q=0.1", "zh"),
        ("de;level=1, zh;q=0.1", "zh"),
        (";;;,,,=,q=1", "en"),
        ("de;q=1.000", "de"),
        ("de ; q=0.7 , zh ; q=0.8", "zh"),
        ("x" * 5000 + ",de", "en"),
    ],
)
def test_accept_language_is_read_with_its_qualities(header: str | None, expected: str):
    assert negotiate(None, header) == expected


def test_lang_beats_the_header():
    assert negotiate("zh-CN", "de") == "zh"


def test_content_language_says_which_chinese_it_is():
    assert {tag: content_language(tag) for tag in LANGUAGES} == {"de": "de", "zh": "zh-Hans", "en": "en"}
    assert {language.endonym for language in LANGUAGES.values()} == {"Deutsch", "中文", "English"}


@given(st.text(max_size=200) | st.from_regex(r"[a-z*]{1,3}(-[A-Z]{2})?(;q=[0-9.]{1,5})?(,.{0,20})?"))
def test_no_header_fails(header: str):
    assert negotiate(None, header) in LANGUAGES
