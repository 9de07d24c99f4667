"""Every code that the service emits has a sentence in every language."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import service
from service.core.architecture.model import LayerKind
from service.core.evidence import Evidence
from service.core.hardware import Platform
from service.core.request import PARAMETERS
from service.core.sizing import Memory, Note, Verdict
from service.errors import ParameterError
from service.i18n import LANGUAGES, voice
from service.i18n.messages import known_codes, note_text, parameter_message, problem_text, terms
from service.i18n.messages.notes import REASON_CODES, WARNING_CODES
from service.i18n.messages.parameters import PARAMETER_CODES
from service.i18n.messages.problems import PROBLEMS

SOURCES = Path(service.__file__).parent
GIB = 2**30
# Which argument of a call holds a code.
_CODE_ARGUMENT = {"Note": 0, "ParameterError": 1, "Fault": 0, "fail": 0}


def literals(value: ast.expr) -> Iterator[str]:
    """A string, or both branches of a choice between strings."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield value.value
    elif isinstance(value, ast.IfExp):
        yield from literals(value.body)
        yield from literals(value.orelse)


def codes(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Where a node holds a code: an argument of a call, or a variable called `code`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CODE_ARGUMENT:
        position = _CODE_ARGUMENT[node.func.id]
        named = [keyword.value for keyword in node.keywords if keyword.arg == "code"]
        for value in named or node.args[position : position + 1]:
            yield node.func.id, value
    if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "code" for t in node.targets):
        yield "any", node.value


def emitted() -> Iterator[tuple[str, str, str]]:
    """Every code literal in the service: (file:line, kind of call, code)."""
    for path in sorted(SOURCES.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for kind, value in codes(node):
                for literal in literals(value):
                    yield f"{path.relative_to(SOURCES)}:{value.lineno}", kind, literal


def test_every_code_in_the_code_has_a_sentence():
    found = list(emitted())
    assert len(found) > 20  # the search itself works
    notes, parameters = {*REASON_CODES, *WARNING_CODES}, set(PARAMETER_CODES)
    known = {"Note": notes, "any": notes | parameters | set(PROBLEMS)}
    assert [f"{where} {code}" for where, kind, code in found if code not in known.get(kind, parameters)] == []


@pytest.mark.parametrize("tag", LANGUAGES)
def test_every_registered_code_speaks_every_language(tag: str):
    """No code falls through to itself, to English, or to an unfilled placeholder."""
    speaker = voice(tag)
    for code in known_codes():
        if code in PROBLEMS:
            texts = list(problem_text(speaker, code, name="X", architecture="X"))
        elif code in PARAMETER_CODES:
            texts = [parameter_message(speaker, ParameterError("gpu_count", code))]
        else:
            texts = [note_text(speaker, Note(code))]
        for text in texts:
            assert text
            assert text != code
            assert "%(" not in text


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("de", "„gpu_count“ muss zwischen 1 und 1.024 liegen."),
        ("zh", "“gpu_count”必须在 1 到 1,024 之间。"),
        ("en", "“gpu_count” must be between 1 and 1,024."),
    ],
)
def test_a_range_is_said_once(tag: str, expected: str):
    error = ParameterError("gpu_count", "out_of_range", (1, 1024), {"minimum": 1, "maximum": 1024})
    assert parameter_message(voice(tag), error) == expected


def test_permitted_values_are_listed_as_choices():
    error = ParameterError("lang", "not_allowed", ("de", "zh", "en"))
    assert parameter_message(voice("de"), error) == (
        "„lang“ hat keinen zulässigen Wert. Zulässig: de, zh oder en."
    )


def test_limits_of_a_number_are_not_listed_as_choices():
    error = ParameterError("gpu_count", "not_an_integer", (1, 1024))
    assert parameter_message(voice("en"), error) == "“gpu_count” must be a whole number."


def test_a_misspelt_parameter_gets_a_suggestion():
    error = ParameterError("gpu_cout", "unknown_parameter", values={"suggestion": "gpu_count"})
    assert parameter_message(voice("zh"), error) == "参数“gpu_cout”不存在。您要找的是“gpu_count”吗？"


def test_amounts_in_reasons_are_localized():
    """The core counts bytes; a person reads GiB."""
    note = Note("host_memory_short", {"needed": 96 * GIB, "available": 64 * GIB})
    assert note_text(voice("de"), note) == (
        "Der Host benötigt 96,00\u00a0GiB Arbeitsspeicher, verfügbar sind nur 64,00\u00a0GiB."
    )


def test_a_reason_without_its_values_still_speaks():
    assert note_text(voice("en"), Note("engine_not_on_gpu")) == "– does not run on –."


def test_an_unknown_model_gets_suggestions():
    title, detail = problem_text(
        voice("de"), "unknown-model", name="kimi-k31", suggestions=["kimi-k3.1-pro", "kimi-k3"]
    )
    assert title == "Unbekanntes Modell"
    assert detail == (
        "Der Katalog enthält kein Modell mit dem Namen „kimi-k31“. Meinten Sie kimi-k3.1-pro oder kimi-k3?"
    )


def test_terms_have_a_name_for_every_member():
    assert {*terms.VERDICTS} == {*Verdict}
    assert {*terms.EVIDENCE} == {*Evidence}
    assert {*terms.PLATFORMS} == {*Platform}
    assert {*terms.LAYER_KINDS} == {*LayerKind}
    assert {*Memory.__slots__} <= {*terms.MEMORY_TERMS}
    assert {*terms.PARAMETERS} == {"model", "gpu", *PARAMETERS}
