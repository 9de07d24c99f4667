"""Parameter errors: the sentence of each code."""

from collections.abc import Mapping

from service.errors import ParameterError
from service.i18n.marking import mark
from service.i18n.messages.sentence import MOST_CHOICES, localized, say
from service.i18n.messages.submissions import SUBMISSION_CODES
from service.i18n.voice import Voice

PARAMETER_CODES: Mapping[str, str] = {
    "missing": mark("“%(parameter)s” is required."),
    "unknown_parameter": mark("There is no parameter “%(parameter)s”."),
    "repeated": mark("“%(parameter)s” may be given only once."),
    "conflict": mark("“%(parameter)s” cannot be combined with “%(other)s”."),
    "not_an_integer": mark("“%(parameter)s” must be a whole number."),
    "not_a_number": mark("“%(parameter)s” must be a number."),
    "not_a_boolean": mark("“%(parameter)s” must be true or false."),
    "not_a_string": mark("“%(parameter)s” must be a text."),
    "not_an_object": mark("“%(parameter)s” must be a JSON object."),
    "not_gguf": mark("“%(parameter)s” is not the beginning of a GGUF file of version 2 or 3."),
    "empty": mark("“%(parameter)s” must not be empty."),
    "too_long": mark("“%(parameter)s” may have at most %(maximum)s characters."),
    "too_many_items": mark("“%(parameter)s” may have at most %(maximum)s entries."),
    "too_many_values": mark("“%(parameter)s” may hold at most %(maximum)s values in all."),
    "too_deep": mark("“%(parameter)s” may be nested at most %(maximum)s levels deep."),
    "malformed": mark("“%(parameter)s” does not have the expected form."),
    "out_of_range": mark("“%(parameter)s” must be between %(minimum)s and %(maximum)s."),
    "not_allowed": mark("“%(parameter)s” does not have a permitted value."),
    "does_not_divide": mark("“%(parameter)s” must divide the model and the GPU count as the engine demands."),
    "layout_product": mark(
        "“%(parameter)s” does not fit the other degrees of parallelism: their product must be the GPU count "
        "(%(gpu_count)s)."
    ),
    "more_stages_than_layers": mark(
        "“%(parameter)s” asks for %(stages)s pipeline stages, but the model has only %(layers)s layers."
    ),
    "no_valid_layout": mark(
        "No combination of tensor and pipeline parallelism spreads this model over %(gpu_count)s GPUs."
    ),
    "not_supported_by_engine": mark(
        "%(engine)s has no setting like “%(parameter)s”, or not with this value."
    ),
    "format_not_supported": mark(
        "%(engine)s does not load weights in the format “%(format)s” of this model."
    ),
    "kv_dtype_not_supported": mark(
        "%(engine)s does not store its KV cache in the type given as “%(parameter)s”."
    ),
    "exceeds_context": mark(
        "Prompt and output must fit the context of %(context_tokens)s tokens; "
        "“%(parameter)s” may be at most %(maximum)s."
    ),
    "matrix_too_large": mark(
        "The matrix has %(cells)s cells; at most %(maximum)s are answered at once. Ask for it in parts: "
        "“%(parameter)s” with at most %(at_once)s entries each."
    ),
    "exceeds_limit": mark("“%(parameter)s” may be at most %(maximum)s."),
    **SUBMISSION_CODES,
}
_ALLOWED = mark("Permitted: %(allowed)s.")
_VALID = mark("Valid values: %(valid)s.")
_SUGGESTION = mark("Did you mean “%(suggestion)s”?")
# Codes whose `allowed` is a pair of limits, or whose sentence already names what is permitted.
_SAYS_ALL = frozenset(
    {"out_of_range", "exceeds_context", "exceeds_limit", "not_an_integer", "not_a_number", "not_a_boolean"}
    | {"unknown_name", "no_speed"}
)


def parameter_message(voice: Voice, error: ParameterError) -> str:
    """What is wrong with a parameter, and what would be right.

    An unregistered code reads as `not_allowed`, so that a new code never fails an answer.
    """
    message = PARAMETER_CODES.get(error.code, PARAMETER_CODES["not_allowed"])
    sentences = [say(voice, message, {**error.values, "parameter": error.parameter})]
    if suggestion := error.values.get("suggestion"):
        sentences.append(voice.text(_SUGGESTION, suggestion=suggestion))
    valid = error.values.get("valid")
    if isinstance(valid, list | tuple) and valid:
        sentences.append(voice.text(_VALID, valid=_choices(voice, tuple(valid))))
    elif error.allowed and error.code not in _SAYS_ALL and len(error.allowed) <= MOST_CHOICES:
        sentences.append(voice.text(_ALLOWED, allowed=_choices(voice, error.allowed)))
    return voice.paragraph(sentences)


def _choices(voice: Voice, values: tuple[object, ...]) -> str:
    return voice.choices([localized(voice, "", value) for value in values[:MOST_CHOICES]])
