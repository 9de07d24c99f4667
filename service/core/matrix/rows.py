"""A question resolved into the rows of each engine."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from service.core.catalogued import Model
from service.core.engines import ENGINES
from service.core.engines.base import Engine
from service.core.engines.sheets import Case
from service.core.matrix.batches import Batch, Row
from service.core.matrix.groups import Group, grouping
from service.core.matrix.question import Question
from service.core.request import Request
from service.core.resolve import DEFAULT_CONTEXT_TOKENS, loads, prompt_and_output, resolve
from service.core.scenario import DEGREES, Scenario
from service.errors import InvalidParameters

# Parameters that may suit some cells and not others; any other fault is one of the whole question.
_OF_A_CELL = frozenset({"quantization", "gpu_count", *DEGREES})


@dataclass(frozen=True, slots=True)
class Tokens:
    """Prompt and output at each context; possible: the places of contexts that hold what was asked for."""

    prompts: tuple[int, ...]
    outputs: tuple[int, ...]
    possible: tuple[int, ...]


class Resolved:
    """Rows by engine. tokens: of the contexts.

    Raises InvalidParameters when nothing is left and a fault is not one of single cells.
    """

    def __init__(self, question: Question) -> None:
        self._question = question
        self._rest: Mapping[str, Any] = {k: v for k, v in question.values.items() if k != "engine"}
        self._grouping = grouping(question.gpus, question.values)
        self._errors: list[InvalidParameters] = []
        self.tokens = self._tokens()
        self.batches: dict[str, Batch] = {}
        for place, model in enumerate(question.models):
            self._add(place, model)
        self.batches = {name: batch for name, batch in self.batches.items() if batch.rows}
        if not self.batches:
            _raise_whole(self._errors)
        for batch in self.batches.values():
            batch.settle(self._grouping.fleets)

    def _tokens(self) -> Tokens:
        """Contexts, prompts and outputs follow from each other alone, so every cell has the same."""
        question, possible = self._question, []
        asked = self._rest.get("prompt_tokens"), self._rest.get("output_tokens")
        found: list[tuple[int, int]] = []
        for place, context in enumerate(question.contexts):
            try:
                found.append(prompt_and_output(*asked, context or DEFAULT_CONTEXT_TOKENS))
                possible.append(place)
            except InvalidParameters as error:
                self._errors.append(error)
                found.append((0, 0))
        prompts, outputs = zip(*found, strict=True) if found else ((), ())
        return Tokens(prompts, outputs, tuple(possible))

    def _add(self, place: int, model: Model) -> None:
        """The rows of a model."""
        by_group: dict[Group, list[int]] = defaultdict(list)
        for column, quantization in enumerate(self._question.quantizations):
            groups, refused = self._grouping.choose(model, quantization)
            self._errors += refused
            for group in groups:
                by_group[group].append(column)
        for group, columns in by_group.items():
            if group.engine not in self.batches:
                self.batches[group.engine] = Batch(ENGINES[group.engine])
            batch = self.batches[group.engine]
            engine = batch.engine
            if not batch.takes_arrays:
                batch.rows += self._by_context(place, model, group, columns)
                continue
            for scenario, alike in self._alike(model, group, engine, columns):
                names = tuple(self._name(column, engine) for column in alike)
                batch.cases.append(Case(scenario, names))
                batch.rows += [
                    Row(place, column, name, group, scenario)
                    for column, name in zip(alike, names, strict=True)
                ]

    def _name(self, column: int, engine: Engine) -> str:
        return self._question.quantizations[column] or engine.default_format

    def _alike(
        self, model: Model, group: Group, engine: Engine, columns: list[int]
    ) -> Iterator[tuple[Scenario, list[int]]]:
        """Formats by what else they decide: with whole layers nothing, else the layout may follow from it."""
        if not self.tokens.possible:
            return
        context = self._question.contexts[self.tokens.possible[0]]
        found: dict[Any, tuple[Scenario, list[int]]] = {}
        for column in columns:
            known = found.get(None) if engine.splits_layers else None
            name = self._name(column, engine)
            if known is not None and loads(engine, model.architecture, name):
                known[1].append(column)
                continue
            scenario = self._resolved(model, group, column, context)
            if scenario is not None:
                key = None if engine.splits_layers else scenario.layout
                found.setdefault(key, (scenario, []))[1].append(column)
        yield from found.values()

    def _by_context(self, place: int, model: Model, group: Group, columns: list[int]) -> Iterator[Row]:
        """Rows of an engine whose settings may follow from the context."""
        for column in columns:
            at = tuple(
                self._resolved(model, group, column, self._question.contexts[possible])
                for possible in self.tokens.possible
            )
            first = next((scenario for scenario in at if scenario is not None), None)
            if first is not None:
                yield Row(place, column, first.quantization, group, first, at)

    def _resolved(self, model: Model, group: Group, column: int, context: int | None) -> Scenario | None:
        request = Request(
            model=model,
            gpu=group.members[0].gpu,
            engine=group.engine,
            quantization=self._question.quantizations[column],
            context_tokens=context,
            **self._rest,
        )
        try:
            return resolve(request)
        except InvalidParameters as error:
            self._errors.append(error)
            return None


def _raise_whole(errors: list[InvalidParameters]) -> None:
    """Raise what is wrong with every cell, unless the cells merely do not exist."""
    for error in errors:
        if any(wrong.parameter not in _OF_A_CELL for wrong in error.errors):
            raise error
