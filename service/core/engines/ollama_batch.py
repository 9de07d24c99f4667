"""The batch that Ollama takes when nothing sets one, from an estimate of its own before it loads.

Source: Ollama fb3076099 of 2026-08-21, server/sched.go (generationBatchFits, effectiveModelContext).
"""

from service.core.architecture.caches import KeyValueCache
from service.core.architecture.model import Architecture
from service.core.arrays import chosen, smaller
from service.core.engines.llama_cpp.pool import DEFAULT_MICRO_BATCH
from service.core.identity import ByIdentity
from service.core.scenario import Scenario
from service.core.units import GIB, MIB

# Tokens, the context from which they are wanted, the percentage of free memory that weights and cache may
# need for it, and what the batch is taken to cost; largest first.
_BATCHES = ((2048, 32_769, 60, 2 * GIB), (1024, 4097, 75, 768 * MIB))
_FULL_PERCENT = 80


def automatic_batch(context_total: int, predicted: int = 0, free: int = 0) -> int:
    """Tokens of `-b` and `-ub` that Ollama takes for a context; numbers or arrays.

    predicted: its own estimate of weights and cache in bytes; free: bytes of all GPUs. Without both, memory
    does not matter.
    """
    full = free * _FULL_PERCENT // 100
    batch = DEFAULT_MICRO_BATCH
    for tokens, from_context, percent, cost in reversed(_BATCHES):
        roomy = (predicted <= free * percent // 100) & (predicted + cost <= full)
        wanted = (context_total >= from_context) & (roomy | (predicted == 0) | (free == 0))
        batch = chosen(wanted, tokens, batch)
    return batch


def predicted_bytes(architecture: Architecture, file_bytes: int, context_total: int) -> int:
    """Ollama's estimate before it loads, which only chooses the batch: the file and a 16-bit cache.

    Every layer counts as growing, with the fewest KV heads of any and the hidden size over the attention
    heads, so it is wrong for latents, windows and states (llm PredictServerVRAM).
    """
    return file_bytes + 2 * 2 * _values(architecture) * context_total


def _count(architecture: Architecture) -> int:
    heads = [
        layer.cache.heads if isinstance(layer.cache, KeyValueCache) else 1 for layer in architecture.layers
    ]
    width = architecture.hidden_size // max(1, architecture.attention_heads)
    return len(heads) * min(heads, default=1) * width


_values: ByIdentity[Architecture, int] = ByIdentity(_count)


def effective_context(architecture: Architecture, context_tokens: int, sequences: int) -> int:
    """Tokens of all sequences, each cut to what the model was made for."""
    return smaller(context_tokens, architecture.max_context_tokens) * sequences


def batch_of(scenario: Scenario, context_tokens: int, file_bytes: int, usable: int) -> int:
    """What the caller asked for, else Ollama's choice; usable: bytes of each GPU, 0 where not known.

    Context, bytes of the file and of the GPU may be arrays.
    """
    if "max_batched_tokens" not in scenario.defaulted:
        return scenario.max_batched_tokens
    architecture = scenario.model.architecture
    context = effective_context(architecture, context_tokens, scenario.concurrent_sequences)
    predicted = predicted_bytes(architecture, file_bytes, context)
    return automatic_batch(context, predicted, usable * scenario.gpu_count)
