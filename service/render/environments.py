"""The template environments: one for each voice and markup, built once."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from markupsafe import escape as escape_html

from service.i18n.messages import terms
from service.i18n.voice import Voice
from service.render import markdown

TEMPLATES = Path(__file__).parent / "templates"
_NAMES: Mapping[str, Mapping[str, str]] = {
    "engine": terms.ENGINES,
    "term": terms.MEMORY_TERMS,
    "verdict": terms.VERDICTS,
    "evidence": terms.EVIDENCE,
    "platform": terms.PLATFORMS,
    "parameter": terms.PARAMETERS,
    "unit": terms.UNITS,
}


@cache
def html(voice: Voice) -> Environment:
    """HTML: every value is escaped."""
    environment = _environment(voice, finalize=_printable)
    environment.globals["code"] = _html_code
    return environment


@cache
def markdown_text(voice: Voice) -> Environment:
    """Markdown: every value is escaped for Markdown; Markup marks what already is."""
    environment = _environment(voice, finalize=markdown.escape)
    environment.globals["code"] = markdown.code
    return environment


def _environment(voice: Voice, finalize: object = None) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        finalize=finalize,  # type: ignore[arg-type]
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals |= {
        "_": voice.text,
        "ngettext": voice.plural,
        "name": lambda kind, code: _name(voice, kind, code),
        "shown": lambda parameter: shown(voice, parameter),
        "gib": lambda amount: "–" if amount is None else voice.gib(amount["bytes"]),
        "integer": voice.integer,
        "number": voice.number,
        "percent": voice.percent,
        "tokens": voice.tokens,
    }
    return environment


def _name(voice: Voice, kind: str, code: str) -> str:
    """The name of a code; a code that has none yet is shown as it is."""
    msgid = _NAMES[kind].get(code)
    return code if msgid is None else voice.text(msgid)


def shown(voice: Voice, parameter: Mapping[str, object]) -> str:
    """A parameter's value as a person reads it; its unit stands beside it."""
    value = parameter["value"]
    if value is None:
        return voice.text(terms.NOT_GIVEN)
    if isinstance(value, bool):
        return voice.text(terms.YES if value else terms.NO)
    if isinstance(value, str):
        kind = str(parameter["name"])
        return _name(voice, kind, value) if kind in _NAMES else value
    assert isinstance(value, int | float)
    return voice.plain(value)


def _printable(value: object) -> object:
    return value if isinstance(value, Markup) else markdown.printable(str(value))


def _html_code(value: object) -> Markup:
    return Markup("<code>") + escape_html(_printable(value)) + Markup("</code>")
