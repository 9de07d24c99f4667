"""What parallelism leaves of the weights on one rank, by kind of split."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from service.core.architecture.tensors import Split
from service.core.derivation.expressions import Expression, add, ceil_div, lift
from service.core.derivation.steps import Topic, Trace, Unit
from service.core.parallel import Cut, stage_cuts
from service.core.scenario import DEGREES, Scenario
from service.core.sizing import Sourced
from service.core.weights.table import WeightTable


def rank_shares(
    trace: Trace,
    scenario: Scenario,
    table: WeightTable,
    stage: int,
    source: Sourced,
    hosted: frozenset[str] = frozenset(),
) -> Expression:
    """Bytes of the weights on a rank of one pipeline stage; every sum is rounded up for each layer.

    hosted: roles of the lookup tables that the host keeps. Source of the rules: `service.core.parallel`.
    """
    cuts = stage_cuts(table, scenario.model.architecture, scenario.layout, stage, hosted=hosted)
    degrees = [
        trace.asked(scenario, name, Unit.WAYS, getattr(scenario.layout, degree))
        for name, degree in DEGREES.items()
        if getattr(scenario.layout, degree) > 1
    ]
    inputs = tuple(symbol for degree in degrees for symbol in degree.inputs)
    trace.about(Topic.WEIGHTS)
    shares = []
    for split in Split:
        cuts_of = [cut for cut in cuts if cut.split is split and cut.bytes]
        if cuts_of:
            total = replace(_sum(cuts_of), symbolic="sum(ceil_div(bytes * share, ways))", inputs=inputs)
            name = f"rank_{split}"
            shares.append(
                trace.follows(name, total, Unit.BYTES, source, title="rank_weights", split=str(split))
            )
    return add(shares)


def _sum(cuts: Iterable[Cut]) -> Expression:
    """The sum of the cuts in numbers; equal ones are counted."""
    terms = []
    for (size, share, of), count in Counter((cut.bytes, cut.share, cut.of) for cut in cuts).items():
        whole = lift(size)
        part = whole if share == of else ceil_div(whole * share if share > 1 else whole, of)
        terms.append(lift(count) * part if count > 1 else part)
    return add(terms)
