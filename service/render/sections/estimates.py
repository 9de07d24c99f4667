"""The estimated speed on each GPU, or how many of them it takes; measured speeds are never mixed in."""

from collections.abc import Mapping
from typing import Any

from service.catalog import Catalog
from service.core.catalogued import Model
from service.core.engines import ENGINES
from service.core.hardware import Gpu
from service.core.planning.question import Facts, Option, Question
from service.core.planning.search import TRIED, search
from service.core.resolve import (
    DEFAULT_CONTEXT_TOKENS,
    DEFAULT_OUTPUT_TOKENS,
    DEFAULT_PROMPT_TOKENS,
)
from service.core.sizing import Sizing
from service.core.speed.result import Speed
from service.i18n.marking import mark
from service.i18n.messages.terms import ENGINES as ENGINE_NAMES
from service.i18n.voice import Voice
from service.render import amounts
from service.render.sections.recommendations import values_of
from service.render.speed_of import speed_or_reasons_by
from service.render.speeds import estimate

_BASIS = mark(
    "Estimated tokens per second of one sequence in %(format)s with %(engine)s at a context of %(context)s "
    "tokens (a prompt of %(prompt)s tokens, %(output)s of output), with the interval that holds eight of "
    "ten measurements."
)
_SUM = mark("Of %(total)s GPUs: %(single)s with room for it alone, %(several)s only when several share it.")
_NOT_MEASURED = mark("These are estimates by one formula; real measurements stand in a section of their own.")
_BEST = mark("The fastest alone is %(gpu)s with about %(rate)s tokens per second.")


def data(sizing: Sizing, catalog: object) -> dict[str, Any]:
    """The speed on every GPU at the scenario's values."""
    scenario = sizing.scenario
    question = Question(scenario.engine, scenario.quantization, None, values_of(scenario))
    tokens = (scenario.context_tokens, scenario.prompt_tokens, scenario.output_tokens)
    return _data(scenario.model, question, tokens, catalog)


def data_of_model(model: Model, catalog: object) -> dict[str, Any]:
    """The speed on every GPU with the first engine that may run the model, in its usual format."""
    engine = next((name for name in TRIED if _may_run(model, name)), TRIED[0])
    question = Question(engine, ENGINES[engine].default_format)
    tokens = (DEFAULT_CONTEXT_TOKENS, DEFAULT_PROMPT_TOKENS, DEFAULT_OUTPUT_TOKENS)
    return _data(model, question, tokens, catalog)


def sentences(data: Mapping[str, Any], voice: Voice) -> list[str]:
    """What the estimates rest on, and how many GPUs hold the model."""
    rows = data["rows"]
    said = [
        voice.text(
            _BASIS,
            format=data["quantization"],
            engine=ENGINE_NAMES.get(data["engine"], data["engine"]),
            context=voice.integer(data["context_tokens"]),
            prompt=voice.integer(data["prompt_tokens"]),
            output=voice.integer(data["output_tokens"]),
        ),
        voice.text(
            _SUM,
            total=voice.integer(data["total"]),
            single=voice.integer(data["single"]),
            several=voice.integer(data["several"]),
        ),
    ]
    alone = [row for row in rows if row["gpu_count"] == 1 and row["speed"]]
    if alone:
        best = max(alone, key=lambda row: row["speed"]["estimate"])
        rate = voice.plain(best["speed"]["estimate"])
        said.append(voice.text(_BEST, gpu=best["gpu_name"], rate=rate))
    return [*said, voice.text(_NOT_MEASURED)]


def _may_run(model: Model, engine: str) -> bool:
    return engine not in model.support or model.support[engine].status != "no"


def _data(model: Model, question: Question, tokens: tuple[int, int, int], catalog: object) -> dict[str, Any]:
    assert isinstance(catalog, Catalog)
    facts = Facts(catalog.costs, speed_or_reasons_by(catalog))
    rows = [_row(model, gpu, question, facts) for gpu in catalog.gpus.values() if gpu.exists]
    rows.sort(key=_order)
    context, prompt, output = tokens
    return {
        "model": model.id,
        "engine": question.engine,
        "quantization": question.quantization,
        "context_tokens": context,
        "prompt_tokens": prompt,
        "output_tokens": output,
        "total": len(rows),
        "single": sum(row["gpu_count"] == 1 for row in rows),
        "several": sum((row["gpu_count"] or 0) > 1 for row in rows),
        "rows": rows,
    }


def _row(model: Model, gpu: Gpu, question: Question, facts: Facts) -> dict[str, Any]:
    options, left = search(model, gpu, question, facts)
    shown: Option | None = min(options, key=lambda o: o.sizing.scenario.gpu_count, default=None)
    row: dict[str, Any] = {
        "gpu": gpu.id,
        "gpu_name": gpu.name,
        "memory": amounts.maybe_amount(gpu.memory_bytes),
        "gpu_count": None,
        "verdict": "does_not_fit",
        "speed": None,
        "indicative": None,
        "reason": None,
    }
    if shown is None:
        assert left is not None  # no option has a reason
        return {**row, "verdict": str(left.verdict), "reason": amounts.notes((left.reason,))[0]}
    speed = shown.speed if isinstance(shown.speed, Speed) else None
    return {
        **row,
        "gpu_count": shown.sizing.scenario.gpu_count,
        "verdict": str(shown.sizing.verdict),
        "speed": None if speed is None else estimate(speed.decode),
        "indicative": None if speed is None else speed.decode_basis.indicative,
    }


def _order(row: Mapping[str, Any]) -> tuple[int, float, str]:
    """Alone before several, fast before slow, what does not run last."""
    speed = row["speed"]["estimate"] if row["speed"] else 0.0
    return row["gpu_count"] or 2**20, -speed, row["gpu_name"]
