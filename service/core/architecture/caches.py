"""What one layer keeps per sequence: keys and values, latents, index keys, recurrent state.

These are facts of the architecture in elements and tokens; bytes and reservations are the engines' choice.
"""

from dataclasses import dataclass
from enum import StrEnum


class Reach(StrEnum):
    """How far back a key/value layer looks, hence whether its cache grows."""

    FULL = "full"
    SLIDING = "sliding"
    CHUNKED = "chunked"


@dataclass(frozen=True, slots=True)
class KeyValueCache:
    """Keys and values per head: heads * (key_dim + value_dim) elements a token.

    window: tokens that a sliding layer sees, or the chunk length of a chunked one; None when full.
    """

    heads: int
    key_dim: int
    value_dim: int
    reach: Reach = Reach.FULL
    window: int | None = None


@dataclass(frozen=True, slots=True)
class LatentCache:
    """Multi-head latent attention: one vector of latent_dim + rope_dim a token, no values, no heads."""

    latent_dim: int
    rope_dim: int


@dataclass(frozen=True, slots=True)
class CompressedCache:
    """DeepSeek V4: one latent per `ratio` tokens, beside a window that every layer keeps.

    ratio: 0 when the layer has only the window. owner: false when the layer reads another layer's
    compressed entries (V4.1). state_elements: f32 elements of the running compressor, per sequence.
    """

    latent_dim: int
    rope_dim: int
    ratio: int
    window: int
    owner: bool = True
    state_elements: int = 0


class IndexScheme(StrEnum):
    """Who defined the sparse-attention index; engines store each one in their own layout."""

    DSA = "dsa"  # DeepSeek V3.2, GLM-5: one key a token
    POOLED = "pooled"  # GLM-5.3-Flash: keys pooled over tokens, gate beside them
    QSA = "qsa"  # Qwen4-exp: block keys compressed over tokens
    MINIMAX = "minimax"  # MiniMax M3: one key a token beside grouped K/V
    SUMMARY = "summary"  # Step-5: one wide key for a region of tokens
    COMPRESSED = "compressed"  # DeepSeek V4: keys of compressed entries


@dataclass(frozen=True, slots=True)
class IndexCache:
    """Index keys of a sparse attention layer: key_dim elements for each `tokens_per_key` tokens."""

    scheme: IndexScheme
    key_dim: int
    tokens_per_key: int = 1
    top_tokens: int = 0


class StateKind(StrEnum):
    """The recurrence that keeps a state of constant size."""

    GATED_DELTA_NET = "gated_delta_net"
    KIMI_DELTA = "kimi_delta_attention"
    MAMBA2 = "mamba2"
    SHORT_CONV = "short_conv"
    LOOKUP_CONV = "lookup_conv"  # convolution over n-gram embeddings (Qwen4-exp)


@dataclass(frozen=True, slots=True)
class RecurrentState:
    """State of one layer and sequence, in elements.

    conv_channels * conv_rows elements of convolution history (rows = kernel - 1, or as the reference
    keeps them) and recurrent_heads * recurrent_rows * recurrent_columns of recurrence.
    groups: Mamba-2 B/C groups and their state width, which engines pad under tensor parallelism.
    split: false when tensor parallelism copies the state instead of dividing it.
    token_history: 64-bit token ids kept beside the state, which n-gram lookups need.
    """

    kind: StateKind
    conv_channels: int
    conv_rows: int
    recurrent_heads: int = 0
    recurrent_rows: int = 0
    recurrent_columns: int = 0
    groups: int = 0
    group_width: int = 0
    split: bool = True
    token_history: int = 0

    @property
    def conv_elements(self) -> int:
        """Elements of convolution history."""
        return self.conv_channels * self.conv_rows

    @property
    def recurrent_elements(self) -> int:
        """Elements of the recurrence."""
        return self.recurrent_heads * self.recurrent_rows * self.recurrent_columns


Cache = KeyValueCache | LatentCache | CompressedCache
