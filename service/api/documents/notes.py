"""Reasons and warnings, as every answer writes them."""

from collections.abc import Sequence
from typing import Any

from service.core.sizing import Note
from service.i18n import Voice
from service.i18n.messages import note_text
from service.render import amounts


def told(given: Sequence[Note], voice: Voice) -> list[dict[str, Any]]:
    """Each note once: the code and its values for programs, the sentence for people."""
    return [
        {**entry, "message": note_text(voice, Note(entry["code"], entry["parameters"]))}
        for entry in amounts.notes(given)
    ]
