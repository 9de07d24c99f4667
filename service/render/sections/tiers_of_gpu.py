"""What one, two, four … of an accelerator in one machine hold: how many models, and the largest of them."""

from collections.abc import Mapping
from typing import Any

from service.catalog import Catalog
from service.core.hardware import Gpu
from service.core.planning.formats import USUAL_BITS
from service.core.planning.question import Facts, Question
from service.core.planning.search import search
from service.core.resolve import DEFAULT_CONTEXT_TOKENS
from service.i18n.marking import mark, mark_plural
from service.i18n.voice import Voice
from service.render import amounts, plans
from service.render.sections.models_of_gpu import plan_of

_BASIS = mark(
    "For each number of %(gpu)s in one machine: how many of the %(total)s models of the catalog run at a "
    "context of %(context)s tokens, and the largest of them in a format of at least four bits."
)
_SHARES = mark(
    "Each GPU holds its own share of the model; what is free on one does not help another, so the memory of "
    "several is no single pool."
)
_SINGLE = mark(
    "How many of the %(total)s models of the catalog run on one %(gpu)s at a context of %(context)s tokens, "
    "and the largest of them in a format of at least four bits; a machine holds no second one."
)
_MORE = mark_plural("Two of them run one more model than one.", "Two of them run %(n)s more models than one.")


def data_of_gpu(gpu: Gpu, catalog: object) -> dict[str, Any]:
    """One row for each power of two up to what one machine holds."""
    assert isinstance(catalog, Catalog)
    counts = [count for count in (1, 2, 4, 8) if count <= gpu.max_per_node]
    return {
        "gpu": {"id": gpu.id, "name": gpu.name},
        "max_per_node": gpu.max_per_node,
        "context_tokens": DEFAULT_CONTEXT_TOKENS,
        "total": len(catalog.models),
        "rows": [_row(gpu, count, catalog) for count in counts],
    }


def sentences(data: Mapping[str, Any], voice: Voice) -> list[str]:
    """What the rows compare, and what a second one adds."""
    values = {"total": voice.integer(data["total"]), "context": voice.integer(data["context_tokens"])}
    values["gpu"], rows = data["gpu"]["name"], data["rows"]
    if len(rows) == 1:
        return [voice.text(_SINGLE, **values)]
    said = [voice.text(_BASIS, **values)]
    if more := data["rows"][1]["fitting"] - rows[0]["fitting"]:
        said.append(voice.plural(*_MORE, more))
    return [*said, voice.text(_SHARES)]


def _row(gpu: Gpu, count: int, catalog: Catalog) -> dict[str, Any]:
    asked, unspoken = Question(gpu_count=count), Facts(catalog.costs, lambda _: None)
    found = {
        model.id: max(option.bits for option in options)
        for model in catalog.models.values()
        if (options := search(model, gpu, asked, unspoken, best_only=True)[0])
    }
    usual = [catalog.models[name] for name, bits in found.items() if bits >= USUAL_BITS]
    most = max((model.parameters_total for model in usual), default=0)
    largest = [model for model in usual if model.parameters_total == most]
    # Of these alone speeds are asked for, by which a plan chooses among engines.
    best = plan_of(gpu, catalog, count, largest).places[0].option if largest else None
    return {
        "gpu_count": count,
        "memory": amounts.maybe_amount(None if gpu.memory_bytes is None else gpu.memory_bytes * count),
        "fitting": len(found),
        "largest": None if best is None else _shown(plans.option(best)),
    }


def _shown(option: Mapping[str, Any]) -> dict[str, Any]:
    """What a table shows of the option; the whole is in the plan."""
    names = ("model", "model_name", "engine", "quantization", "verdict", "needed_per_gpu", "usable_per_gpu")
    return {name: option[name] for name in names}
