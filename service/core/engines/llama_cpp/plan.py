"""llama.cpp's allocation for a scenario (llama-server, everything reserved at start)."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from service.core.architecture.caches import KeyValueCache
from service.core.engines.base import weight_notes
from service.core.engines.llama_cpp.cache import kv_bytes_per_token, window_bytes_per_sequence
from service.core.engines.llama_cpp.compute import graph
from service.core.engines.llama_cpp.kv_types import fits_blocks
from service.core.engines.llama_cpp.layers import counted, kinds
from service.core.engines.llama_cpp.limits import reach
from service.core.engines.llama_cpp.load import Group, Load, group
from service.core.engines.llama_cpp.pool import MAX_SEQUENCES, Pool, pool
from service.core.engines.llama_cpp.shares import Shares, shares
from service.core.engines.llama_cpp.split import Offload, devices, offload
from service.core.engines.llama_cpp.state import state_bytes
from service.core.engines.platforms import Allowance, allowance, context_bytes
from service.core.evidence import Evidence
from service.core.scenario import Scenario
from service.core.sizing import EnginePlan, Note, Rank, Sourced
from service.core.weights.formats import FORMATS, Family
from service.core.weights.table import WeightTable
from service.core.weights.weigh import weigh


class Arrangement(NamedTuple):
    """Weights by place, what moves to the host, the load of the devices, (context, sequences) -> pool."""

    placed: Shares
    moved: Offload
    load: Load
    make_pool: Callable[[int, int], Pool]


def plan(scenario: Scenario, *, limits: bool = True) -> EnginePlan:
    """Weights, cache, state and buffers on every GPU, and what the host keeps."""
    allowed = allowance(scenario.gpu, scenario.platform, scenario.reserved_memory_bytes)
    return plan_with(scenario, weights(scenario), allowed, limits=limits)


def weights(scenario: Scenario) -> WeightTable:
    """The tensors of the file, with prediction layers and projector where the scenario wants them.

    A GGUF wherever the format has one; engines planned like this one may load others.
    """
    return weigh(
        scenario.model,
        scenario.quantization,
        mtp=scenario.speculative_tokens > 0,
        vision=scenario.vision,
        family=file_family(scenario.quantization),
    )


def file_family(quantization: str) -> Family | None:
    """GGUF where the format has such a form."""
    return Family.GGUF if FORMATS[quantization].recipe is not None else None


def plan_with(
    scenario: Scenario, table: WeightTable, allowed: Allowance, *, limits: bool = True
) -> EnginePlan:
    """The plan for given weights inside what each GPU allows; what engines built on llama.cpp share."""
    architecture, usable = scenario.model.architecture, allowed.bytes
    context, sequences = scenario.context_tokens, scenario.concurrent_sequences
    placed, moved, load, make_pool = arrange(scenario, table)
    asked = make_pool(context, sequences)
    limit = None if usable is None or not limits else reach(load, usable, make_pool, context, sequences)
    return EnginePlan(
        ranks=tuple(map(Rank, (group.count for group in load.groups), load.memories(asked))),
        host_bytes=placed.tables + moved.bytes + load.host_bytes(asked),
        kv_bytes_per_token=kv_bytes_per_token(architecture, asked.type_k, asked.type_v),
        kv_window_bytes_per_sequence=window_bytes_per_sequence(architecture, asked),
        state_bytes_per_sequence=state_bytes(architecture),
        usable_bytes=usable,
        kv_cache_capacity_tokens=asked.cells,
        max_context_tokens=None if limit is None else limit.context_tokens,
        max_concurrent_sequences=None if limit is None else limit.sequences,
        evidence=_evidence(table, load, allowed),
        model_weights_bytes=table.total_bytes,
        warnings=(*weight_notes(table), *allowed.notes),
        refusals=refusals(scenario),
    )


def arrange(scenario: Scenario, table: WeightTable) -> Arrangement:
    """Where llama.cpp puts the weights, and what decides the rest."""
    placed = shares(table)
    moved = offload(placed, scenario.cpu_offload_percent)
    file_kinds = kinds(scenario.model.architecture, len(placed.layers))
    groups = group(devices(placed, scenario.gpu_count, moved), file_kinds)
    load = load_of(scenario, len(placed.layers), groups, moved)
    return Arrangement(placed, moved, load, pools(scenario, load))


def pools(scenario: Scenario, load: Load) -> Callable[[int, int], Pool]:
    """(context of one sequence, sequences) -> pool."""
    return partial(_pool, scenario, scenario.speculative_tokens if load.drafting else 0)


def _pool(scenario: Scenario, rollback: int, context: int, sequences: int) -> Pool:
    """`-np B -c B*context`, not unified.

    rollback: copies of the state to return to when drafts of the model's own prediction layers are
    rejected (common/common.h need_n_rs_seq); a separate draft model has none.
    """
    return pool(
        context * sequences,
        sequences=sequences,
        micro_batch=scenario.max_batched_tokens,
        type_k=scenario.kv_cache_dtype,
        type_v=scenario.kv_cache_dtype_v,
        rollback=rollback,
    )


def load_of(scenario: Scenario, layers: int, groups: tuple[Group, ...], moved: Offload) -> Load:
    """The load of devices that hold these groups of a file with `layers` layers."""
    model, file_kinds = scenario.model, kinds(scenario.model.architecture, layers)
    return Load(
        architecture=model.architecture,
        graph=graph(model.architecture, model.compute_floats, model.compute_exact),
        kinds=file_kinds.examples,
        groups=groups,
        host=file_kinds.among(range(moved.layers)),
        overhead=context_bytes(scenario.backend),
        staging=moved.staging,
        drafts=scenario.speculative_tokens,
        drafting=layers > len(model.architecture.layers),
        # Any layer or tensor on the host turns pipeline parallelism off (src/llama-context.cpp).
        pipelined=scenario.gpu_count > 1 and not moved.bytes,
    )


def _evidence(table: WeightTable, load: Load, allowed: Allowance) -> Mapping[str, Sourced]:
    """How well each term is known, and from where; by analogy for what llama.cpp does not know."""
    known = load.architecture.gguf_architecture is not None
    exact = Evidence.CONFIG if known else Evidence.ESTIMATE
    return {
        "weights": Sourced(table.evidence, table.source),
        "kv_cache": Sourced(exact, "llama.cpp src/llama-kv-cache.cpp"),
        "recurrent_state": Sourced(exact, "llama.cpp src/llama-memory-recurrent.cpp"),
        "compute_buffers": _compute_evidence(load),
        "usable": allowed.sourced,
        "runtime_overhead": Sourced(
            Evidence.ESTIMATE, "memory breakdown of llama.cpp PR 15860, reserve of Ollama"
        ),
    }


def _compute_evidence(load: Load) -> Sourced:
    """Calibrated where llama-fit-params was run on the model or its kind, on one device."""
    known = load.graph.known and load.architecture.gguf_architecture is not None
    if known and not load.pipelined and not load.drafting:
        return Sourced(Evidence.CALIBRATED, "llama.cpp llama-fit-params on files without weights")
    return Sourced(Evidence.ESTIMATE, "llama.cpp llama-fit-params on related models, inputs by device")


def refusals(scenario: Scenario) -> tuple[Note, ...]:
    """Cache types that llama.cpp would refuse for this model, and more sequences than it has slots for."""
    notes = []
    if scenario.concurrent_sequences > MAX_SEQUENCES:
        # llama-context.cpp: "n_seq_max must be <= 256".
        values = {"engine": scenario.engine, "limit": MAX_SEQUENCES}
        notes.append(Note("sequences_exceed_running_requests", values))
    caches = [layer.cache for layer, _ in counted(scenario.model.architecture) if layer.cache is not None]
    latent = any(not isinstance(cache, KeyValueCache) for cache in caches)
    if latent and scenario.kv_cache_dtype != scenario.kv_cache_dtype_v:
        # llama-context.cpp: a cache without values takes one type only.
        notes.append(
            Note("kv_types_must_match", {"k": scenario.kv_cache_dtype, "v": scenario.kv_cache_dtype_v})
        )
    for cache in caches:
        if isinstance(cache, KeyValueCache) and not (
            fits_blocks(scenario.kv_cache_dtype, cache.key_dim)
            and fits_blocks(scenario.kv_cache_dtype_v, cache.value_dim)
        ):
            notes.append(Note("kv_type_needs_wider_heads", {"head_dim": cache.key_dim}))
            break
    return tuple(notes)
