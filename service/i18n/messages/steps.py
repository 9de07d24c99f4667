"""The title of a derivation's step: what the number is, and in brackets what it is of."""

from collections.abc import Iterator, Mapping

from service.i18n.messages.prices import PRICE_KINDS
from service.i18n.messages.rate_titles import INTERVAL_ENDS, RATE_TITLES
from service.i18n.messages.sentence import say
from service.i18n.messages.step_titles import (
    GPU_GROUP,
    SIDES,
    SPLITS,
    STEP_TITLES,
    TENSOR_CLASSES,
    WITH_DETAIL,
)
from service.i18n.messages.terms import LAYER_KINDS, MEMORY_TERMS, PARAMETERS
from service.i18n.voice import Voice

# Parameter of a step -> names of its codes; codes without a name (formats, types) are shown as they are.
_DETAILS: Mapping[str, Mapping[str, str]] = {
    "layer_kind": LAYER_KINDS,
    "tensor_class": TENSOR_CLASSES,
    "encoding": {},
    "split": SPLITS,
    "side": SIDES,
    "cache_type": {},
    "end": INTERVAL_ENDS,
    "provider": {},
    "price_kind": PRICE_KINDS,
}
_SEPARATOR = " · "
_NAMED: Mapping[str, Mapping[str, str]] = {"parameter": PARAMETERS, "term": MEMORY_TERMS}


def step_text(voice: Voice, code: str, parameters: Mapping[str, object]) -> str:
    """The title of a step; a code without a title reads as the code itself."""
    msgid = STEP_TITLES.get(code) or RATE_TITLES.get(code)
    if msgid is None:
        return code
    if not parameters:  # as of most steps
        return say(voice, msgid, {})
    values = {name: _shown(voice, name, value) for name, value in parameters.items()}
    title = say(voice, msgid, values)
    detail = _SEPARATOR.join(_details(voice, parameters))
    return voice.text(WITH_DETAIL, what=title, detail=detail) if detail else title


def _shown(voice: Voice, name: str, value: object) -> object:
    """A value that a title names: the word for a parameter or a term, else as it is."""
    names = _NAMED.get(name)
    if names is None:
        return value
    msgid = names.get(str(value))
    return value if msgid is None else voice.text(msgid)


def _details(voice: Voice, parameters: Mapping[str, object]) -> Iterator[str]:
    for name, names in _DETAILS.items():
        value = parameters.get(name)
        if isinstance(value, str):
            msgid = names.get(value)
            yield value if msgid is None else voice.text(msgid)
    if isinstance(number := parameters.get("number"), int):
        yield voice.text(GPU_GROUP, number=voice.integer(number))
