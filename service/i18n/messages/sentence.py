"""How a message takes its values: raw values in, localized text out."""

from collections.abc import Mapping
from enum import Enum

from service.core.units import GIB
from service.i18n.messages.terms import ENGINES
from service.i18n.voice import Voice

ABSENT = "–"  # a value that a code was emitted without; a missing word must not become a failed answer
# Names of values that the core counts in bytes, beside those that end in `_bytes`.
_BYTES = frozenset({"bytes", "needed", "weights", "usable", "missing", "available", "capacity"})
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
        return ENGINES.get(value, value) if name in ("engine", "stand_in") else value
    if isinstance(value, int | float):
        return _number(voice, name, value)
    if isinstance(value, list | tuple | set | frozenset):
        if name == "fields":
            return voice.list([str(item) for item in value])
        return voice.choices([localized(voice, "", item) for item in value])
    return str(value)


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
    if name == "percent" or name.endswith("_percent"):
        return voice.percent(value / 100)
    return voice.plain(value)
