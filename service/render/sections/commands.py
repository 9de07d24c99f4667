"""How the scenario is started and checked, with its own engine and the others that run the model."""

from collections.abc import Mapping, Sequence
from typing import Any

from service.core.commands import launch
from service.core.commands.command import Command, Launch
from service.core.engines import ENGINES
from service.core.scenario import Scenario
from service.core.sizing import Note, Sizing, Verdict
from service.i18n.marking import mark, mark_plural
from service.i18n.messages.terms import ENGINES as NAMES
from service.i18n.voice import Voice
from service.render import amounts
from service.render.what_if import Outcome, judge, with_engine

_RUNS = (Verdict.FITS, Verdict.TIGHT)
_COUNT = mark_plural(
    "One engine has a command for this scenario.", "%(n)s engines have a command for this scenario."
)
_NONE = mark("There is no command for this scenario; the reasons stand below.")
_OWN_WITHHELD = mark("There is none for %(engine)s, for the reason given below.")
_CARRIES = mark(
    "Each command carries the context of %(context)s tokens, the number of sequences, the layout, "
    "the memory share and the type of the KV cache, as far as its engine has options for them."
)
_CHECK = mark("The second command measures the speed, so that it can be compared with the estimate.")


def data(sizing: Sizing, _catalog: object) -> dict[str, Any]:
    """One row for each engine of the GPU, the scenario's first: its commands, or why there are none."""
    scenario = sizing.scenario
    rows = [_row(Outcome.of(sizing), sizing.reasons, own=True)]
    for engine in ENGINES:
        if engine == scenario.engine or not scenario.gpu.backends(engine):
            continue
        if found := with_engine(scenario, engine):
            rows.append(_row(found, judge(found.scenario, found.plan)[1], own=False))
    return {
        "model": amounts.model(sizing),
        "gpu": amounts.gpu(sizing),
        "gpu_count": scenario.gpu_count,
        "context_tokens": scenario.context_tokens,
        "concurrent_sequences": scenario.concurrent_sequences,
        "with_command": sum(row["serve"] is not None for row in rows),
        "rows": rows,
    }


def sentences(data: Mapping[str, Any], voice: Voice) -> list[str]:
    """How many engines have a command, and what the commands carry."""
    count = data["with_command"]
    if not count:
        return [voice.text(_NONE)]
    said = [voice.plural(*_COUNT, count)]
    own = data["rows"][0]
    if own["serve"] is None:
        said.append(voice.text(_OWN_WITHHELD, engine=NAMES.get(own["engine"], own["engine"])))
    said.append(voice.text(_CARRIES, context=voice.integer(data["context_tokens"])))
    if any(row["check"] for row in data["rows"]):
        said.append(voice.text(_CHECK))
    return said


def _row(outcome: Outcome, reasons: tuple[Note, ...], *, own: bool) -> dict[str, Any]:
    scenario = outcome.scenario
    withheld = _withheld(outcome, reasons)
    found = None if withheld else launch(scenario)
    if found is None and not withheld:
        withheld = (Note("no_command_known", {"engine": scenario.engine}),)
    row = commands_of(scenario.engine, scenario, found, withheld)
    return {**row, "selected": own, "verdict": str(outcome.verdict)}


def commands_of(
    engine: str, scenario: Scenario | None, found: Launch | None, withheld: Sequence[Note]
) -> dict[str, Any]:
    """The commands of one engine, or why there are none; scenario: None where not even one was found."""
    notes = (*version_notes(scenario), *found.notes) if scenario and found else ()
    return {
        "engine": engine,
        "version": ENGINES[engine].version,
        "quantization": scenario and scenario.quantization,
        "prepare": [command_data(command) for command in found.prepare] if found else [],
        "serve": [command_data(command) for command in found.serve] if found else None,
        "check": command_data(found.check) if found and found.check else None,
        "notes": amounts.notes(notes),
        "reasons": amounts.notes(withheld),
    }


def _withheld(outcome: Outcome, reasons: tuple[Note, ...]) -> tuple[Note, ...]:
    """Why a command would not run; empty when it would."""
    scenario = outcome.scenario
    if outcome.verdict not in _RUNS:
        return reasons
    support = scenario.model.support.get(scenario.engine)
    if support is None or support.status != "yes":
        values = {"engine": scenario.engine, "model": scenario.model.name}
        return (Note("engine_support_unknown", values),)
    return ()


def version_notes(scenario: Scenario) -> tuple[Note, ...]:
    """The version from which the engine runs the model, where that is known."""
    support = scenario.model.support.get(scenario.engine)
    if support is None or not support.since:
        return ()
    return (Note("engine_version_needed", {"engine": scenario.engine, "since": support.since}),)


def command_data(command: Command) -> dict[str, Any]:
    """A command as JSON: as it is typed, and the words that the program receives."""
    return {"text": command.text, "words": list(command.words), "environment": dict(command.environment)}
