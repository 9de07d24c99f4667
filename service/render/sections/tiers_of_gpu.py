"""What one, two, four … of an accelerator in one machine hold: how many models, and the largest of them."""

from collections.abc import Mapping
from typing import Any

from service.catalog import Catalog
from service.core.hardware import Gpu
from service.core.planning.formats import USUAL_BITS
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
_SINGLE = mark("A machine holds one of them.")
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
    said = [voice.text(_BASIS, gpu=data["gpu"]["name"], **values)]
    rows = data["rows"]
    if len(rows) == 1:
        return [*said, voice.text(_SINGLE)]
    if more := data["rows"][1]["fitting"] - rows[0]["fitting"]:
        said.append(voice.plural(*_MORE, more))
    return [*said, voice.text(_SHARES)]


def _row(gpu: Gpu, count: int, catalog: Catalog) -> dict[str, Any]:
    found = [place.option for place in plan_of(gpu, catalog, count).places]
    usual = [option for option in found if option.bits >= USUAL_BITS]
    size = {id(option): option.sizing.scenario.model.parameters_total for option in usual}
    largest = max(usual, key=lambda option: size[id(option)], default=None)
    return {
        "gpu_count": count,
        "memory": amounts.maybe_amount(None if gpu.memory_bytes is None else gpu.memory_bytes * count),
        "fitting": len(found),
        "largest": None if largest is None else _shown(plans.option(largest)),
    }


def _shown(option: Mapping[str, Any]) -> dict[str, Any]:
    """What a table shows of the option; the whole is in the plan."""
    names = ("model", "model_name", "engine", "quantization", "verdict", "needed_per_gpu", "usable_per_gpu")
    return {name: option[name] for name in names}
