"""Sentences beside the codes of a document: reasons, warnings, and titles of a derivation's steps."""

from collections.abc import Mapping
from types import NoneType
from typing import Any

from service.core.notes import Note
from service.i18n.messages import note_text
from service.i18n.messages.rate_titles import RATE_TITLES
from service.i18n.messages.step_titles import STEP_TITLES
from service.i18n.messages.steps import step_text
from service.i18n.voice import Voice

# Most of a document, and nothing below it: a look at these alone keeps the walk short.
_PLAIN = (str, int, float, NoneType)


def with_messages(value: Any, speaker: Voice) -> Any:
    """The same data, a sentence beside each code that has parameters, wherever it stands."""
    if isinstance(value, dict | Mapping):  # nearly always a dict, which is soon seen
        if len(value) == 2 and value.keys() == {"code", "parameters"}:
            return {**value, "message": _message(value["code"], value["parameters"], speaker)}
        return {
            name: item if isinstance(item, _PLAIN) else with_messages(item, speaker)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [item if isinstance(item, _PLAIN) else with_messages(item, speaker) for item in value]
    return value


def _message(code: str, parameters: Mapping[str, object], speaker: Voice) -> str:
    """What a code says: the title of a derivation's step, else a reason or warning."""
    if code in STEP_TITLES or code in RATE_TITLES:
        return step_text(speaker, code, parameters)
    return note_text(speaker, Note(code, parameters))
