"""What the steps of a speed share: where figures come from, and how rates are printed."""

from dataclasses import dataclass

from service.core.derivation.expressions import Expression, Operand, ceil_div, power, significant
from service.core.derivation.facts import rule
from service.core.derivation.ranks import UNSTATED
from service.core.derivation.steps import Trace, Unit
from service.core.scenario import Scenario
from service.core.sizing import Sizing, Sourced
from service.core.speed.constants import Interval, SpeedConstants
from service.core.speed.estimate import run_of
from service.core.speed.result import Estimate, Speed
from service.core.speed.run import Run

DIGITS = 4  # of a rate as it is printed
PATH = "speed"
MICRO = 1e-6
FORMULA = rule("service/core/speed, as docs/speed.md describes it")


@dataclass(frozen=True, slots=True)
class Told:
    """What the steps of a speed lean on: the trace, the run, and where its constants come from."""

    trace: Trace
    scenario: Scenario
    run: Run
    constants: SpeedConstants
    calibrated: Sourced
    weights: Sourced

    def constant(self, symbol: str, value: float, unit: Unit = Unit.RATIO) -> Expression:
        """A figure of config/speed.yaml."""
        return self.trace.given(symbol, value, unit, self.calibrated)

    def fact(self, symbol: str, value: float, unit: Unit) -> Expression:
        """A figure that follows from the model's tensors and config."""
        return self.trace.given(symbol, value, unit, rule("tensors and layers of the model, in this format"))

    def of_gpu(self, symbol: str, value: float, unit: Unit) -> Expression:
        """A figure of the accelerator."""
        gpu = self.scenario.gpu
        return self.trace.given(symbol, value, unit, rule(gpu.sources[0] if gpu.sources else "GPU catalog"))

    def asked(self, name: str, unit: Unit = Unit.COUNT) -> Expression:
        """A parameter of the scenario."""
        return self.trace.asked(self.scenario, name, unit)

    def degree(self, name: str, value: int) -> Expression:
        """A degree of parallelism of the layout."""
        return self.trace.asked(self.scenario, name, Unit.WAYS, value)

    def follows(self, symbol: str, formula: Expression, unit: Unit = Unit.SECONDS) -> Expression:
        """A step by one of the model's formulas."""
        return self.trace.follows(symbol, formula, unit, FORMULA)

    def share(self, symbol: str, tokens: Operand) -> Expression:
        """Part of the routed experts that so many tokens touch."""
        done = self.run.work
        chosen = self.fact("experts_per_token", done.experts_per_token, Unit.COUNT)
        missed = 1 - chosen / self.fact("experts", done.experts, Unit.COUNT)
        return self.follows(symbol, 1 - power(missed, tokens), Unit.RATIO)


def told(trace: Trace, sizing: Sizing, constants: SpeedConstants, speed: Speed) -> Told:
    """What the steps of a sizing's speed lean on."""
    run, evidence = run_of(sizing.scenario), speed.decode_basis.evidence
    source = Sourced(evidence, f"config/speed.yaml of {constants.as_of}: {run.runtime}, {run.generation}")
    return Told(trace, sizing.scenario, run, constants, source, sizing.plan.evidence.get("weights", UNSTATED))


def printed(
    told: Told, symbol: str, value: Expression, interval: Interval, place: str, found: Estimate, *,
    unit: Unit = Unit.TOKENS_PER_SECOND, inverse: bool = False,
) -> None:  # fmt: skip
    """The interval's ends, and three figures as they are printed; inverse: a high rate is a short time."""
    low, high = (
        told.trace.given(
            f"interval_{end}", getattr(interval, end), Unit.RATIO, told.calibrated, rows=interval.rows
        )
        for end in ("low", "high")
    )
    ends = (value / high, value / low) if inverse else (value * low, value * high)
    of_end = {
        name: told.trace.follows(f"{symbol}_{name}", end, unit, FORMULA, title=symbol, end=name)
        for name, end in zip(("low", "high"), ends, strict=True)
    }
    for name in ("low", "estimate", "high"):
        exact = value if name == "estimate" else of_end[name]
        told.trace.follows(
            f"{symbol}_{name}_printed",
            significant(exact, DIGITS),
            unit,
            FORMULA,
            figure=float(f"{getattr(found, name):.{DIGITS}g}"),
            prints=(f"{PATH}.{place}.{name}",),
            title="printed_figure",
            end=name,
        )


def sequences(told: Told) -> Expression:
    """Streams of one replica."""
    asked = told.asked("concurrent_sequences", Unit.SEQUENCES)
    if told.run.layout.data == 1:
        return asked
    replica = ceil_div(asked, told.degree("data_parallel", told.run.layout.data))
    return told.follows("sequences_of_replica", replica, Unit.SEQUENCES)
