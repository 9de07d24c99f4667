"""A plan as JSON."""

from typing import Any
from urllib.parse import urlencode

from service.api.planning import PLACES, Planned
from service.catalog import Catalog
from service.core.cost.currency import BASE
from service.core.planning.plan import Plan
from service.core.planning.question import Option
from service.i18n import Voice
from service.render import plans
from service.render.currencies import with_currency
from service.render.spoken import with_messages
from service.version import VERSION

# What only a POST can describe, so that no address sizes it.
_DESCRIBED = ("model_config", "gpu_spec")


def plan_document(asked: Planned, found: Plan, catalog: Catalog, voice: Voice) -> dict[str, Any]:
    """The question, the ranked options, the picks of a plan for a model, and what was left out."""
    limit = asked.limit or (len(found.places) if asked.model is None else PLACES)
    described = any(name in asked.given for name in _DESCRIBED)
    document = {
        "scenario": _scenario(asked, limit, voice),
        "items": [
            {**plans.place(number, place), "sizing": None if described else _address(asked, place.option)}
            for number, place in enumerate(found.places[:limit], start=1)
        ],
        "total": len(found.places),
        "highlights": None if found.highlights is None else plans.picks(found.highlights),
        "excluded": [plans.excluded(left) for left in found.excluded],
        "as_of": catalog.costs.as_of,
        "versions": {"service": VERSION, "data_digest": catalog.digest},
    }
    spoken: dict[str, Any] = with_messages(with_currency(document, voice), voice)
    return spoken


def _scenario(asked: Planned, limit: int, voice: Voice) -> dict[str, Any]:
    """What was given, and what the plan is about."""
    return {
        **{name: value for name, value in asked.given.items() if name not in _DESCRIBED},
        "model": None if asked.model is None else asked.model.id,
        "gpus": [gpu.id for gpu in asked.gpus],
        "limit": limit,
        "currency": BASE if voice.rate is None else voice.rate.code,
        "lang": voice.language.tag,
    }


def _address(asked: Planned, found: Option) -> str:
    """Where the option is sized in full."""
    scenario = found.sizing.scenario
    query = {
        "model": scenario.model.id,
        "gpu": scenario.gpu.id,
        "gpu_count": scenario.gpu_count,
        "engine": scenario.engine,
        "quantization": scenario.quantization,
        **{name: _text(value) for name, value in asked.question.values.items()},
    }
    return f"/v1/sizing?{urlencode(query)}"


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
