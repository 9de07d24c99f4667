"""What one layer asks of vLLM's block pool.

Source: vLLM 0.33.0 v1/kv_cache_interface.py and get_kv_cache_spec of the layers.
"""

from dataclasses import dataclass
from enum import StrEnum

from service.core.arrays import smaller
from service.core.engines.vllm.generation import Generation
from service.core.units import ceil_div, pad


class SpecKind(StrEnum):
    """The classes of vLLM's KVCacheSpec that differ in how many blocks a request takes."""

    FULL = "full_attention"
    SLIDING = "sliding_window"
    CHUNKED = "chunked_local_attention"
    STATE = "mamba"
    RING = "circular_buffer"


@dataclass(frozen=True, slots=True)
class CacheConfig:
    """What the planner needs beside the layers.

    kv_dtype: never auto. draft_tokens: speculative tokens a step. draft_modules: modules that draft a token
    each; several of them look `draft_tokens - 1` tokens further back. state_dtype: of the config, None = the
    engine's choice. in_flight_tokens: tokens that scheduled but unfinished steps may still write.
    """

    generation: Generation
    kv_dtype: str
    tensor_parallel: int
    in_flight_tokens: int
    decode_context: int = 1
    prefix_caching: bool = True
    draft_tokens: int = 0
    draft_modules: int = 0
    state_dtype: str | None = None

    @property
    def extra_window(self) -> int:
        """Tokens that windows grow by when several modules draft (vLLM 0.33.0, Step MTP)."""
        return max(0, self.draft_tokens - 1) if self.draft_modules > 1 else 0


@dataclass(frozen=True, slots=True)
class Spec:
    """One layer's cache as the planner sees it, per rank.

    entry_bytes: one cached entry, which covers `tokens_per_entry` tokens; of a state or ring, all of it.
    block: tokens of a block. latent: MLA family (never padded, never sharded). alignment: of the page.
    slots: blocks of a state, whatever the context. padded: page of a state after padding, 0 = not padded.
    constant: its bytes count as recurrent state, not as KV cache.
    """

    kind: SpecKind
    entry_bytes: int
    block: int
    tokens_per_entry: int = 1
    window: int = 0
    latent: bool = False
    alignment: int = 1
    slots: int = 1
    padded: int = 0
    constant: bool = False

    @property
    def page(self) -> int:
        """Bytes of one block of this layer."""
        if self.padded:
            return self.padded
        if self.kind in (SpecKind.STATE, SpecKind.RING):
            return self.entry_bytes
        return pad(self.block // self.tokens_per_entry * self.entry_bytes, self.alignment)

    def blocks(self, context_tokens: int, in_flight_tokens: int, config: CacheConfig) -> int:
        """Blocks that one sequence needs; in_flight_tokens 0 = its steady holding while it decodes."""
        if self.kind is SpecKind.FULL:
            return ceil_div(ceil_div(context_tokens, config.decode_context), self.block)
        if self.kind is SpecKind.SLIDING:
            reach = self.window - 1 + config.extra_window + in_flight_tokens
            return ceil_div(smaller(reach, context_tokens), self.block) + 1
        if self.kind is SpecKind.CHUNKED:
            return ceil_div(smaller(self.window + in_flight_tokens, context_tokens), self.block)
        return self.slots


SpecCounts = tuple[tuple[Spec, int], ...]
