"""What each machine holds at a context and a number of sequences."""

from collections.abc import Sequence
from dataclasses import dataclass

from service.core.architecture.kinds import Kinds
from service.core.architecture.model import Architecture
from service.core.arrays import smaller
from service.core.engines.mlx.cache import cache_bytes, chunk_bytes, state_bytes
from service.core.sizing import Memory

PREFILL_STEP = 2048  # --prefill-step-size
PROMPTS_AT_ONCE = 8  # --prompt-concurrency
SEQUENCES_AT_ONCE = 32  # --decode-concurrency
_HALF = 2


@dataclass(frozen=True, slots=True)
class Part:
    """The layers of one machine: their weights in bytes and what they keep; `last` holds the output.

    weights: one number, or a column over formats beside arrays of contexts.
    """

    weights: int
    kept: Kinds
    last: bool


@dataclass(frozen=True, slots=True)
class Load:
    """All machines.

    step: tokens of a prompt that are processed at once. overhead: bytes of each process. doubled: index keys
    lie beside values (`doubles_index`).
    """

    architecture: Architecture
    parts: Sequence[Part]
    dtype: str
    step: int
    overhead: int
    doubled: bool = False

    def memories(self, context_tokens: int, sequences: int) -> tuple[Memory, ...]:
        """The memory of each machine for `sequences` of this length."""
        return tuple(
            Memory(
                weights=part.weights,
                kv_cache=sequences * cache_bytes(part.kept, context_tokens, self.dtype, self.doubled),
                recurrent_state=sequences * state_bytes(part.kept),
                compute_buffers=self._transient(part, context_tokens, sequences),
                runtime_overhead=self.overhead,
            )
            for part in self.parts
        )

    def fullest(self, context_tokens: int, sequences: int) -> int:
        """Bytes of the machine that holds most."""
        return max(memory.total for memory in self.memories(context_tokens, sequences))

    def _transient(self, part: Part, context_tokens: int, sequences: int) -> int:
        """Peak of a prompt's chunk: the widest layer, the logits, what windows hold above their steady size.

        A rule of thumb: 4 hidden and 3 feed-forward widths of 16-bit values a token, and a row of logits.
        """
        chunk = smaller(self.step, context_tokens)
        values = 4 * self.architecture.hidden_size + _feed_forward(self.architecture)
        values += self.architecture.vocabulary if part.last else 0
        windows = chunk_bytes(part.kept, context_tokens, chunk)
        return min(sequences, PROMPTS_AT_ONCE) * (chunk * values * _HALF + windows)


def _feed_forward(architecture: Architecture) -> int:
    """Values of one token in the widest feed-forward layer."""
    dense = 3 * architecture.dense_width
    experts = architecture.experts
    if experts is None:
        return dense
    routed = experts.per_token * (3 * experts.width + (experts.latent_dim or architecture.hidden_size))
    return max(dense, routed)
