"""How a model is started with each engine, before an accelerator is chosen."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from service.catalog import Catalog
from service.core.catalogued import Model
from service.core.commands import launch
from service.core.commands.command import Command, Launch
from service.core.engines import ENGINES
from service.core.hardware import EngineOnGpu, Gpu
from service.core.planning.formats import ladder
from service.core.request import Request
from service.core.resolve import resolve
from service.core.scenario import Scenario
from service.core.sizing import Note
from service.core.tiers import CARD, usual_context
from service.errors import InvalidParameters
from service.i18n.marking import mark, mark_plural
from service.i18n.voice import Voice
from service.render.sections.commands import commands_of

# Notes that put a path in the place of a repository.
_PATHS = frozenset({"checkpoint_repository_unknown", "model_repository_unknown", "gguf_repository_unknown"})
# Options whose values follow from the accelerator, which is not known here.
_OF_THE_HARDWARE = frozenset(
    {
        "-ub",
        "-tp",
        "--tp-size",
        "--max-num-batched-tokens",
        "--chunked-prefill-size",
        "--mem-fraction-static",
        "--gpu-memory-utilization",
        "--max_num_tokens",
        "--kv_cache_free_gpu_memory_fraction",
    }
)
_COUNT = mark_plural(
    "One engine has a command for this model.", "%(n)s engines have a command for this model."
)
_NONE = mark("No engine has a command for this model; the reasons stand below.")
_CARRIES = mark(
    "Each command carries a context of %(context)s tokens and one sequence. How many GPUs it takes and how "
    "they share the model depends on the GPU; the report about the model on a GPU has the whole command."
)
_PUBLISHED = mark("Only repositories that are known to exist are named.")


def data_of_model(model: Model, catalog: object) -> dict[str, Any]:
    """One row for each engine: its commands in the first format that is published, or why there are none."""
    assert isinstance(catalog, Catalog)
    context = usual_context(model.architecture)
    rows = [_row(model, name, context, catalog) for name in ENGINES]
    rows.sort(key=lambda row: row["serve"] is None)
    return {
        "model": {"id": model.id, "name": model.name},
        "context_tokens": context,
        "concurrent_sequences": 1,
        "with_command": sum(row["serve"] is not None for row in rows),
        "rows": rows,
    }


def sentences(data: Mapping[str, Any], voice: Voice) -> list[str]:
    """How many engines have a command, and what the commands leave open."""
    count = data["with_command"]
    if not count:
        return [voice.text(_NONE)]
    carries = voice.text(_CARRIES, context=voice.integer(data["context_tokens"]))
    return [voice.plural(*_COUNT, count), carries, voice.text(_PUBLISHED)]


def _row(model: Model, engine: str, context: int, catalog: Catalog) -> dict[str, Any]:
    found = _unsupported(model, engine) or _launched(model, engine, context, catalog)
    if isinstance(found, Note):
        return commands_of(engine, None, None, (found,))
    return commands_of(engine, *found, ())


def _unsupported(model: Model, engine: str) -> Note | None:
    support = model.support.get(engine)
    if support is not None and support.status == "yes":
        return None
    code = (
        "engine_support_unknown"
        if support is None or support.status == "unknown"
        else "engine_does_not_support"
    )
    return Note(code, {"engine": engine, "model": model.name})


def _launched(model: Model, engine: str, context: int, catalog: Catalog) -> tuple[Scenario, Launch] | Note:
    """The launch in the engine's usual format, else in the best one whose weights are published."""
    card = _card(engine, catalog)
    usual = ENGINES[engine].default_format
    for quantization in dict.fromkeys((usual, *ladder(ENGINES[engine], model.architecture))):
        for scenario in _scenario(model, card, engine, quantization, context):
            found = launch(scenario)
            if found is None:
                return Note("no_command_known", {"engine": engine})
            if not _PATHS & {note.code for note in found.notes}:
                return scenario, _open(found)
    return Note("no_published_weights", {"engine": engine})


def _scenario(model: Model, card: Gpu, engine: str, quantization: str, context: int) -> Iterator[Scenario]:
    request = Request(model, card, engine=engine, quantization=quantization, context_tokens=context)
    try:
        yield resolve(request)
    except InvalidParameters:
        return


def _card(engine: str, catalog: Catalog) -> Gpu:
    """A card of the kind that the engine first runs on, known by nothing else."""
    home = next((gpu for gpu in catalog.gpus.values() if gpu.backends(engine)), CARD)
    backends = home.backends(engine) or CARD.backends(CARD.engines[0].engine)
    return replace(CARD, kind=home.kind, engines=(EngineOnGpu(engine, backends[0]),))


def _open(found: Launch) -> Launch:
    """The launch without what the accelerator decides."""
    return replace(
        found,
        serve=tuple(map(_opened, found.serve)),
        check=None if found.check is None else _opened(found.check),
    )


def _opened(command: Command) -> Command:
    kept = tuple(option for option in command.options if option[0] not in _OF_THE_HARDWARE)
    return replace(command, options=kept)
