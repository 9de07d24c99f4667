"""Sentences beside the codes of a document: reasons, warnings, and titles of a derivation's steps."""

from collections.abc import Mapping
from typing import Any

from service.core.notes import Note
from service.i18n.messages import note_text
from service.i18n.messages.step_titles import STEP_TITLES
from service.i18n.messages.steps import step_text
from service.i18n.voice import Voice


def with_messages(value: Any, speaker: Voice) -> Any:
    """The same data, a sentence beside each code that has parameters, wherever it stands."""
    if isinstance(value, Mapping):
        if value.keys() == {"code", "parameters"}:
            return {**value, "message": _message(value["code"], value["parameters"], speaker)}
        return {name: with_messages(item, speaker) for name, item in value.items()}
    if isinstance(value, list):
        return [with_messages(item, speaker) for item in value]
    return value


def _message(code: str, parameters: Mapping[str, object], speaker: Voice) -> str:
    """What a code says: the title of a derivation's step, else a reason or warning."""
    if code in STEP_TITLES:
        return step_text(speaker, code, parameters)
    return note_text(speaker, Note(code, parameters))
