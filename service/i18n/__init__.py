"""Languages: which one an answer speaks, and everything it says in it."""

from service.i18n.languages import DEFAULT, LANGUAGES, Language, content_language
from service.i18n.negotiation import negotiate
from service.i18n.voice import Voice
from service.i18n.voices import voice

__all__ = [
    "DEFAULT",
    "LANGUAGES",
    "Language",
    "Voice",
    "content_language",
    "negotiate",
    "voice",
]
