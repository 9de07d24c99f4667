"""How a message takes its values: raw values in, localized text out."""

from collections.abc import Mapping
from enum import Enum

from service.core.units import GIB
from service.i18n.marking import mark
from service.i18n.messages.terms import ENGINES, PARAMETERS, SEQUENCES
from service.i18n.voice import Voice

ABSENT = "–"  # a value that a code was emitted without; a missing word must not become a failed answer
# Names of values that the core counts in bytes, beside those that end in `_bytes`.
_BYTES = frozenset({"bytes", "needed", "weights", "usable", "missing", "available", "capacity"})
_BUILDS_AFTER = "builds after "
_BUILDS, _VERSION = mark("the builds after %(version)s"), mark("version %(version)s")
MOST_CHOICES = 12  # longer lists of allowed values stay in the answer's `allowed`


class _Values(dict[str, object]):
    def __missing__(self, name: str) -> str:
        return ABSENT


def say(voice: Voice, msgid: str, values: Mapping[str, object]) -> str:
    """The message with its values as the language writes them; a value's name tells its unit."""
    return voice.fill(msgid, _Values({name: localized(voice, name, value) for name, value in values.items()}))


def localized(voice: Voice, name: str, value: object) -> str:
    """One value as text: `*_bytes` and `*_gib` in GiB, `percent` in percent, `usd` as money, else by type."""
    if value is None:
        return ABSENT
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return _word(voice, name, value)
    if isinstance(value, int | float):
        return _number(voice, name, value)
    if isinstance(value, list | tuple | set | frozenset):
        if name == "fields":
            return voice.list([_field(voice, str(item)) for item in value])
        return voice.choices([localized(voice, "", item) for item in value])
    return str(value)


def _word(voice: Voice, name: str, value: str) -> str:
    if name in ("engine", "stand_in"):
        return ENGINES.get(value, value)
    if name == "since":
        return _since(voice, value)
    return voice.period(value) if name == "period" and value[:4].isdigit() else value


def _field(voice: Voice, name: str) -> str:
    """A parameter of the scenario by its name; a field of a file as it stands there."""
    return voice.text(PARAMETERS[name]) if name in PARAMETERS else name


def _since(voice: Voice, value: str) -> str:
    """The first version of an engine, by its number or a day, or that of another package by its name."""
    after = value.removeprefix(_BUILDS_AFTER)
    if after != value:
        return voice.text(_BUILDS, version=voice.period(after))
    return voice.text(_VERSION, version=value) if any(map(str.isdigit, value[:2])) else value


def _number(voice: Voice, name: str, value: int | float) -> str:
    if name in _BYTES or name.endswith("_bytes"):
        return voice.gib(int(value))
    if "usd" in name.split("_"):
        return voice.money(value)
    if name.endswith("_gib"):
        return voice.gib(int(value * GIB))
    if name.startswith("parameters_"):
        return voice.compact(int(value))
    if name == "utilization":
        return voice.percent(value, 1)
    if name == "concurrent_sequences":
        return voice.plural(*SEQUENCES, int(value))
    if name == "percent" or name.endswith("_percent"):
        return voice.percent(value / 100, 1 if 0 < value < 1 else 0)
    return voice.plain(value)
