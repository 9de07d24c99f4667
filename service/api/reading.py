"""Reading parameters from a query string or a JSON body: strict, and every fault at once."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from itertools import islice
from typing import Any

from flask import Request, g
from marshmallow import Schema, ValidationError

from service.api.fields import Fault, Parameter
from service.api.json_body import json_body
from service.errors import InvalidParameters, ParameterError
from service.i18n import negotiate

_LONGEST_NAME = 100  # of a misspelt name that a problem repeats
MOST_UNKNOWN = 100  # names that a problem lists; finding what each may have meant takes time


def read_query(schema: Schema, request: Request) -> dict[str, Any]:
    """The parameters of a query string.

    Raises InvalidParameters with every unknown, repeated, empty or wrong parameter.
    """
    typed: dict[str, Any] = {}
    errors: list[ParameterError] = []
    for name, values in request.args.lists():
        parameter = schema.fields.get(name)
        if not isinstance(parameter, Parameter):
            errors.append(_unknown(name, schema))
        elif len(values) > 1:
            errors.append(ParameterError(name, "repeated"))
        elif not values[0].strip():
            errors.append(ParameterError(name, "empty"))
        else:
            typed[name] = parameter.from_text(values[0])
    return _load(schema, typed, errors)


def read_body(schema: Schema, request: Request) -> dict[str, Any]:
    """The parameters of a JSON body; null means not given.

    Raises MalformedBody (not JSON), UnsupportedMediaType, InvalidParameters.
    """
    body = json_body(request)
    if not isinstance(body, dict):
        raise InvalidParameters(ParameterError("body", "not_an_object"))
    _speak(body.get("lang"))
    return checked(schema, body)


def checked(schema: Schema, given: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The values of a JSON object; null means not given. Errors name `prefix` + the field.

    Raises InvalidParameters.
    """
    strangers = islice((name for name in given if name not in schema.fields), MOST_UNKNOWN)
    errors = [_unknown(name, schema) for name in strangers]
    known = {n: value for n, value in given.items() if n in schema.fields and value is not None}
    try:
        return _load(schema, known, errors)
    except InvalidParameters as error:
        raise InvalidParameters(*(replace(e, parameter=prefix + e.parameter) for e in error.errors)) from None


def _speak(lang: object) -> None:
    """A `lang` in the body decides the language, also that of the problems with the rest of the body."""
    if isinstance(lang, str):
        try:
            g.language = negotiate(lang)
        except InvalidParameters:
            return  # reported with the other parameters


def _load(schema: Schema, typed: Mapping[str, Any], errors: list[ParameterError]) -> dict[str, Any]:
    loaded: dict[str, Any] = {}
    try:
        loaded = schema.load(typed)
    except ValidationError as error:
        errors += _parameter_errors(error)
    if errors:
        raise InvalidParameters(*errors)
    return loaded


def _parameter_errors(error: ValidationError) -> list[ParameterError]:
    messages = error.messages
    assert isinstance(messages, dict)  # a schema names the field of each fault
    return [
        ParameterError(name, fault.code, fault.allowed, fault.values)
        for name, faults in messages.items()
        for fault in faults
        if isinstance(fault, Fault)
    ]


def _unknown(name: str, schema: Schema) -> ParameterError:
    suggestions = closest(name, schema.fields)
    return ParameterError(
        name[:_LONGEST_NAME],
        "unknown_parameter",
        tuple(sorted(schema.fields)),
        {"suggestion": suggestions[0]} if suggestions else {},
    )


def closest(name: str, known: Iterable[str]) -> list[str]:
    """The known names that a misspelt one may have meant, closest first."""
    return get_close_matches(name.lower()[:_LONGEST_NAME], list(known), n=3)
