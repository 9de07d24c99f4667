"""A question resolved into the rows of each engine."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from service.core.catalogued import Model
from service.core.engines import ENGINES
from service.core.matrix.batches import Batch, Row, Settings
from service.core.matrix.blocks import Errors, blocks_of, resolved
from service.core.matrix.fleets import Group
from service.core.matrix.groups import grouping
from service.core.matrix.question import Question
from service.core.resolve import DEFAULT_CONTEXT_TOKENS, check_ranges, prompt_and_output
from service.core.scenario import DEGREES
from service.errors import InvalidParameters

# Parameters that may suit some cells and not others; any other fault is one of the whole question.
_OF_A_CELL = frozenset({"quantization", "gpu_count", *DEGREES})
_TOKENS = ("prompt_tokens", "output_tokens")


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
        # The engine is that of a group.
        given = {
            name: value for name, value in question.values.items() if name != "engine" and value is not None
        }
        self._asked = {name: given.pop(name) for name in _TOKENS if name in given}
        self._settings: Settings = frozenset(given.items())
        self._grouping = grouping(question.gpus, question.values)
        self._errors: list[Errors] = []
        self.tokens = self._tokens()
        self.batches: dict[str, Batch] = {}
        for place, model in enumerate(question.models):
            self._add(place, model)
        self.batches = {name: batch for name, batch in self.batches.items() if batch.rows}
        if not self.batches:
            _raise_whole(self._errors)
        for batch in self.batches.values():
            batch.settle(self._grouping.fleet)

    def _tokens(self) -> Tokens:
        """Contexts, prompts and outputs follow from each other alone, so every cell has the same."""
        possible: list[int] = []
        prompt, output = (self._asked.get(name) for name in _TOKENS)
        found: list[tuple[int, int]] = []
        for place, context in enumerate(self._question.contexts):
            tokens = context or DEFAULT_CONTEXT_TOKENS
            try:
                check_ranges({"context_tokens": tokens, **self._asked})
                found.append(prompt_and_output(prompt, output, tokens))
                possible.append(place)
            except InvalidParameters as error:
                self._errors.append(error.errors)
                found.append((0, 0))
        prompts, outputs = zip(*found, strict=True) if found else ((), ())
        return Tokens(prompts, outputs, tuple(possible))

    def _add(self, place: int, model: Model) -> None:
        """The rows of a model."""
        if not self.tokens.possible:
            return
        found = blocks_of(model, self._grouping, self._question.quantizations, self._settings)
        self._errors += found.errors
        for block in found.blocks:
            self._batch(block.case.scenario.engine).add(place, block.rows, block.case)
        for group, columns in found.others:
            self._batch(group.engine).add(place, tuple(self._by_context(model, group, columns)))

    def _batch(self, engine: str) -> Batch:
        if engine not in self.batches:
            self.batches[engine] = Batch(ENGINES[engine], self._settings)
        return self.batches[engine]

    def _by_context(self, model: Model, group: Group, columns: Sequence[int]) -> Iterator[Row]:
        """Rows of an engine whose settings may follow from the context."""
        values = {**dict(self._settings), **self._asked}
        contexts = [self._question.contexts[possible] for possible in self.tokens.possible]
        for column in columns:
            quantization = self._question.quantizations[column]
            at = tuple(
                resolved(model, group, quantization, {**values, "context_tokens": tokens}, self._errors)
                for tokens in contexts
            )
            first = next((scenario for scenario in at if scenario is not None), None)
            if first is not None:
                yield Row(column, first.quantization, group, first, at)


def _raise_whole(errors: list[Errors]) -> None:
    """Raise what is wrong with every cell, unless the cells merely do not exist."""
    for found in errors:
        if any(wrong.parameter not in _OF_A_CELL for wrong in found):
            raise InvalidParameters(*found)
