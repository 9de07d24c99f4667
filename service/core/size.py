"""Scenario -> Sizing: the engine plans, this module judges."""

from collections.abc import Iterator
from dataclasses import replace

from service.core.catalogued import Model
from service.core.engines import ENGINES
from service.core.engines.base import Settles
from service.core.hardware import Gpu, GpuKind
from service.core.layout import choose_layout, largest_count
from service.core.provenance import ProvidedBy
from service.core.remarks import is_derived, remarks_of, with_doubt
from service.core.request import Request
from service.core.scenario import Scenario
from service.core.sizing import EnginePlan, Limits, Note, Sizing, Verdict
from service.core.units import GIB, ceil_div
from service.errors import InvalidParameters

TIGHT_ABOVE = 0.95  # part of the usable memory from which a fit is called tight
MAX_GPU_COUNT = 1024
_ALMOST = 1.5  # times the usable memory that a number of GPUs needs where one between may do


def size(scenario: Scenario) -> Sizing:
    """The answer for one scenario; computed whatever the verdict."""
    made = ENGINES[scenario.engine].plan(scenario)
    plan = at_least_nothing(with_doubt(made, scenario.model))
    usable = plan.usable_bytes
    total = plan.fullest.total
    verdict, reasons = judge(scenario, plan)
    return Sizing(
        scenario=scenario,
        plan=plan,
        verdict=verdict,
        headroom_bytes=None if usable is None else usable - total,
        utilization=None if not usable else total / usable,
        reasons=reasons,
        warnings=(*plan.warnings, *_warnings(scenario)),
        limits=Limits(
            max_context_tokens=plan.max_context_tokens,
            max_concurrent_sequences=plan.max_concurrent_sequences,
            kv_cache_capacity_tokens=plan.kv_cache_capacity_tokens,
            min_gpu_count=min_gpu_count(scenario, made),
        ),
    )


def at_least_nothing(plan: EnginePlan) -> EnginePlan:
    """The plan with usable memory that is not negative: more may be reserved than there is."""
    if plan.usable_bytes is None or plan.usable_bytes >= 0:
        return plan
    return replace(plan, usable_bytes=0)


def fits(scenario: Scenario, plan: EnginePlan) -> bool:
    """Whether every GPU, and the host where its memory is known, holds its part."""
    return plan.usable_bytes is not None and not _shortages(scenario, plan)


def judge(scenario: Scenario, plan: EnginePlan) -> tuple[Verdict, tuple[Note, ...]]:
    """The verdict of a plan and its reasons."""
    refusals = (*unsupported(scenario), *plan.refusals)
    if refusals:
        return Verdict.UNSUPPORTED, refusals
    if plan.usable_bytes is None:
        code = "memory_unknown" if scenario.gpu.exists else "gpu_does_not_exist"
        return Verdict.UNKNOWN, (Note(code, {"gpu": scenario.gpu.name}),)
    if not ENGINES[scenario.engine].modelled:
        return Verdict.UNKNOWN, (Note("engine_not_modelled", {"engine": scenario.engine}),)
    reasons = _shortages(scenario, plan)
    if reasons:
        return Verdict.DOES_NOT_FIT, reasons
    if is_tight(plan.fullest.total, plan.usable_bytes):
        return Verdict.TIGHT, (Note("little_headroom", {"percent": round(100 * TIGHT_ABOVE)}),)
    return Verdict.FITS, ()


def is_tight(total: int, usable: int) -> bool:
    """Whether a total that fits leaves little of the usable memory; numbers or arrays."""
    return total > TIGHT_ABOVE * usable


def unsupported(scenario: Scenario) -> tuple[Note, ...]:
    """Why the engine does not run the model, or not on this accelerator."""
    if refuses_model(scenario.engine, scenario.model):
        values = {"engine": scenario.engine, "model": scenario.model.name}
        return (Note("engine_does_not_support", values),)
    if refuses_gpu(scenario.engine, scenario.gpu):
        return (Note("engine_not_on_gpu", {"engine": scenario.engine, "gpu": scenario.gpu.name}),)
    return ()


def refuses_model(engine: str, model: Model) -> bool:
    """Whether the engine is known not to run the model."""
    support = model.support.get(engine)
    return support is not None and support.status == "no"


def refuses_gpu(engine: str, gpu: Gpu) -> bool:
    """Whether the engine has no backend for an accelerator that exists."""
    return gpu.exists and not gpu.backends(engine)


def _shortages(scenario: Scenario, plan: EnginePlan) -> tuple[Note, ...]:
    reasons = list(plan.shortages)
    memory, usable = plan.fullest, plan.usable_bytes or 0
    if memory.total > usable:
        code = "weights_exceed_memory" if memory.weights > usable else "total_exceeds_usable"
        values = {"needed": memory.total, "weights": memory.weights, "usable": usable}
        reasons.append(Note(code, {**values, "missing": memory.total - usable}))
    available = _host_memory(scenario, memory.total)
    if available is not None and plan.host_bytes > available:
        reasons.append(Note("host_memory_short", {"needed": plan.host_bytes, "available": available}))
    return tuple(reasons)


def _host_memory(scenario: Scenario, on_gpu: int) -> int | None:
    """Bytes of system RAM: what was given, of unified memory at most what the GPU leaves; None: not known."""
    shared, given = unified_bytes(scenario.gpu), scenario.system_memory_gib
    known = [] if given is None else [int(given * GIB)]
    return min([*known, *([] if shared is None else [max(0, shared - on_gpu)])], default=None)


def unified_bytes(gpu: Gpu) -> int | None:
    """Memory that the GPU shares with the system; None where it has its own, or the size is not known."""
    return gpu.memory_bytes if gpu.kind is GpuKind.UNIFIED else None


def host_exceeds(host_bytes: int, memory_gib: float) -> bool:
    """Whether this is more than a system RAM holds; numbers or arrays."""
    return host_bytes > memory_gib * GIB


def _warnings(scenario: Scenario) -> tuple[Note, ...]:
    notes = []
    model, gpu, engine = scenario.model, scenario.gpu, scenario.engine
    support = model.support.get(engine)
    if support is None or support.status == "unknown":
        notes.append(Note("engine_support_unknown", {"engine": engine, "model": model.name}))
    elif support.since and support.status == "yes":
        notes.append(Note("engine_version_needed", {"engine": engine, "since": support.since}))
    if gpu.port(engine, scenario.backend):
        notes.append(Note("engine_is_port", {"engine": engine, "gpu": gpu.name}))
    native_context = model.architecture.max_context_tokens
    if scenario.context_tokens > native_context:
        notes.append(Note("context_above_native", {"native": native_context}))
    if is_derived(model):
        notes.append(Note("model_facts_derived", {"model": model.name}))
    if gpu.provided_by is ProvidedBy.OPERATOR:
        notes.append(Note("gpu_by_operator", {"gpu": gpu.name}))
    if gpu.exists and gpu.evidence == "estimate":
        notes.append(Note("undocumented_gpu", {"gpu": gpu.name}))
    if gpu.exists and gpu.memory_evidence == "estimate":
        notes.append(Note("memory_size_estimated", {"gpu": gpu.name}))
    return (*notes, *remarks_of(model))


def min_gpu_count(scenario: Scenario, made: EnginePlan | None = None) -> int | None:
    """The smallest number of GPUs whose default layout fits, at most those of a scenario that fits itself.

    made: the scenario's own plan, as the engine made it, where there is one already.
    None when none up to MAX_GPU_COUNT does, or the memory is not known.
    """
    engine, counts = ENGINES[scenario.engine], _Counts(scenario, made)
    single = counts.plan(with_gpu_count(scenario, 1))
    if not single.usable_bytes or not engine.modelled:
        return None
    most = min(MAX_GPU_COUNT, largest_count(scenario.model.architecture, scenario.gpu, engine.splits_layers))
    # Together the GPUs hold every weight at least once, so fewer cannot do.
    fewest = min(max(1, ceil_div(single.total.weights, single.usable_bytes)), most)
    last = next((count for count in _doubled(fewest, most) if counts.fit(count)), 0)
    # Where each GPU more costs a reserve on all (SGLang), few numbers may fit, none of those tried first.
    if not last and isinstance(engine, Settles) and any(map(counts.almost_fit, _doubled(fewest, most))):
        last = most
    own = scenario.gpu_count if fits(scenario, counts.plan(scenario)) else None
    if own is not None:
        last = min(last or own, own)
    return next((count for count in range(fewest, last + 1) if counts.fit(count)), own)


class _Counts:
    """A scenario on other numbers of GPUs; every number is planned once. made: its own plan, if known."""

    def __init__(self, scenario: Scenario, made: EnginePlan | None) -> None:
        self._scenario, self._made = scenario, made
        self._known: dict[int, tuple[Scenario, EnginePlan] | None] = {}

    def plan(self, candidate: Scenario) -> EnginePlan:
        """The plan of a scenario without its limits."""
        if self._made is not None and candidate == self._scenario:
            return self._made
        return ENGINES[candidate.engine].plan(candidate, limits=False)

    def fit(self, count: int) -> bool:
        """Whether a number has a default layout that fits."""
        planned = self._on(count)
        return planned is not None and fits(*planned)

    def almost_fit(self, count: int) -> bool:
        """Whether so little is missing that a number between those tried may fit."""
        planned = self._on(count)
        return planned is not None and planned[1].fullest.total <= _ALMOST * (planned[1].usable_bytes or 0)

    def _on(self, count: int) -> tuple[Scenario, EnginePlan] | None:
        if count not in self._known:
            self._known[count] = self._planned(count)
        return self._known[count]

    def _planned(self, count: int) -> tuple[Scenario, EnginePlan] | None:
        try:
            candidate = with_gpu_count(self._scenario, count)
        except InvalidParameters:
            return None
        return candidate, self.plan(candidate)


def _doubled(fewest: int, most: int) -> Iterator[int]:
    """Counts to try first: more GPUs mostly fit where fewer do."""
    count = fewest
    while count < most:
        yield count
        count *= 2
    yield most


def with_gpu_count(scenario: Scenario, count: int) -> Scenario:
    """The scenario on `count` GPUs in their default layout.

    Raises InvalidParameters when the count has no layout.
    """
    request = Request(model=scenario.model, gpu=scenario.gpu, gpu_count=count)
    engine = ENGINES[scenario.engine]
    count, layout = choose_layout(
        request, scenario.quantization, engine.id, splits_layers=engine.splits_layers
    )
    return replace(scenario, gpu_count=count, layout=layout)
