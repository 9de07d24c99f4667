"""The derivation of a sizing, as the answer writes it."""

from typing import Any

from service.core.sizing import Sizing
from service.i18n import Voice
from service.render.spoken import with_messages
from service.render.steps import steps


def traced(sizing: Sizing, voice: Voice) -> list[Any]:
    """Every step in order, its title in the language of the answer."""
    return [with_messages(step, voice) for step in steps(sizing)]
