"""vLLM's allocation for a scenario, from weights to limits."""

from collections.abc import Sequence

from service.core.catalogued import Model
from service.core.engines.base import short_of_pool, weight_notes
from service.core.engines.vllm.budget import Budget, Stage, binding, usable_bytes
from service.core.engines.vllm.figures import sequence_figures
from service.core.engines.vllm.generation import generation
from service.core.engines.vllm.stages import (
    Loaded,
    cache_config,
    drafting_layers,
    load,
    model_holdings,
    stages_with,
)
from service.core.evidence import Evidence
from service.core.scenario import Scenario
from service.core.sizing import EnginePlan, Note, Rank, Sourced
from service.core.units import ceil_div
from service.core.weights.table import WeightTable
from service.core.weights.weigh import weigh

_PLANNER = "vLLM 0.33.0 v1/core/kv_cache_planning.py"
_PROFILER = "vLLM 0.33.0 v1/worker/gpu_worker.py determine_available_memory, fitted to what vLLM printed"
_RUNTIME = "what vLLM printed; NVIDIA aiconfigurator 0.12.0 (NCCL); the pool's null block"


def plan(scenario: Scenario, *, limits: bool = True) -> EnginePlan:
    """What vLLM allocates on every rank, whatever the GPU holds.

    Sequences are spread over the data-parallel replicas; the printed pool is that of one replica.
    """
    layout, context, sequences = scenario.layout, scenario.context_tokens, scenario.concurrent_sequences
    config, table = cache_config(scenario), loaded_table(scenario)
    loaded = load(scenario.model, table, layout, generation(scenario.gpu))
    stages = stages_with(scenario, loaded, config)
    usable = usable_bytes(scenario.gpu, scenario)
    budget = Budget(binding(stages), usable, scenario.kv_cache_memory_bytes, layout.data)
    figures = sequence_figures(model_holdings(scenario), config)
    each = ceil_div(sequences, layout.data)
    alike = layout.tensor * layout.data
    longest = scenario.model.architecture.max_context_tokens
    return EnginePlan(
        ranks=tuple(Rank(alike, stage.memory(context, each)) for stage in stages),
        host_bytes=host_bytes(loaded, scenario.cpu_offload_percent),
        kv_bytes_per_token=figures.kv_bytes_per_token,
        kv_window_bytes_per_sequence=figures.kv_window_bytes,
        state_bytes_per_sequence=figures.state_bytes,
        usable_bytes=usable,
        kv_cache_capacity_tokens=budget.capacity_tokens(context, sequences),
        max_context_tokens=budget.max_context_tokens(sequences, longest) if limits else None,
        max_concurrent_sequences=budget.max_sequences(context) if limits else None,
        evidence=_evidence(scenario, table),
        model_weights_bytes=table.total_bytes,
        warnings=(*weight_notes(table), *_pool_notes(stages, context, each)),
        shortages=_shortages(scenario, budget),
    )


def loaded_table(scenario: Scenario) -> WeightTable:
    """The tensors that the engine loads."""
    vision = scenario.vision and bool(scenario.model.architecture.vision)
    drafting = bool(drafting_layers(scenario))
    return weigh(scenario.model, scenario.quantization, mtp=drafting, vision=vision)


def host_bytes(loaded: Loaded, offload_percent: float) -> int:
    """Lookup tables, one copy, and the share of the rest that `--cpu-offload-gb` keeps off the GPU."""
    return loaded.tables + int((loaded.total - loaded.tables) * offload_percent / 100)


def _evidence(scenario: Scenario, table: WeightTable) -> dict[str, Sourced]:
    """How well each term is known; a layout that vLLM 0.33.0 does not have is planned by analogy."""
    supported = _tested(scenario.model)
    cache = Sourced(Evidence.CONFIG if supported else Evidence.ESTIMATE, _PLANNER)
    gpu, tower = scenario.gpu, scenario.vision and bool(scenario.model.architecture.vision)
    return {
        "weights": Sourced(table.evidence, table.source),
        "kv_cache": cache,
        "recurrent_state": cache,
        "compute_buffers": Sourced(Evidence.ESTIMATE if tower else Evidence.CALIBRATED, _PROFILER),
        "runtime_overhead": Sourced(Evidence.ESTIMATE, _RUNTIME),
        "usable": Sourced(gpu.memory_evidence, gpu.sources[0] if gpu.sources else "GPU catalog"),
    }


def _tested(model: Model) -> bool:
    """Whether the planned release itself runs the architecture."""
    support = model.support.get("vllm")
    return support is not None and support.status == "yes" and "after" not in (support.since or "")


def _pool_notes(stages: Sequence[Stage], context_tokens: int, sequences: int) -> tuple[Note, ...]:
    """Recurrent layers draw pages from the one pool, so kv_cache holds their state too."""
    pages = max(
        stage.demand.bytes_per_block * stage.demand.blocks(context_tokens, sequences, constant=True)
        for stage in stages
    )
    return (Note("state_in_block_pool", {"state_bytes": pages}),) if pages else ()


def _shortages(scenario: Scenario, budget: Budget) -> tuple[Note, ...]:
    """A pool fixed by hand that has no room itself, or cannot hold the request."""
    context, sequences = scenario.context_tokens, scenario.concurrent_sequences
    if budget.pinned_bytes is None or budget.holds(context, sequences):
        return ()
    return (short_of_pool(budget.pinned_bytes, budget.missing(context, sequences)),)
