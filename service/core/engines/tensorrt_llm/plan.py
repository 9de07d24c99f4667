"""TensorRT-LLM's allocation for a scenario, from weights to limits."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from service.core.architecture.kinds import kinds_of
from service.core.architecture.model import Architecture
from service.core.engines.base import short_of_pool, weight_notes
from service.core.engines.platforms import free_at_start
from service.core.engines.tensorrt_llm.budget import FREE_FRACTION, Budget, Stage
from service.core.engines.tensorrt_llm.buffers import (
    FITTED_DEGREES,
    MAX_BATCH,
    activation_bytes,
    runtime_overhead,
)
from service.core.engines.tensorrt_llm.cache import (
    CacheConfig,
    by_rule,
    bytes_per_token,
    rates,
    state_bytes,
    window_bytes,
)
from service.core.evidence import Evidence, weakest
from service.core.identity import ByIdentity
from service.core.parallel import stage_layers, stage_weights
from service.core.scenario import Scenario
from service.core.sizing import EnginePlan, Note, Rank, Sourced
from service.core.units import ceil_div
from service.core.weights.table import WeightTable
from service.core.weights.weigh import weigh

_POOLS = "TensorRT-LLM _torch/pyexecutor/resource_manager.py"
_FITTED = "NVIDIA aiconfigurator 0.12.0, fitted to TensorRT-LLM"
_FRACTION = "TensorRT-LLM _torch/pyexecutor/_util.py _cal_max_memory: a fraction of what profiling leaves"


@dataclass(frozen=True, slots=True)
class _Figures:
    """What one sequence takes of a rank that holds the whole model."""

    bytes_per_token: int
    window_bytes: int
    state_bytes: int
    by_rule: bool


def _figures_of(architecture: Architecture, kv_dtype: str, drafting: bool) -> _Figures:
    whole = kinds_of(architecture, drafting=drafting)
    alone = CacheConfig(kv_dtype, state_dtype=architecture.state_dtype)
    return _Figures(
        bytes_per_token(whole, alone), window_bytes(whole, alone), state_bytes(whole, alone), by_rule(whole)
    )


_figures: ByIdentity[Architecture, str, bool, _Figures] = ByIdentity(_figures_of)


def plan(scenario: Scenario, *, limits: bool = True) -> EnginePlan:
    """What TensorRT-LLM allocates on every rank, whatever the GPU holds; see `Budget` for "usable".

    Sequences are spread over the data-parallel replicas; the pool that is printed is that of one replica.
    """
    layout, context, sequences = scenario.layout, scenario.context_tokens, scenario.concurrent_sequences
    table = _table(scenario)
    stages = stages_with(scenario, stage_weights(table, scenario.model.architecture, layout))
    free = free_at_start(scenario.gpu, scenario.platform, scenario.reserved_memory_bytes)
    budget = Budget(stages, free.bytes, fraction(scenario), scenario.kv_cache_memory_bytes, layout.data)
    whole = _figures(scenario.model.architecture, scenario.kv_cache_dtype, drafts(scenario))
    each = ceil_div(sequences, layout.data)
    longest = scenario.model.architecture.max_context_tokens
    return EnginePlan(
        ranks=tuple(Rank(layout.tensor * layout.data, stage.memory(context, each)) for stage in stages),
        host_bytes=0,
        kv_bytes_per_token=whole.bytes_per_token,
        kv_window_bytes_per_sequence=whole.window_bytes,
        state_bytes_per_sequence=whole.state_bytes,
        usable_bytes=budget.usable(context, sequences),
        kv_cache_capacity_tokens=budget.capacity_tokens(context),
        max_context_tokens=budget.max_context_tokens(sequences, longest) if limits else None,
        max_concurrent_sequences=budget.max_sequences(context, max(MAX_BATCH, each)) if limits else None,
        evidence=_evidence(scenario, table, whole.by_rule, free.sourced),
        model_weights_bytes=table.total_bytes,
        warnings=(*weight_notes(table), *_notes(scenario, whole.by_rule), *free.notes),
        shortages=_shortages(scenario, budget),
    )


def _table(scenario: Scenario) -> WeightTable:
    """The tensors that the engine loads."""
    return weigh(
        scenario.model,
        scenario.quantization,
        mtp=drafts(scenario),
        vision=sees(scenario),
    )


def fraction(scenario: Scenario) -> float:
    """The part of the free memory that the pools get."""
    return FREE_FRACTION if scenario.memory_utilization is None else scenario.memory_utilization


def sees(scenario: Scenario) -> bool:
    """Whether a vision tower is loaded."""
    return scenario.vision and bool(scenario.model.architecture.vision)


def drafts(scenario: Scenario) -> bool:
    """Whether MTP layers are loaded: for speculation only."""
    return bool(scenario.speculative_tokens and scenario.model.architecture.mtp)


def stages_with(scenario: Scenario, sizes: Sequence[int]) -> tuple[Stage, ...]:
    """The rank of every pipeline stage, with weights of these sizes; drafting layers run on the last."""
    architecture, layout = scenario.model.architecture, scenario.layout
    config = CacheConfig(
        scenario.kv_cache_dtype, layout.tensor, layout.decode_context, architecture.state_dtype
    )
    activations = activation_bytes(architecture, layout, scenario.max_batched_tokens)
    overhead, drafting = runtime_overhead(layout), drafts(scenario)
    ranges = stage_layers(len(architecture.layers), layout.pipeline)
    held = [kinds_of(architecture, own, drafting=drafting) for own in ranges]
    return tuple(
        Stage(weights, activations, overhead, rates(kept, config), state_bytes(kept, config))
        for weights, kept in zip(sizes, held, strict=True)
    )


def _evidence(scenario: Scenario, table: WeightTable, ruled: bool, free: Sourced) -> dict[str, Sourced]:
    """How well each term is known; pools by analogy where no rule was read."""
    cache = Sourced(Evidence.CONFIG if ruled else Evidence.ESTIMATE, _POOLS)
    fitted = scenario.layout.tensor in FITTED_DEGREES
    return {
        "weights": Sourced(table.evidence, table.source),
        "kv_cache": cache,
        "recurrent_state": cache,
        "compute_buffers": Sourced(Evidence.CALIBRATED if fitted else Evidence.ESTIMATE, _FITTED),
        "runtime_overhead": Sourced(Evidence.CALIBRATED, _FITTED),
        "usable": Sourced(weakest(free.evidence, Evidence.ESTIMATE), _FRACTION),
    }


def _notes(scenario: Scenario, ruled: bool) -> Iterator[Note]:
    if not ruled:
        yield Note("engine_rule_generic", {"engine": scenario.engine})


def _shortages(scenario: Scenario, budget: Budget) -> tuple[Note, ...]:
    """A pool fixed by hand that has no room itself, or cannot hold the request."""
    if budget.pinned_bytes is None or budget.holds(scenario.context_tokens, scenario.concurrent_sequences):
        return ()
    return (short_of_pool(budget.pinned_bytes, budget.missing),)
