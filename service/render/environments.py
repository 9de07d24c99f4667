"""The template environments: one for each voice and markup, built once."""

import math
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from markupsafe import escape as escape_html

from service.i18n.messages import (
    finetuning,
    gpu_facts,
    measured,
    model_facts,
    planning,
    prices,
    step_titles,
    terms,
)
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
    "topic": {**terms.MEMORY_TERMS, **step_titles.TOPICS},
    "measured_field": measured.FIELDS,
    "measured_reason": measured.REASONS,
    "billing": prices.BILLING,
    "commitment": prices.COMMITMENTS,
    "price": prices.PRICE_KINDS,
    "pick": planning.PICKS,
    "method": finetuning.METHODS,
    "training_term": finetuning.TRAINING_TERMS,
    "fact": model_facts.FACTS,
    "gpu_fact": gpu_facts.GPU_FACTS,
    "gpu_kind": gpu_facts.GPU_KINDS,
    "feed_forward": model_facts.FEED_FORWARDS,
    "layer_kind": terms.LAYER_KINDS,
    "support": model_facts.SUPPORT,
    "tensor_class": model_facts.TENSOR_CLASSES,
    "difference": {**terms.PARAMETERS, **measured.DIFFERENCES},
}
_SMALL, _SMALL_DIGITS = 0.01, 4  # below it, so many significant digits


@cache
def html(voice: Voice) -> Environment:
    """HTML: every value is escaped."""
    environment = _environment(voice, finalize=_printable)
    environment.globals["code"] = environment.filters["code"] = _html_code
    return environment


@cache
def markdown_text(voice: Voice) -> Environment:
    """Markdown: every value is escaped for Markdown; Markup marks what already is."""
    environment = _environment(voice, finalize=markdown.escape)
    environment.globals["code"] = environment.filters["code"] = markdown.code
    environment.globals["fenced"] = markdown.fenced
    return environment


class _OfData(Environment):
    """An environment whose templates read data: `row.name` is the key of a dictionary before all else.

    Jinja looks for an attribute first, and for the key when the search has failed, which takes three times
    as long and is nearly always so.
    """

    def getattr(self, obj: Any, attribute: str) -> Any:
        """The value of a key, else what Jinja finds."""
        if type(obj) is dict and attribute in obj:
            return obj[attribute]
        return super().getattr(obj, attribute)


def _environment(voice: Voice, finalize: object = None) -> Environment:
    environment = _OfData(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        finalize=finalize,  # type: ignore[arg-type]
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    # Where a table has hundreds of rows: Jinja calls a filter at once, and a function through three others.
    environment.filters["quantity"] = lambda item: quantity(voice, item)
    environment.tests["power_of_two"] = lambda count: count & (count - 1) == 0
    environment.globals |= {
        "_": voice.text,
        "ngettext": voice.plural,
        "name": lambda kind, code: _name(voice, kind, code),
        "names": lambda kind, codes: [_name(voice, kind, code) for code in codes],
        "shown": lambda parameter: shown(voice, parameter),
        "quantity": lambda item: quantity(voice, item),
        "hours_a_day": lambda hours: counted(voice, terms.HOURS_A_DAY, hours),
        "gib": lambda amount: "–" if amount is None else voice.gib(amount["bytes"]),
        "whole_gib": lambda amount: "–" if amount is None else voice.gib(amount["bytes"], 0),
        "integer": voice.integer,
        "number": voice.number,
        "plain": voice.plain,
        "percent": voice.percent,
        "tokens": voice.tokens,
        "compact": voice.compact,
        "log2": math.log2,
        "period": voice.period,
        "listed": voice.list,
        "said": lambda notes: voice.paragraph([note["message"] for note in notes]),
        "money": voice.money,
        "money_range": lambda usd: "–" if usd is None else span(voice.money, usd),
        "estimate": lambda found: estimated(voice, voice.plain, found),
        "money_estimate": lambda usd: "–" if usd is None else money_estimate(voice, usd),
        "months": lambda found, outcome: months(voice, found, outcome),
    }
    return environment


def money_estimate(voice: Voice, usd: Mapping[str, float]) -> str:
    """An estimated amount with its interval behind it."""
    return estimated(voice, voice.money, usd)


def estimated(voice: Voice, write: Callable[[float], str], found: Mapping[str, float]) -> str:
    """An estimate with its interval behind it, in the brackets of the language."""
    return voice.text(step_titles.WITH_DETAIL, what=write(found["estimate"]), detail=span(write, found))


def months(voice: Voice, found: Mapping[str, float] | None, outcome: str) -> str:
    """Months until a purchase has paid for itself, never, or a dash where nothing is compared."""
    if found is None:
        return voice.text(prices.NEVER) if outcome == "never" else "–"
    return span(lambda value: voice.number(value, 1), found)


def span(write: Callable[[float], str], found: Mapping[str, float]) -> str:
    """A low and a high value, or the one that they are."""
    low, high = write(found["low"]), write(found["high"])
    return low if low == high else f"{low} – {high}"


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
    if 0 < abs(value) < _SMALL:
        return voice.number(value, _SMALL_DIGITS - 1 - math.floor(math.log10(abs(value))))
    return voice.plain(value)


def quantity(voice: Voice, item: Mapping[str, object]) -> str:
    """A number with its unit, `1 GPU` and `8 GPUs`; what has no unit, or no number, as it is shown."""
    value, text = item["value"], shown(voice, item)
    said = terms.UNITS.get(str(item["unit"]))
    if said is None or not isinstance(value, int | float):
        return text
    return voice.text(said, n=text) if isinstance(said, str) else counted(voice, said, value, text)


def counted(voice: Voice, said: tuple[str, str], value: float, text: str | None = None) -> str:
    """The message for so many things, of which there may be a part: `7.5 hours` is said as of several."""
    whole = int(value) if value == int(value) else 2
    return voice.plural(*said, whole, n=voice.plain(value) if text is None else text)


def _printable(value: object) -> object:
    return value if isinstance(value, Markup) else markdown.printable(str(value))


def _html_code(value: object) -> Markup:
    return Markup(f"<code>{escape_html(_printable(value))}</code>")  # noqa: S704 - escaped here
