"""The sentences of the service: one place that maps every code to what is said about it."""

from service.i18n.messages.notes import note_text
from service.i18n.messages.parameters import parameter_message
from service.i18n.messages.problems import problem_text
from service.i18n.messages.registry import known_codes

__all__ = ["known_codes", "note_text", "parameter_message", "problem_text"]
