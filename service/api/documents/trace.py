"""A derivation, as the answer writes it."""

from collections.abc import Iterable, Mapping
from typing import Any

from service.i18n import Voice
from service.render.spoken import with_messages


def traced(entries: Iterable[Mapping[str, Any]], voice: Voice) -> list[Any]:
    """The steps in order, each title in the language of the answer."""
    return [with_messages(step, voice) for step in entries]
