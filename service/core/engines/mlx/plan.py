"""MLX's allocation for a scenario: everything in the unified memory, caches that grow."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from service.core.architecture.caches import KeyValueCache, LatentCache, Reach
from service.core.architecture.kinds import Kinds, kinds_of
from service.core.architecture.model import Architecture, Layer
from service.core.engines.base import weight_notes
from service.core.engines.mlx.cache import (
    STEP,
    by_rule,
    bytes_per_token,
    doubles_index,
    state_bytes,
    window_bytes,
)
from service.core.engines.mlx.kv_types import GROUP, quantized
from service.core.engines.mlx.load import SEQUENCES_AT_ONCE, Load, Part
from service.core.engines.platforms import allowance, context_bytes
from service.core.evidence import Evidence
from service.core.parallel import stage_layers, stage_weights
from service.core.scenario import Scenario
from service.core.sizing import EnginePlan, Note, Rank, Sourced
from service.core.units import ceil_div, pad
from service.core.weights.table import WeightTable
from service.core.weights.weigh import weigh

_CACHE = "mlx-lm 0.32.2 models/cache.py"
_REFERENCE = "caches of mlx-vlm by analogy with the reference implementation"
_NEAR_PERCENT = 90  # part of the working set above which mlx-lm warns (generate.py wired_limit)


def plan(scenario: Scenario, *, limits: bool = True) -> EnginePlan:
    """Weights, caches and the peak of prompt processing on every machine.

    Embeddings and lookup tables are in the same memory, so the host keeps nothing. Prediction layers are
    dropped on conversion. Prompts that the server keeps after an answer (`--prompt-cache-bytes`) come on top.
    """
    architecture = scenario.model.architecture
    table = weigh(scenario.model, scenario.quantization, vision=scenario.vision)
    load = load_of(scenario, stage_weights(table, architecture, scenario.layout))
    allowed = allowance(scenario.gpu, scenario.platform, scenario.reserved_memory_bytes)
    context, sequences = scenario.context_tokens, scenario.concurrent_sequences
    whole = kinds_of(architecture)
    planned = EnginePlan(
        ranks=tuple(Rank(1, memory) for memory in load.memories(context, sequences)),
        host_bytes=0,
        kv_bytes_per_token=bytes_per_token(whole, scenario.kv_cache_dtype),
        kv_window_bytes_per_sequence=window_bytes(whole),
        state_bytes_per_sequence=state_bytes(whole),
        usable_bytes=allowed.bytes,
        kv_cache_capacity_tokens=sequences * pad(context, STEP),
        max_context_tokens=None,
        max_concurrent_sequences=None,
        evidence={**_evidence(scenario, table, whole), "usable": allowed.sourced},
        model_weights_bytes=table.total_bytes,
        warnings=(*weight_notes(table), *allowed.notes, *_notes(scenario, load, allowed.bytes)),
        refusals=refusals(scenario),
    )
    return planned if allowed.bytes is None or not limits else _with_limits(scenario, planned, load)


def load_of(scenario: Scenario, sizes: Sequence[int]) -> Load:
    """Whole layers on each machine (`mlx.launch`, pipeline), with weights of these sizes; one holds all."""
    architecture, layout = scenario.model.architecture, scenario.layout
    ranges = stage_layers(len(architecture.layers), layout.pipeline)
    parts = [
        Part(
            weights,
            kinds_of(architecture, own),
            own.stop == len(architecture.layers),
        )
        for weights, own in zip(sizes, ranges, strict=True)
    ]
    return Load(
        architecture=architecture,
        parts=parts,
        dtype=scenario.kv_cache_dtype,
        step=scenario.max_batched_tokens,
        overhead=context_bytes(scenario.backend),
        doubled=doubles_index(kinds_of(architecture)),
    )


def _with_limits(scenario: Scenario, planned: EnginePlan, load: Load) -> EnginePlan:
    """The longest context in whole steps, and the most sequences that the server decodes at once."""
    usable = planned.usable_bytes or 0
    sequences, context = scenario.concurrent_sequences, scenario.context_tokens
    at_once = 1 if quantized(scenario.kv_cache_dtype) else max(SEQUENCES_AT_ONCE, sequences)
    limit = load.architecture.max_context_tokens
    steps = _most(
        ceil_div(limit, STEP), lambda step: load.fullest(min(step * STEP, limit), sequences) <= usable
    )
    return replace(
        planned,
        max_context_tokens=min(steps * STEP, limit),
        max_concurrent_sequences=_most(at_once, lambda count: load.fullest(context, count) <= usable),
    )


def _most(limit: int, fits: Callable[[int], bool]) -> int:
    """The largest number from 1 to `limit` that fits, 0 if none; what fits must fit with less."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def _evidence(scenario: Scenario, table: WeightTable, whole: Kinds) -> dict[str, Sourced]:
    known = by_rule(whole)
    cache = Sourced(Evidence.CONFIG, _CACHE) if known else Sourced(Evidence.ESTIMATE, _REFERENCE)
    shared = scenario.layout.pipeline > 1
    weights = Sourced(Evidence.ESTIMATE, f"{table.source}; layers spread evenly over machines")
    return {
        "weights": weights if shared else Sourced(table.evidence, table.source),
        "kv_cache": cache,
        "recurrent_state": cache,
        "compute_buffers": Sourced(
            Evidence.ESTIMATE, "mlx-lm 0.32.2 generate.py, widths of one prompt chunk"
        ),
        "runtime_overhead": Sourced(Evidence.ESTIMATE, "reserve of Ollama for a Metal process"),
    }


def _notes(scenario: Scenario, load: Load, usable: int | None) -> Iterator[Note]:
    """Figures without a rule of the engine, and weights that leave Metal little."""
    if not by_rule(kinds_of(scenario.model.architecture)):
        yield Note("engine_rule_generic", {"engine": scenario.engine})
    weights = max(part.weights for part in load.parts)
    if usable is not None and usable * _NEAR_PERCENT // 100 < weights <= usable:
        yield Note("weights_near_working_set", {"percent": _NEAR_PERCENT})


def refusals(scenario: Scenario) -> tuple[Note, ...]:
    """What `--kv-bits` does not do: windows, latents without an index, odd heads, several sequences."""
    if not quantized(scenario.kv_cache_dtype):
        return ()
    notes = []
    architecture = scenario.model.architecture
    if any(_fails(layer) for layer in architecture.layers):
        values = {"engine": scenario.engine, "dtype": scenario.kv_cache_dtype}
        notes.append(Note("kv_type_not_for_architecture", values))
    odd = _odd_head(architecture)
    if odd:
        notes.append(Note("kv_type_needs_wider_heads", {"head_dim": odd}))
    if scenario.concurrent_sequences > 1:
        notes.append(Note("engine_serves_one_sequence", {"engine": scenario.engine}))
    return tuple(notes)


def _fails(layer: Layer) -> bool:
    """RotatingKVCache raises NotImplementedError; latent attention cannot read a quantized cache."""
    if isinstance(layer.cache, KeyValueCache):
        return layer.cache.reach is Reach.SLIDING
    return isinstance(layer.cache, LatentCache) and layer.index is None


def _odd_head(architecture: Architecture) -> int | None:
    """The width of a head that groups do not divide."""
    for layer in architecture.layers:
        cache = layer.cache
        if isinstance(cache, KeyValueCache) and (cache.key_dim % GROUP or cache.value_dim % GROUP):
            return cache.key_dim
    return None
