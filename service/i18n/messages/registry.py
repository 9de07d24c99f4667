"""Every code that has a sentence."""

from service.i18n.messages.notes import REASON_CODES, WARNING_CODES
from service.i18n.messages.parameters import PARAMETER_CODES
from service.i18n.messages.problems import PROBLEMS


def known_codes() -> frozenset[str]:
    """Problem types, parameter error codes, and codes of reasons and warnings."""
    return frozenset({*PROBLEMS, *PARAMETER_CODES, *REASON_CODES, *WARNING_CODES})
