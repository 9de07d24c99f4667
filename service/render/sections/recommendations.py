"""The hardware to use for a scenario, what smaller types and formats would save, and the next upgrade."""

from collections.abc import Iterator, Mapping
from typing import Any

from service.catalog import Catalog
from service.core.engines import ENGINES
from service.core.planning.formats import ladder
from service.core.planning.plan import plan_hardware
from service.core.planning.question import Facts, Question
from service.core.request import PARAMETERS
from service.core.scenario import DEGREES, Scenario
from service.core.sizing import Sizing, Verdict
from service.i18n.marking import mark, mark_plural
from service.i18n.messages.terms import ENGINES as ENGINE_NAMES
from service.i18n.voice import Voice
from service.render import amounts, plans
from service.render.changes import upgrades
from service.render.speed_of import speed_or_reasons_by
from service.render.what_if import Outcome, changed, in_format, request_of

# What belongs to the caller's own machine, and what only a machine that is too small needs.
_OF_THE_MACHINE = frozenset(
    {"gpu_count", "engine", "quantization", "backend", "platform", "system_memory_gib", *DEGREES}
    | {"kv_cache_memory_bytes", "reserved_memory_bytes", "cpu_offload_percent", "hardware_budget_usd"}
)
_BASIS = mark_plural(
    "Each line is sized for this model in the format %(format)s with %(engine)s, %(context)s tokens of "
    "context and one sequence.",
    "Each line is sized for this model in the format %(format)s with %(engine)s, %(context)s tokens of "
    "context and %(n)s concurrent sequences.",
)
_NONE = mark("No single machine of the catalog runs this configuration.")
_NO_SINGLE = mark("No single GPU with memory of its own holds it.")
_NO_UNIFIED = mark("No machine with unified memory holds it.")
_COUNT = mark("It would fit on %(count)s × %(gpu)s.")
_GPU = mark("The smallest GPU that runs it in the same number is %(gpu)s.")
_COUNT_ROOM = mark("With headroom it would fit on %(count)s × %(gpu)s.")
_GPU_ROOM = mark("The smallest GPU that holds it with headroom in the same number is %(gpu)s.")
_SAVED = mark("Of the smaller KV cache types and formats, the largest saving is %(saved)s (%(name)s).")


def data(sizing: Sizing, catalog: object) -> dict[str, Any]:
    """The picks for the scenario, the alternatives with what each saves, and the next upgrade."""
    assert isinstance(catalog, Catalog)
    scenario = sizing.scenario
    question = Question(scenario.engine, scenario.quantization, None, values_of(scenario))
    facts = Facts(catalog.costs, speed_or_reasons_by(catalog))
    found = plan_hardware(scenario.model, catalog.gpus.values(), question, facts).highlights
    assert found is not None  # a plan for a model
    return {
        "model": amounts.model(sizing),
        "gpu": amounts.gpu(sizing),
        "gpu_count": scenario.gpu_count,
        "engine": scenario.engine,
        "quantization": scenario.quantization,
        "context_tokens": scenario.context_tokens,
        "concurrent_sequences": scenario.concurrent_sequences,
        "verdict": str(sizing.verdict),
        "rows": [{"pick": name, **row} for name, row in plans.picks(found).items() if row is not None],
        "kv_cache_types": list(_kv_types(sizing)),
        "formats": list(_formats(sizing)),
        "upgrades": [change.entry() for change in upgrades(sizing, catalog)],
        "as_of": catalog.costs.as_of,
    }


def sentences(data: Mapping[str, Any], voice: Voice) -> list[str]:
    """What the lines rest on, what does not exist, and the next upgrade."""
    said = [
        voice.plural(
            *_BASIS,
            data["concurrent_sequences"],
            format=data["quantization"],
            engine=ENGINE_NAMES.get(data["engine"], data["engine"]),
            context=voice.integer(data["context_tokens"]),
        )
    ]
    picked = {row["pick"] for row in data["rows"]}
    if not picked:
        said.append(voice.text(_NONE))
    else:
        said += [voice.text(_NO_SINGLE)] * ("best_single_gpu" not in picked)
        said += [voice.text(_NO_UNIFIED)] * ("unified_memory" not in picked)
    said += [_upgrade(upgrade, data, voice) for upgrade in data["upgrades"]]
    smaller = [*data["kv_cache_types"], *data["formats"]]
    if smaller:
        best = max(smaller, key=lambda row: row["saved"]["bytes"])
        said.append(voice.text(_SAVED, saved=voice.gib(best["saved"]["bytes"]), name=best["name"]))
    return said


def _upgrade(upgrade: Mapping[str, Any], data: Mapping[str, Any], voice: Voice) -> str:
    """Where it would run, or have headroom where it already runs tightly."""
    tight = data["verdict"] == Verdict.TIGHT
    if upgrade["parameter"] == "gpu_count":
        count, gpu = voice.integer(upgrade["to"]), data["gpu"]["name"]
        return voice.text(_COUNT_ROOM if tight else _COUNT, count=count, gpu=gpu)
    return voice.text(_GPU_ROOM if tight else _GPU, gpu=upgrade["to"])


def values_of(scenario: Scenario) -> dict[str, Any]:
    """The parameters that were given and that hold on any machine."""
    asked = request_of(scenario)
    values = {name: getattr(asked, name) for name in PARAMETERS if name not in _OF_THE_MACHINE}
    return {name: value for name, value in values.items() if value is not None}


def _kv_types(sizing: Sizing) -> Iterator[dict[str, Any]]:
    """Of types that save the same, the engine's first."""
    known: set[int] = set()
    for dtype in ENGINES[sizing.scenario.engine].kv_dtypes:
        outcome = changed(sizing.scenario, kv_cache_dtype=dtype, kv_cache_dtype_v=None)
        for row in _saving(sizing, dtype, outcome):
            if row["saved"]["bytes"] not in known:
                known.add(row["saved"]["bytes"])
                yield row


def _formats(sizing: Sizing) -> Iterator[dict[str, Any]]:
    scenario = sizing.scenario
    for name in ladder(ENGINES[scenario.engine], scenario.model.architecture):
        if name != scenario.quantization:
            yield from _saving(sizing, name, in_format(scenario, name))


def _saving(sizing: Sizing, name: str, outcome: Outcome | None) -> Iterator[dict[str, Any]]:
    """What an alternative saves over all GPUs, where the engine has it and it saves anything."""
    if outcome is None or outcome.verdict is Verdict.UNSUPPORTED:
        return
    total = outcome.plan.total.total
    saved = sizing.plan.total.total - total
    if saved > 0:
        yield {
            "name": name,
            "saved": amounts.amount(saved),
            "total": amounts.amount(total),
            "verdict": str(outcome.verdict),
        }
