"""SGLang's allocation for a scenario, from weights to limits."""

from dataclasses import replace

from service.core.catalogued import Model
from service.core.engines.sglang import states
from service.core.engines.sglang.classes import NOT_REGISTERED
from service.core.engines.sglang.deployment import Deployment, Loaded
from service.core.engines.sglang.figures import sequence_figures
from service.core.engines.sglang.flags import resolve_flags
from service.core.engines.sglang.fraction import graph_mib, mem_fraction_static
from service.core.engines.sglang.loading import copied_bytes, hosted_roles, rank_weights, weight_table
from service.core.engines.sglang.remarks import refusals, shortages, warnings
from service.core.engines.sglang.stages import sizers_of, stages_of
from service.core.engines.vllm.buffers import activations, runtime_overhead
from service.core.evidence import Evidence
from service.core.parallel import lookup_bytes
from service.core.scenario import Scenario
from service.core.sizing import EnginePlan, Rank, Sourced
from service.core.units import MIB, ceil_div
from service.core.weights.table import WeightTable

_MULTIMODAL_CACHE = 100 * MIB  # SGLANG_VLM_CACHE_SIZE_MB
_POOLS = "SGLang 0.5.23 srt/model_executor/pool_configurator.py, srt/mem_cache/kv_cache_configurator.py"
_RESERVE = "SGLang 0.5.23 request table; activations and graphs estimated"
_RUNTIME = "NVIDIA aiconfigurator 0.12.0 (runtime, NCCL); SGLang's multimodal cache and stranded pool bytes"


def settle(scenario: Scenario) -> Scenario:
    """The scenario with the mem_fraction_static that SGLang computes when the flag is not given."""
    if scenario.memory_utilization is not None and "memory_utilization" not in scenario.defaulted:
        return scenario
    fraction = mem_fraction_static(
        scenario.model.architecture,
        scenario.gpu,
        scenario.layout,
        scenario.max_batched_tokens,
        multimodal=scenario.vision,
    )
    return replace(scenario, memory_utilization=fraction)


def plan(scenario: Scenario, *, limits: bool = True) -> EnginePlan:
    """What SGLang allocates on every rank, whatever the GPU holds.

    Sequences are spread over the attention data-parallel workers; the printed pool is that of one rank.
    """
    scenario = settle(scenario)
    table = weight_table(scenario)
    server = deployment(scenario, table)
    layout, context, sequences = scenario.layout, scenario.context_tokens, scenario.concurrent_sequences
    each = ceil_div(sequences, layout.data)
    held = server.capacity(context)
    figures = sequence_figures(scenario.model.architecture, server.flags)
    longest = scenario.model.architecture.max_context_tokens
    alike = layout.tensor * layout.data
    return EnginePlan(
        ranks=tuple(Rank(alike, memory) for memory in server.memories(context, each)),
        host_bytes=_host_bytes(scenario, table),
        kv_bytes_per_token=figures.kv_bytes_per_token,
        kv_window_bytes_per_sequence=figures.kv_window_bytes,
        state_bytes_per_sequence=figures.state_bytes,
        usable_bytes=server.usable(context, each),
        kv_cache_capacity_tokens=None if held is None else held.tokens,
        max_context_tokens=server.max_context_tokens(sequences, longest) if limits else None,
        max_concurrent_sequences=server.max_sequences(context) if limits else None,
        evidence=_evidence(scenario, table),
        model_weights_bytes=table.total_bytes,
        warnings=warnings(scenario, table, server),
        shortages=shortages(scenario, server),
        refusals=refusals(scenario, server.flags),
    )


def deployment(scenario: Scenario, table: WeightTable) -> Deployment:
    """The server of a settled scenario."""
    architecture, layout, gpu = scenario.model.architecture, scenario.layout, scenario.gpu
    flags = resolve_flags(scenario)
    stages = stages_of(architecture, layout.pipeline)
    beside = _MULTIMODAL_CACHE if scenario.vision else 0
    sizes = rank_weights(scenario, table)
    known = gpu.memory_bytes is not None and gpu.exists
    slot = states.slot_bytes(architecture, layout.tensor, stages)
    return Deployment(
        flags=flags,
        stages=tuple(
            Loaded(
                size,
                beside + copied_bytes(architecture, stage, layout.tensor),
                sizer,
            )
            for size, stage, sizer in zip(sizes, stages, sizers_of(architecture, flags), strict=True)
        ),
        states=states.StatePool(
            slot, states.slots_per_request(flags), flags.draft_tokens, flags.worker_requests
        ),
        available=(gpu.memory_bytes or 0) - scenario.reserved_memory_bytes if known else None,
        fraction=scenario.memory_utilization or 0.0,
        runtime=runtime_overhead(layout),
        transient=_transient(scenario),
        slot_outside=states.outside_bytes(architecture),
        pinned=scenario.kv_cache_memory_bytes,
    )


def _transient(scenario: Scenario) -> int:
    """Activations of a prefill chunk and the graphs as SGLang reckons them; both are estimates."""
    architecture, layout, tokens = scenario.model.architecture, scenario.layout, scenario.max_batched_tokens
    graphs = graph_mib(architecture, scenario.gpu, layout, tokens, multimodal=scenario.vision)
    peak = activations(architecture, layout, scenario.gpu, tokens, vision=scenario.vision)
    return max(peak.layer, peak.vision) + int(graphs * MIB)


def _host_bytes(scenario: Scenario, table: WeightTable) -> int:
    """Lookup tables on the host, one copy, and the share of the rest that --cpu-offload-gb keeps there."""
    tables = lookup_bytes(table, hosted_roles(scenario))
    return tables + int((table.total_bytes - tables) * scenario.cpu_offload_percent / 100)


def _evidence(scenario: Scenario, table: WeightTable) -> dict[str, Sourced]:
    """How well each term is known; other GPUs than NVIDIA's are planned by analogy."""
    known = _tested(scenario.model) and scenario.gpu.compute_capability is not None
    pools = Sourced(Evidence.CONFIG if known else Evidence.ESTIMATE, _POOLS)
    gpu = scenario.gpu
    return {
        "weights": Sourced(table.evidence, table.source),
        "kv_cache": pools,
        "recurrent_state": pools,
        "compute_buffers": Sourced(Evidence.ESTIMATE, _RESERVE),
        "runtime_overhead": Sourced(Evidence.ESTIMATE, _RUNTIME),
        "usable": Sourced(gpu.memory_evidence, gpu.sources[0] if gpu.sources else "GPU catalog"),
    }


def _tested(model: Model) -> bool:
    """Whether the planned release itself runs the architecture."""
    support = model.support.get("sglang")
    yes = support is not None and support.status == "yes"
    return yes and model.architecture.engine_class not in NOT_REGISTERED
