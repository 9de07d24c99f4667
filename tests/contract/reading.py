"""Reads a report in any language: its figures as numbers, and what in it nobody has translated."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any
from xml.etree import ElementTree

from babel.messages.pofile import read_po

from service.i18n import LANGUAGES, voice
from service.i18n.voices import catalog_path
from tests.contract.test_fragments import numbers, strings

GIB = 2**30
# Ratios in percent; bytes in GiB; contexts in K and M; counts in thousands, 万, millions, 亿, billions.
SCALES = (1, 100, 1 / GIB, 1 / 1024, 1 / 2**20, 1e-3, 1e-4, 1e-6, 1e-8, 1e-9, 1e-12)
# A day, a month, two years, or two months; also that after which a build supports a model.
_DAY = re.compile(r"(?:builds after )?(\d{4}-\d\d(?:-\d{2}| – \d{4}-\d\d)?)")
_CODE = re.compile(r"[a-z]+(?:_[a-z0-9]+)+")
_DIGIT = re.compile(r"\d")
_NOTHING = r"(?!)"  # matches nowhere
_LONG_ENOUGH = 24  # characters of a sentence that no name has by chance


def pieces(html: str) -> list[str]:
    """The visible pieces of text, without what is code."""
    root = ElementTree.fromstring(html)
    for parent in root.iter():
        for child in parent:
            if child.tag == "code":
                child.text = None
    return [text for text in root.itertext() if text.strip()]


def numbers_not_in(answer: Any, texts: Iterable[str], tag: str) -> Iterator[str]:
    """Numbers of the texts, as the language writes them, that no number of the JSON gives when rounded."""
    exact = [
        *numbers(answer),
        *_lengths(answer),
        *(int(text) for text in strings(answer) if text.isdecimal()),
    ]
    known = sorted(abs(number * scale) for number in exact for scale in SCALES)
    told = [piece for piece in dict.fromkeys(texts) if _DIGIT.search(piece)]  # others have no number
    names = _names(answer, tag, "\n".join(told))
    group, decimal = (re.escape(mark) for mark in _marks(tag))
    written = re.compile(rf"\d(?:[\d{group}]*\d)?(?:{decimal}\d+)?")
    for piece in told:
        for text in written.findall(names.sub(" ", piece)):
            plain = text.replace(_marks(tag)[0], "").replace(_marks(tag)[1], ".")
            if not _near(known, float(plain), 0.5 * 10 ** -len(plain.partition(".")[2])):
                yield f"{text} in {piece!r}"


def _lengths(value: Any) -> Iterator[int]:
    """How many entries each list has; `3 fields are missing` counts them."""
    if isinstance(value, list):
        yield len(value)
    if isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _lengths(item)


def _near(known: list[float], value: float, tolerance: float) -> bool:
    slack = tolerance + 1e-9 + value * 1e-12
    place = bisect_left(known, value - slack)
    return place < len(known) and known[place] <= value + slack


def _names(answer: Any, tag: str, told: str) -> re.Pattern[str]:
    """Names, ids and dates of the JSON that are told; a string that is only a number is checked like one."""
    found = {text for text in strings(answer) if _DIGIT.search(text) and not text.isdigit()}
    found |= {voice(tag).period(day[1]) for day in map(_DAY.fullmatch, found) if day}
    found |= {line for text in found for line in text.splitlines()} | _constants(tag)
    lower = told.lower()
    found = {name for name in found if name.strip() and name.lower() in lower}  # a short pattern is fast
    either = "|".join(_whole(name) for name in sorted(found, key=len, reverse=True)) or _NOTHING
    return re.compile(either, re.IGNORECASE)


def _whole(name: str) -> str:
    """The name, never as a part of a number: the version `1.0` is not in 131.072."""
    before, after = r"(?<!\d)" if name[0].isdigit() else "", r"(?!\d)" if name[-1].isdigit() else ""
    return before + re.escape(name) + after


def _marks(tag: str) -> tuple[str, str]:
    symbols = LANGUAGES[tag].locale.number_symbols["latn"]
    return symbols["group"], symbols["decimal"]


@cache
def _constants(tag: str) -> set[str]:
    """Literal parts of messages that hold a number themselves, as the formula `2 x layers` does."""
    parts = {part for text in _said(tag) for part in re.split(r"%\(\w+\)s", text.replace("%%", "%"))}
    return {part for part in parts if re.search(r"\d", part) and len(part) > 3}


def leaks(written: str, tag: str) -> Iterator[str]:
    """Placeholders that were not filled, and English sentences in another language."""
    yield from re.findall(r"%\(\w+\)|\{[{%]|%%", written)
    for sentence in _sentences(tag):
        if sentence in written:
            yield sentence


@cache
def _sentences(tag: str) -> tuple[str, ...]:
    """The longest literal part of each English message that the language says otherwise."""
    said = "\n".join(_said(tag))
    found = set()
    for message in _messages(tag):
        for text in _texts(message.id):
            part = max(re.split(r"%\(\w+\)s", text), key=len)
            if len(part) >= _LONG_ENOUGH and part not in said:
                found.add(part)
    return tuple(found)


@cache
def _messages(tag: str) -> tuple[Any, ...]:
    with catalog_path(LANGUAGES[tag]).open("rb") as source:
        return tuple(message for message in read_po(source) if message.id)


@cache
def _said(tag: str) -> tuple[str, ...]:
    return tuple(text for message in _messages(tag) for text in _texts(message.string))


def _texts(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def codes(texts: Iterable[str], known: Iterable[str]) -> set[str]:
    """Pieces that are a code and no words, apart from known names: a name that nobody gave is shown so."""
    return {text.strip() for text in texts if _CODE.fullmatch(text.strip())} - set(known)


# Names that mean something else in each section; a model alone is asked about in several contexts.
_OWN = {
    "section", "language", "title", "available", "sentences", "warnings", "rows", "total", "shown", "fitting",
    "formats", "reasons", "comparable", "memory", "changes", "findings", "items", "gpu", "notes", "measured",
    "as_of",
}  # fmt: skip
_OWN_ALONE = _OWN | {"context_tokens", "engine", "quantization"}


def disagreements(sections: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Figures of the same name that differ between two sections, and what the derivation prints otherwise."""
    by_name = {section["section"]: section for section in sections}
    own = _OWN if "memory" in by_name else _OWN_ALONE
    said: dict[str, tuple[str, Any]] = {}
    for name, section in by_name.items():
        for key in section.keys() - own:
            first, value = said.setdefault(key, (name, section[key]))
            if not _agree(value, section[key]):
                yield f"{key}: {first} says {value}, {name} says {section[key]}"
    if "memory" in by_name:
        yield from _against_memory(by_name)


def _agree(left: Any, right: Any) -> bool:
    """Equal in what both say: a thing is named by its id, or with more or fewer of its facts."""
    if isinstance(left, dict) and isinstance(right, dict):
        return all(_agree(left[name], right[name]) for name in left.keys() & right.keys())
    ids = [value["id"] if isinstance(value, dict) and "id" in value else value for value in (left, right)]
    return bool(ids[0] == ids[1])


def _against_memory(by_name: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    memory, summary = by_name["memory"], by_name["summary"]
    whole = memory["memory"]
    if not _agree(summary["memory"], whole):
        yield "memory of summary and memory"
    verdict = summary["fit"]["verdict"]
    for name in ("context", "speed", "recommendations"):
        if by_name[name].get("verdict", verdict) != verdict:
            yield f"verdict of {name}"
    for name in ("quantizations", "context"):
        for row in by_name[name]["rows"]:
            if row["selected"] and (row["total"], row["verdict"]) != (whole["total"], verdict):
                yield f"selected row of {name}: {row}"
    figures = {**memory, **summary, **by_name["speed"]}
    steps = [step for topic in by_name["derivation"].get("topics", ()) for step in topic["steps"]]
    for path, value in [(path, step["value"]) for step in steps for path in step["prints"]]:
        printed = _printed(figures, path)
        if printed is not None and not _equal(value, printed):
            yield f"derivation of {path}: {value}, printed {printed}"


def _printed(document: Any, path: str) -> Any:
    for name in path.split("."):
        if not isinstance(document, dict) or name not in document:
            return None
        document = document[name]
    return document.get("bytes") if isinstance(document, dict) else document


def _equal(step: Any, printed: Any) -> bool:
    if isinstance(printed, float):  # rounded to four significant digits
        return abs(step - printed) <= abs(printed) * 1e-3 + 1e-4
    return bool(step == printed)
