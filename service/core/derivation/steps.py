"""The steps of a derivation, and the trace that collects them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from service.core.derivation.expressions import Expression, Number, named
from service.core.evidence import Evidence, weakest
from service.core.scenario import Scenario
from service.core.sizing import Sourced

SCENARIO = "scenario"


class Topic(StrEnum):
    """What a step is about; steps are ordered by topic, and lean only on their own and earlier ones."""

    INPUTS = "inputs"
    WEIGHTS = "weights"
    CACHE = "kv_cache"
    STATE = "recurrent_state"
    BUFFERS = "compute_buffers"
    OVERHEAD = "runtime_overhead"
    TOTALS = "total"
    FIT = "fit"
    LIMITS = "limits"
    SPEED = "speed"
    COST = "cost"


class Unit(StrEnum):
    """What a value counts."""

    BYTES = "bytes"
    TOKENS = "tokens"
    SEQUENCES = "sequences"
    GPUS = "gpus"
    LAYERS = "layers"
    ELEMENTS = "elements"
    HEADS = "heads"
    BLOCKS = "blocks"
    WAYS = "ways"
    COUNT = "count"
    RATIO = "ratio"
    PERCENT = "percent"
    SECONDS = "seconds"
    MILLISECONDS = "milliseconds"
    MICROSECONDS = "microseconds"
    TOKENS_PER_SECOND = "tokens_per_second"
    BYTES_PER_SECOND = "bytes_per_second"
    OPERATIONS = "operations"
    OPERATIONS_PER_SECOND = "operations_per_second"
    HOURS = "hours"
    MONTHS = "months"
    WATTS = "watts"
    USD = "usd"
    USD_PER_KWH = "usd_per_kwh"


@dataclass(frozen=True, slots=True)
class Step:
    """One number and where it comes from.

    title, parameters: code of the sentence that explains it, and what the sentence names.
    formula / substituted / inputs: of an `Expression`; a step without them is a leaf, taken from its source.
    source: a scenario parameter, the model's config, or the engine's rule. evidence: None for what the
    caller chose. prints: paths of the answer that print the value; an amount's path covers bytes and GiB.
    """

    symbol: str
    topic: Topic
    title: str
    value: Number
    unit: Unit
    source: str
    evidence: Evidence | None = None
    formula: str | None = None
    substituted: str | None = None
    inputs: tuple[str, ...] = ()
    parameters: Mapping[str, object] = field(default_factory=dict)
    prints: tuple[str, ...] = ()


class Trace:
    """Collects steps; each call adds one and returns its symbol as an expression for later formulas.

    A symbol that is taken by another step gets a number; the same step is never listed twice.
    """

    def __init__(self) -> None:
        self._steps: dict[str, Step] = {}
        # Symbol as asked for -> steps that asked for it, each with the symbol that it got.
        self._by_symbol: dict[str, list[tuple[Step, str]]] = {}
        self.topic = Topic.INPUTS

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps by topic, each after its inputs."""
        order = list(Topic)
        return tuple(sorted(self._steps.values(), key=lambda step: order.index(step.topic)))

    def find(self, symbol: str) -> Expression | None:
        """A step that was added before, by its symbol."""
        step = self._steps.get(symbol)
        return None if step is None else named(symbol, step.value)

    def about(self, topic: Topic) -> None:
        """Steps that follow are about this."""
        self.topic = topic

    def given(
        self,
        symbol: str,
        value: Number,
        unit: Unit,
        source: Sourced,
        /,
        *,
        title: str | None = None,
        **parameters: object,
    ) -> Expression:
        """A leaf: a fact, or an engine's figure that no formula here explains."""
        return self._add(
            Step(
                symbol,
                self.topic,
                title or symbol,
                value,
                unit,
                source.source,
                source.evidence,
                parameters=parameters,
            )
        )

    def asked(self, scenario: Scenario, name: str, unit: Unit, value: Number | None = None) -> Expression:
        """A parameter of the scenario; value: where the scenario itself holds it under another name."""
        chosen = getattr(scenario, name) if value is None else value
        step = Step(name, Topic.INPUTS, "scenario_parameter", chosen, unit, f"{SCENARIO}: {name}")
        return self._add(replace(step, parameters={"parameter": name}))

    def follows(
        self,
        symbol: str,
        formula: Expression | None,
        unit: Unit,
        source: Sourced,
        /,
        *,
        figure: Number | None = None,
        prints: Iterable[str] = (),
        title: str | None = None,
        **parameters: object,
    ) -> Expression:
        """A step by formula; title: code of its sentence where that is not the symbol.

        figure: the engine's own number. Where the formula does not give it to the byte, or there is no
        formula, the number stands as a leaf with its source: a derivation never contradicts the answer.
        """
        if figure is None:
            assert formula is not None
            figure = formula.value
        step = Step(
            symbol,
            self.topic,
            title or symbol,
            figure,
            unit,
            source.source,
            source.evidence,
            parameters=parameters,
            prints=tuple(prints),
        )
        if formula is None or not formula.inputs or formula.value != figure:
            return self._add(step)
        return self._add(
            replace(
                step,
                formula=formula.symbolic,
                substituted=formula.substituted,
                inputs=formula.inputs,
                evidence=self._weakest(source.evidence, formula.inputs),
            )
        )

    def _weakest(self, own: Evidence, inputs: Iterable[str]) -> Evidence:
        """No number is known better than those that it follows from; what is 0 takes no part in it."""
        used = (self._steps[symbol] for symbol in inputs)
        return weakest(own, *(step.evidence for step in used if step.evidence is not None and step.value))

    def _add(self, step: Step) -> Expression:
        alike = self._by_symbol.setdefault(step.symbol, [])
        for known, name in alike:
            if known == step:
                return named(name, step.value)
        name, number = step.symbol, 1
        while name in self._steps:
            number += 1
            name = f"{step.symbol}_{number}"
        alike.append((step, name))
        self._steps[name] = step if number == 1 else replace(step, symbol=name)
        return named(name, step.value)
