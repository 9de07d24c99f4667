"""The batch that Ollama takes when nothing sets one, from an estimate of its own before it loads.

Source: Ollama fb3076099 of 2026-08-21, server/sched.go (generationBatchFits, effectiveModelContext).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from service.core.architecture.caches import KeyValueCache
from service.core.architecture.model import Architecture
from service.core.arrays import chosen, larger, smaller
from service.core.engines.llama_cpp.pool import CELL_MULTIPLE, DEFAULT_MICRO_BATCH
from service.core.identity import ByIdentity
from service.core.scenario import Scenario
from service.core.units import GIB, MIB

# Tokens, the context from which they are wanted, the percentage of free memory that weights and cache may
# need for it, and what the batch is taken to cost; largest first.
_BATCHES = ((2048, 32_769, 60, 2 * GIB), (1024, 4097, 75, 768 * MIB))
_FULL_PERCENT = 80
_CACHED = 4  # bytes of a value of the keys and one of the values in 16 bit
BATCHES = (DEFAULT_MICRO_BATCH, *(tokens for tokens, *_ in _BATCHES))


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
    return file_bytes + _CACHED * _values(architecture) * context_total


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


@dataclass(frozen=True, slots=True)
class Expected:
    """What Ollama reckons with before it loads; numbers, or arrays over formats or accelerators.

    file_bytes: of the GGUF file. free: bytes of all GPUs, 0 where not known. values: of one token's keys in
    all layers, by its own count. longest: tokens that the model was made for. sequences: served at once.
    """

    file_bytes: int
    free: int
    values: int
    longest: int
    sequences: int

    def batch(self, context_tokens: int) -> int:
        """Tokens of the batch that it takes at a context."""
        total = smaller(context_tokens, self.longest) * self.sequences
        return automatic_batch(total, self.file_bytes + _CACHED * self.values * total, self.free)

    def longest_context(self, fitting: Mapping[int, int]) -> int:
        """The largest context that fits with the batch taken there, 0 if none does.

        fitting: by batch, the largest context that fits with it. A batch is taken on few stretches of
        contexts: the largest context of each is where the stretch or the memory ends.
        """
        found = 0
        for end in (*self._ends(), self.longest):
            for tokens, fits in fitting.items():
                tried = smaller(end, fits)
                found = larger(found, chosen(self.batch(tried) == tokens, tried, 0))
        return found

    def _ends(self) -> Iterator[int]:
        """Contexts in whole cells beyond which another batch may be taken."""
        for _, wanted_from, percent, cost in _BATCHES:
            room = smaller(self.free * percent // 100, self.free * _FULL_PERCENT // 100 - cost)
            for total in (wanted_from - 1, (room - self.file_bytes) // (_CACHED * self.values)):
                yield larger(0, total // self.sequences // CELL_MULTIPLE * CELL_MULTIPLE)


def expected(scenario: Scenario, file_bytes: int, usable: int) -> Expected:
    """For a scenario; usable: bytes of each GPU, 0 where not known."""
    architecture = scenario.model.architecture
    return Expected(
        file_bytes,
        usable * scenario.gpu_count,
        _values(architecture),
        architecture.max_context_tokens,
        scenario.concurrent_sequences,
    )


def asks_batch(scenario: Scenario) -> bool:
    """Whether the caller said how many tokens a batch has."""
    return "max_batched_tokens" not in scenario.defaulted


def batch_of(scenario: Scenario, file_bytes: int, usable: int) -> int:
    """What the caller asked for, else Ollama's choice; usable: bytes of each GPU, 0 where not known."""
    if asks_batch(scenario):
        return scenario.max_batched_tokens
    return expected(scenario, file_bytes, usable).batch(scenario.context_tokens)
