"""Ollama: it launches llama-server, with batches and a default context of its own.

Source: Ollama fb3076099 of 2026-08-21 (llama.cpp b10488): llm/llama_server.go startLlamaServer (`-c
num_ctx * num_parallel -np num_parallel`, one cache type for keys and values), server/sched.go,
server/routes.go.
"""

from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np

from service.core.architecture.model import Architecture
from service.core.arrays import Whole
from service.core.derivation.explained import Explained
from service.core.derivation.steps import Trace
from service.core.engines import llama_cpp
from service.core.engines.base import EngineDefaults
from service.core.engines.llama_cpp.explain import explain
from service.core.engines.llama_cpp.limits import Reach, reach
from service.core.engines.llama_cpp.plan import arrange, plan_with, pools, weights
from service.core.engines.ollama_batch import (
    BATCHES,
    asks_batch,
    automatic_batch,
    batch_of,
    effective_context,
    expected,
)
from service.core.engines.ollama_sheet import batched_sheet
from service.core.engines.platforms import allowance, context_bytes
from service.core.engines.sheets import Case, Places, Sheet
from service.core.evidence import Evidence
from service.core.hardware import Gpu, Platform
from service.core.scenario import Scenario
from service.core.sizing import EnginePlan, Note, Sizing, Sourced
from service.core.units import GIB
from service.core.weights.table import WeightTable

# Default num_ctx by the memory of all GPUs together, largest first (server/routes.go).
_CONTEXTS = ((47 * GIB, 262_144), (23 * GIB, 32_768), (0, 4096))
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

    def offered(self, scenario: Scenario, gpu: Gpu, platform: Platform) -> int | None:
        """What the platform allows."""
        return allowance(gpu, platform, scenario.reserved_memory_bytes).bytes

    def sheet(self, cases: Sequence[Case], contexts: Whole, places: Places) -> Sheet:
        """llama.cpp's figures, with the batch that Ollama takes at each context."""
        refused = [_refuses(case.scenario) for case in cases for _ in case.quantizations]
        return batched_sheet(cases, contexts, places, np.array(refused, np.bool_)[:, None])

    def plan(self, scenario: Scenario, *, limits: bool = True) -> EnginePlan:
        """llama.cpp's allocation, with the batch that Ollama takes when the GPU is nearly full."""
        allowed = allowance(scenario.gpu, scenario.platform, scenario.reserved_memory_bytes)
        table = weights(scenario)
        batch = _batch(scenario, table, allowed.bytes)
        own = limits and not asks_batch(scenario)
        asked = replace(scenario, max_batched_tokens=batch)
        planned = plan_with(asked, table, allowed, limits=limits and not own)
        if own and allowed.bytes is not None:
            most = _reach(scenario, table, allowed.bytes)
            planned = replace(
                planned, max_context_tokens=most.context_tokens, max_concurrent_sequences=most.sequences
            )
        single = _serves_one(scenario.model.architecture)
        if single and planned.max_concurrent_sequences:
            planned = replace(planned, max_concurrent_sequences=1)
        refused = _refuses(scenario)
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


def _batch(scenario: Scenario, table: WeightTable, usable: int | None) -> int:
    """What the caller asked for, else Ollama's choice."""
    return batch_of(scenario, table.total_bytes, usable or 0)


def _reach(scenario: Scenario, table: WeightTable, usable: int) -> Reach:
    """What fits with the batch that Ollama takes there: another context may mean another batch."""
    context, sequences = scenario.context_tokens, scenario.concurrent_sequences
    load = arrange(scenario, table).load
    fitting = {
        tokens: reach(
            load, usable, pools(replace(scenario, max_batched_tokens=tokens), load), context, sequences
        )
        for tokens in BATCHES
    }
    known = expected(scenario, table.total_bytes, usable)
    longest = known.longest_context({tokens: found.context_tokens for tokens, found in fitting.items()})
    tried = range(max(found.sequences for found in fitting.values()), 0, -1)
    most = (n for n in tried if n <= fitting[replace(known, sequences=n).batch(context)].sequences)
    return Reach(longest, next(most, 0))


def _notes(scenario: Scenario, batch: int) -> tuple[Note, ...]:
    notes = []
    architecture, sequences = scenario.model.architecture, scenario.concurrent_sequences
    wanted = automatic_batch(effective_context(architecture, scenario.context_tokens, sequences))
    lowered = batch < wanted
    if lowered and "max_batched_tokens" in scenario.defaulted:
        notes.append(Note("engine_takes_batch", {"engine": Ollama.id, "tokens": batch}))
    total = (scenario.gpu.memory_bytes or 0) * scenario.gpu_count
    own = min(default_context(total), scenario.model.architecture.max_context_tokens)
    if total and own != scenario.context_tokens:
        values = {"engine": Ollama.id, "tokens": own, "asked": scenario.context_tokens}
        notes.append(Note("engine_default_context", values))
    return tuple(notes)


def _refuses(scenario: Scenario) -> bool:
    """Whether several sequences are asked of an architecture that Ollama serves one at a time."""
    return scenario.concurrent_sequences > 1 and _serves_one(scenario.model.architecture)


def _serves_one(architecture: Architecture) -> bool:
    """Whether Ollama never runs several sequences of this architecture at once.

    llama.cpp writes some of the names with hyphens, others with underscores.
    """
    return (architecture.gguf_architecture or "").replace("-", "_") in _SINGLE


ENGINE = Ollama()
