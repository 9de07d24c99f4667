"""How every number follows from the facts, step by step."""

from collections.abc import Mapping
from typing import Any

from service.catalog import Catalog
from service.core.cost.estimate import cost
from service.core.sizing import Sizing
from service.core.units import GIB
from service.i18n.marking import mark
from service.i18n.voice import Voice
from service.render.speed_of import speed_or_reasons_by
from service.render.steps import by_topic, further_steps, steps

_HOW = mark(
    "Each number follows from the lines above it by its formula; "
    "a line without a formula is a fact with its source."
)
_ROUNDED = mark("Amounts in GiB are bytes divided by %(bytes)s, rounded to two places.")


def data(sizing: Sizing, catalog: object) -> dict[str, Any]:
    """The steps by topic: symbol, title, formula, the same with numbers, value, unit, source, evidence."""
    assert isinstance(catalog, Catalog)
    speed = speed_or_reasons_by(catalog)(sizing)
    priced = cost(sizing, catalog.costs, speed)
    topics = by_topic(steps(sizing, *further_steps(sizing, catalog.speed, speed, priced)))
    return {"topics": [{"topic": topic, "steps": entries} for topic, entries in topics.items()]}


def sentences(_data: Mapping[str, Any], voice: Voice) -> list[str]:
    """How to read the steps."""
    return [voice.text(_HOW), voice.text(_ROUNDED, bytes=voice.integer(GIB))]
