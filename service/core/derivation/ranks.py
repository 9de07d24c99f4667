"""GPUs that hold the same, so that a derivation explains each kind once."""

from collections.abc import Mapping
from dataclasses import dataclass

from service.core.derivation.expressions import Expression, add
from service.core.derivation.steps import Topic, Trace, Unit
from service.core.evidence import Evidence
from service.core.sizing import EnginePlan, Memory, Sourced

EXPLAINED = 4  # kinds of GPUs whose terms are derived; the others are listed with their figures

TERMS: Mapping[str, Topic] = {
    "weights": Topic.WEIGHTS,
    "kv_cache": Topic.CACHE,
    "recurrent_state": Topic.STATE,
    "compute_buffers": Topic.BUFFERS,
    "runtime_overhead": Topic.OVERHEAD,
}
_LAYOUT = Sourced(Evidence.CONFIG, "layout of the scenario: GPUs that hold the same")
UNSTATED = Sourced(Evidence.UNKNOWN, "engine plan")

# (number of the kind of GPU, term of its memory) -> where it comes from.
RankTerms = Mapping[tuple[int, str], Expression]


@dataclass(frozen=True, slots=True)
class Kind:
    """GPUs that hold the same. first: index of the first of them in the plan's ranks. gpus: how many."""

    first: int
    gpus: int
    memory: Memory


def kinds(plan: EnginePlan) -> tuple[Kind, ...]:
    """Every kind of GPU, the one that holds most first."""
    found: dict[Memory, Kind] = {}
    for index, rank in enumerate(plan.ranks):
        known = found.get(rank.memory)
        first, gpus = (known.first, known.gpus) if known else (index, 0)
        found[rank.memory] = Kind(first, gpus + rank.count, rank.memory)
    fullest = plan.fullest
    return tuple(sorted(found.values(), key=lambda kind: (kind.memory != fullest, kind.first)))


def memory_steps(trace: Trace, plan: EnginePlan, explained: RankTerms) -> Expression:
    """Terms of every kind of GPU, their sums over all GPUs, and the total of the fullest GPU."""
    held = kinds(plan)
    parts: dict[str, list[Expression]] = {name: [] for name in TERMS}
    counts = []
    for number, kind in enumerate(held):
        trace.about(Topic.INPUTS)
        counts.append(trace.given("gpus_alike", kind.gpus, Unit.GPUS, _LAYOUT, number=number + 1))
        for name, topic in TERMS.items():
            parts[name].append(_term(trace, plan, kind, number, name, topic, explained.get((number, name))))
    trace.about(Topic.TOTALS)
    overall = []
    for name, terms in parts.items():
        total = add(count * term for count, term in zip(counts, terms, strict=True))
        overall.append(
            trace.follows(
                f"{name}_all",
                total,
                Unit.BYTES,
                plan.evidence.get(name, UNSTATED),
                prints=(f"memory.{name}",),
                title="term_on_all_gpus",
                term=name,
            )
        )
    source = Sourced(Evidence.CONFIG, "sum of the terms")
    trace.follows("total_all", add(overall), Unit.BYTES, source, prints=("memory.total",))
    fullest = add(terms[0] for terms in parts.values())
    return trace.follows("total_per_gpu", fullest, Unit.BYTES, source, prints=("per_gpu.total",))


def _term(
    trace: Trace,
    plan: EnginePlan,
    kind: Kind,
    number: int,
    name: str,
    topic: Topic,
    formula: Expression | None,
) -> Expression:
    trace.about(topic)
    return trace.follows(
        f"{name}_gpu",
        formula,
        Unit.BYTES,
        plan.evidence.get(name, UNSTATED),
        figure=getattr(kind.memory, name),
        prints=(f"per_gpu.{name}",) if number == 0 else (),
        title="term_on_one_gpu",
        term=name,
        number=number + 1,
    )
