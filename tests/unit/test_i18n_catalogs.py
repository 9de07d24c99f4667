"""The message catalogs are complete, and the check would notice if they were not."""

import re
import shutil
from pathlib import Path

import pytest

from service.i18n import LANGUAGES
from service.i18n.catalogs import check, update
from service.i18n.voices import TRANSLATIONS, catalog_path


def test_every_catalog_is_up_to_date_and_complete():
    assert check() == []


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    return Path(shutil.copytree(TRANSLATIONS, tmp_path / "translations"))


def replace(path: Path, pattern: str, replacement: str) -> None:
    text = path.read_text(encoding="utf-8")
    changed = re.sub(pattern, replacement, text, count=1)
    assert changed != text
    path.write_text(changed, encoding="utf-8")


def test_update_changes_nothing_when_nothing_changed(copied: Path):
    assert update(copied) == 0


@pytest.mark.parametrize(
    ("pattern", "replacement", "expected"),
    [
        (r'(msgid "Headroom"\nmsgstr) "[^"]+"', r'\1 ""', "Headroom.*not translated"),
        (r'(\n)(msgid "Headroom")', r"\1#, fuzzy\n\2", "Headroom.*not translated"),
        (r"%\(engine\)s läuft", "%(engin)s läuft", "placeholders"),
        (r'msgid "Headroom"', 'msgid "Headroom of yesterday"', "not up to date"),
        (r'msgstr\[1\] "Es sind[^"]+"', 'msgstr[1] ""', "not translated, or not in all 2"),
    ],
)
def test_the_check_notices(copied: Path, pattern: str, replacement: str, expected: str):
    """A missing, fuzzy, obsolete or half translated message, and a placeholder that is misspelt."""
    replace(catalog_path(LANGUAGES["de"], copied), pattern, replacement)
    assert re.search(expected, "\n".join(check(copied)))


@pytest.mark.parametrize("tag", LANGUAGES)
def test_catalogs_carry_no_dates_and_places(tag: str):
    """They change only when a message changes."""
    text = catalog_path(LANGUAGES[tag]).read_text(encoding="utf-8")
    assert "Creation-Date" not in text
    assert "\n#: " not in text


def test_chinese_stands_apart_from_latin_text():
    """A space between Chinese characters and Latin letters, digits or values; full-width punctuation."""
    text = catalog_path(LANGUAGES["zh"]).read_text(encoding="utf-8")
    translated = "\n".join(re.findall(r'msgstr(?:\[\d\])? ((?:"[^\n]*"\n)+)', text))
    assert re.findall(r"[\u4e00-\u9fff](?:[A-Za-z0-9]|%\()", translated) == []
    assert re.findall(r"(?:[A-Za-z0-9]|%\(\w+\)s)[\u4e00-\u9fff]", translated) == []
    assert re.findall(r"[\u4e00-\u9fff][,;:!?.]", translated) == []


def test_german_uses_its_own_quotes():
    text = catalog_path(LANGUAGES["de"]).read_text(encoding="utf-8")
    translated = "".join(re.findall(r'msgstr(?:\[\d\])? ((?:"[^\n]*"\n)+)', text))
    assert translated.count("„") == translated.count("“")
    assert "”" not in translated
