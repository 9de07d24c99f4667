"""Plans: the hardware for a model, and the models for an accelerator."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from service.core.catalogued import Model
from service.core.cost.elsewhere import RUNS
from service.core.hardware import Gpu
from service.core.notes import Note
from service.core.planning.highlights import Highlights, highlights
from service.core.planning.question import Facts, Left, Option, Question
from service.core.planning.rank import Place, front, places_of_hardware, places_of_models
from service.core.planning.search import TRIED, next_formats, option, search, sized, too_slow
from service.core.request import Request
from service.core.resolve import resolve
from service.core.sizing import Verdict
from service.errors import InvalidParameters


@dataclass(frozen=True, slots=True)
class Plan:
    """Ranked options, what was left out and why; highlights only of a plan for one model."""

    question: Question
    places: tuple[Place, ...]
    excluded: tuple[Left, ...]
    highlights: Highlights | None = None


def plan_hardware(model: Model, gpus: Iterable[Gpu], question: Question, facts: Facts) -> Plan:
    """The hardware that runs a model, best place first; each accelerator that does not, with its reason.

    Only configurations of one machine whose verdict is `fits` or `tight`. Raises InvalidParameters for
    parameters that no engine takes.
    """
    candidates = tuple(gpus)
    check(model, candidates, question)
    refusing = _refusing(model, question)
    found: list[Option] = []
    excluded = [Left(note, Verdict.UNSUPPORTED, model, engine=engine) for engine, note in refusing]
    for gpu in candidates:
        options, left = search(model, gpu, question, facts)
        found += options
        if left is not None:
            excluded.append(left)
    found += _smaller_formats(front(found), question, facts)
    ranked = places_of_hardware(found)
    return Plan(question, ranked, tuple(excluded), highlights(found, facts))


def plan_models(gpu: Gpu, models: Iterable[Model], question: Question, facts: Facts) -> Plan:
    """The models that an accelerator runs, each in its best format; those that it does not, with the reason.

    gpu_count of the question: 1 where it is not given.
    """
    question = replace(question, gpu_count=question.gpu_count or 1)
    found: list[Option] = []
    excluded: list[Left] = []
    candidates = tuple(models)
    if candidates:
        check(candidates[0], (gpu,), question)
    for model in candidates:
        options, left = search(model, gpu, question, facts, best_only=True)
        if options:
            found.append(max(options, key=lambda o: (o.bits, o.rate or 0.0)))
        elif left is not None:
            excluded.append(left)
    return Plan(question, places_of_models(found), tuple(excluded))


def check(model: Model, gpus: tuple[Gpu, ...], question: Question) -> None:
    """Raise InvalidParameters unless some engine on some accelerator takes the parameters."""
    free = question.engine is None and question.quantization is None
    engines = TRIED if free else (question.engine,)
    wrong: InvalidParameters | None = None
    for gpu in gpus:
        for engine in engines:
            request = Request(model, gpu, engine=engine, quantization=question.quantization)
            try:
                resolve(replace(request, **question.values))
                return
            except InvalidParameters as error:
                wrong = wrong or error
    if wrong is not None:
        raise wrong


def _refusing(model: Model, question: Question) -> list[tuple[str, Note]]:
    """Engines that do not run the model anywhere."""
    tried = TRIED if question.engine is None else (question.engine,)
    return [
        (name, Note("engine_does_not_support", {"engine": name, "model": model.name}))
        for name in tried
        if name in model.support and model.support[name].status == "no"
    ]


def _smaller_formats(leading: Iterable[Option], question: Question, facts: Facts) -> list[Option]:
    """The usual 4-bit format on hardware that leads: faster there, at a lower quality."""
    found = []
    for leader in leading:
        scenario = leader.sizing.scenario
        for quantization in next_formats(leader, question):
            sizing = sized(
                scenario.model,
                scenario.gpu,
                scenario.gpu_count,
                scenario.engine,
                quantization,
                question,
            )
            if isinstance(sizing, Note) or sizing.verdict not in RUNS:
                continue
            smaller = option(sizing, facts)
            if too_slow(smaller, question.demands) is None:
                found.append(smaller)
    return found
