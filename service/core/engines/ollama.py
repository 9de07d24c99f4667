"""Ollama: it launches llama-server, with batches and a default context of its own.

Source: Ollama fb3076099 of 2026-08-21 (llama.cpp b10488): llm/llama_server.go startLlamaServer (`-c
num_ctx * num_parallel -np num_parallel`, one cache type for keys and values), server/sched.go,
server/routes.go.
"""

from collections.abc import Hashable
from dataclasses import replace

from service.core.architecture.caches import KeyValueCache
from service.core.architecture.model import Architecture
from service.core.derivation.explained import Explained
from service.core.derivation.steps import Trace
from service.core.engines import llama_cpp
from service.core.engines.base import EngineDefaults
from service.core.engines.llama_cpp.explain import explain
from service.core.engines.llama_cpp.plan import plan_within, weights
from service.core.engines.llama_cpp.pool import DEFAULT_MICRO_BATCH
from service.core.engines.platforms import allowance, context_bytes
from service.core.evidence import Evidence
from service.core.hardware import Gpu, Platform
from service.core.scenario import Scenario
from service.core.sizing import EnginePlan, Note, Sizing, Sourced
from service.core.units import GIB, MIB
from service.core.weights.table import WeightTable

# Default num_ctx by the memory of all GPUs together, largest first (server/routes.go).
_CONTEXTS = ((47 * GIB, 262_144), (23 * GIB, 32_768), (0, 4096))
# Automatic batch: tokens, the context from which it is wanted, the percentage of free memory that weights
# and cache may need for it, and what it is taken to cost (server/sched.go generationBatchFits).
_BATCHES = ((2048, 32_769, 60, 2 * GIB), (1024, 4097, 75, 768 * MIB))
_FULL_PERCENT = 80
_BATCH_SOURCE = "Ollama server/sched.go generationBatchFits: batch by context and free memory"
# GGUF architectures that Ollama serves one request at a time, whatever OLLAMA_NUM_PARALLEL says.
_SINGLE = frozenset(
    {
        "lfm2",
        "lfm2moe",
        "mllama",
        "nemotron_h",
        "nemotron_h_moe",
        "nemotron_h_omni",
        "qwen35",
        "qwen35moe",
        "qwen3next",
        "qwen3vl",
        "qwen3vlmoe",
    }
)


class Ollama:
    """llama.cpp with Ollama's defaults."""

    id = "ollama"
    version = "fb3076099"
    preference = 5
    modelled = True
    formats = llama_cpp.ENGINE.formats
    default_format = "q4_k_m"
    kv_dtypes = ("fp16", "q8_0", "q4_0")
    separate_value_dtype = False
    splits_layers = True
    offloads = True

    def loads_native(self, architecture: Architecture) -> bool:
        """As llama.cpp does."""
        return llama_cpp.ENGINE.loads_native(architecture)

    def defaults(
        self, architecture: Architecture, gpu: Gpu, tensor_parallel: int, context_tokens: int
    ) -> EngineDefaults:
        """llama.cpp's, with the batch that Ollama wants for this context on an empty GPU."""
        base = llama_cpp.ENGINE.defaults(architecture, gpu, tensor_parallel, context_tokens)
        return replace(base, max_batched_tokens=automatic_batch(context_tokens))

    def settle(self, scenario: Scenario) -> Scenario:
        """The batch that Ollama takes in the end, which depends on how full the GPU gets."""
        allowed = allowance(scenario.gpu, scenario.platform, scenario.reserved_memory_bytes)
        return replace(scenario, max_batched_tokens=_batch(scenario, weights(scenario), allowed.bytes))

    def peers(self, gpu: Gpu, platform: Platform, backend: str) -> Hashable:
        """The context of the process, and the memory, from which the batch follows."""
        return context_bytes(backend), allowance(gpu, platform).bytes

    def plan(self, scenario: Scenario, *, limits: bool = True) -> EnginePlan:
        """llama.cpp's allocation, with the batch that Ollama takes when the GPU is nearly full."""
        allowed = allowance(scenario.gpu, scenario.platform, scenario.reserved_memory_bytes)
        table = weights(scenario)
        batch = _batch(scenario, table, allowed.bytes)
        planned = plan_within(replace(scenario, max_batched_tokens=batch), table, allowed, limits=limits)
        single = _serves_one(scenario.model.architecture)
        if single and planned.max_concurrent_sequences:
            planned = replace(planned, max_concurrent_sequences=1)
        refused = single and scenario.concurrent_sequences > 1
        return replace(
            planned,
            warnings=(*planned.warnings, *_notes(scenario, batch)),
            refusals=(
                *planned.refusals,
                *((Note("engine_serves_one_sequence", {"engine": self.id}),) if refused else ()),
            ),
        )

    def explain(self, sizing: Sizing, trace: Trace) -> Explained:
        """The steps behind llama.cpp's plan with Ollama's batch."""
        scenario = sizing.scenario
        batch = _batch(scenario, weights(scenario), sizing.plan.usable_bytes)
        if "max_batched_tokens" not in scenario.defaulted:
            return explain(sizing, trace)
        with_batch = replace(sizing, scenario=replace(scenario, max_batched_tokens=batch))
        return explain(with_batch, trace, Sourced(Evidence.CONFIG, _BATCH_SOURCE))


def default_context(total_bytes: int) -> int:
    """Tokens of context when nothing sets num_ctx, by the memory of all GPUs."""
    return next(tokens for memory, tokens in _CONTEXTS if total_bytes >= memory)


def automatic_batch(context_total: int, predicted: int = 0, free: int = 0) -> int:
    """Tokens of `-b` and `-ub` that Ollama takes for a context.

    predicted: its own estimate of weights and cache in bytes; free: bytes of all GPUs. Without both, memory
    does not matter.
    """
    full = free * _FULL_PERCENT // 100
    for tokens, from_context, percent, cost in _BATCHES:
        roomy = predicted <= free * percent // 100 and predicted + cost <= full
        if context_total >= from_context and (roomy or not predicted or not free):
            return tokens
    return DEFAULT_MICRO_BATCH


def predicted_bytes(architecture: Architecture, file_bytes: int, context_total: int) -> int:
    """Ollama's estimate before it loads, which only chooses the batch: the file and a 16-bit cache.

    Every layer counts as growing, with the fewest KV heads of any and the hidden size over the attention
    heads, so it is wrong for latents, windows and states (llm PredictServerVRAM).
    """
    heads = [
        layer.cache.heads if isinstance(layer.cache, KeyValueCache) else 1 for layer in architecture.layers
    ]
    width = architecture.hidden_size // max(1, architecture.attention_heads)
    return file_bytes + 2 * 2 * len(heads) * min(heads, default=1) * width * context_total


def _batch(scenario: Scenario, table: WeightTable, usable: int | None) -> int:
    """What the caller asked for, else Ollama's choice."""
    if "max_batched_tokens" not in scenario.defaulted:
        return scenario.max_batched_tokens
    architecture = scenario.model.architecture
    context = _effective_context(scenario)
    predicted = predicted_bytes(architecture, table.total_bytes, context)
    return automatic_batch(context, predicted, (usable or 0) * scenario.gpu_count)


def _effective_context(scenario: Scenario) -> int:
    """Tokens of all sequences, each cut to what the model was made for (sched.go effectiveModelContext)."""
    longest = scenario.model.architecture.max_context_tokens
    return min(scenario.context_tokens, longest) * scenario.concurrent_sequences


def _notes(scenario: Scenario, batch: int) -> tuple[Note, ...]:
    notes = []
    lowered = batch < automatic_batch(_effective_context(scenario))
    if lowered and "max_batched_tokens" in scenario.defaulted:
        notes.append(Note("engine_takes_batch", {"engine": Ollama.id, "tokens": batch}))
    total = (scenario.gpu.memory_bytes or 0) * scenario.gpu_count
    own = min(default_context(total), scenario.model.architecture.max_context_tokens)
    if total and own != scenario.context_tokens:
        values = {"engine": Ollama.id, "tokens": own, "asked": scenario.context_tokens}
        notes.append(Note("engine_default_context", values))
    return tuple(notes)


def _serves_one(architecture: Architecture) -> bool:
    """Whether Ollama never runs several sequences of this architecture at once.

    llama.cpp writes some of the names with hyphens, others with underscores.
    """
    return (architecture.gguf_architecture or "").replace("-", "_") in _SINGLE


ENGINE = Ollama()
