"""The block pool of one rank: what sequences take from it, what it holds, what it prints.

Source: vLLM 0.33.0 v1/core/kv_cache_planning.py (_max_memory_usage_bytes_from_groups,
get_kv_cache_configs) and v1/core/kv_cache_utils.py (get_kv_cache_capacity).
"""

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from service.core.architecture.caches import CompressedCache, IndexScheme
from service.core.arrays import larger
from service.core.engines.vllm.blocks import BlockSize, block_size
from service.core.engines.vllm.compressed import slab_alignment
from service.core.engines.vllm.groups import Grouping, group_layers
from service.core.engines.vllm.layers import Holdings, shared_entries, spec_counts
from service.core.engines.vllm.specs import CacheConfig, SpecCounts, SpecKind


@dataclass(frozen=True, slots=True)
class Demand:
    """Blocks that sequences take from the pool of one rank.

    takers: spec of a group and how many groups take blocks like it. Every block costs bytes_per_block,
    whichever group takes it.
    """

    config: CacheConfig
    takers: SpecCounts
    bytes_per_block: int

    def admission(self, context_tokens: int, constant: bool | None = None) -> int:
        """Blocks reserved to admit one sequence, tokens in flight included.

        constant: only groups of recurrent state (True) or only attention groups (False).
        """
        return self._blocks(context_tokens, self.config.in_flight_tokens, constant)

    def steady(self, context_tokens: int, constant: bool | None = None) -> int:
        """Blocks that one sequence of this length holds while it decodes."""
        return self._blocks(context_tokens, 0, constant)

    def blocks(self, context_tokens: int, sequences: int, constant: bool | None = None) -> int:
        """Blocks for `sequences` at once: one is being admitted, the others decode."""
        others = larger(0, sequences - 1) * self.steady(context_tokens, constant)
        return self.admission(context_tokens, constant) + others

    def _blocks(self, context_tokens: int, in_flight: int, constant: bool | None) -> int:
        return sum(
            count * spec.blocks(context_tokens, in_flight, self.config)
            for spec, count in self.takers
            if constant is None or spec.constant is constant
        )

    def window_bytes(self) -> int:
        """What sliding and chunked groups of one sequence hold in steady state, whatever the context."""
        return self.bytes_per_block * sum(
            count * spec.blocks(spec.window, 0, self.config)
            for spec, count in self.takers
            if spec.kind in (SpecKind.SLIDING, SpecKind.CHUNKED) and not spec.constant
        )

    def printed_tokens(self, pool_bytes: int, context_tokens: int) -> int | None:
        """N of the log line "GPU KV cache size: N tokens", None without any cache.

        The null block counts here, and N depends on the context for window and hybrid models.
        """
        request = self.admission(context_tokens)
        if not request or not self.bytes_per_block:
            return None
        concurrency = max(0, pool_bytes) // self.bytes_per_block / request
        return int(concurrency * context_tokens)


@lru_cache(maxsize=4096)
def plan_pool(whole: Holdings, held: Holdings, config: CacheConfig) -> tuple[Grouping, Demand]:
    """Groups and demand of a rank that holds `held`; the block size follows from the `whole` model."""
    block = block_size(whole, config)
    shared = shared_entries(whole)
    specs = spec_counts(held, config, block.tokens, block.page_bytes, shared)
    grouping = group_layers(specs, block_outermost(whole), _slab_alignment(held, config, block, shared))
    takers = Counter(group.spec for group in grouping.groups)
    return grouping, Demand(config, tuple(takers.items()), grouping.bytes_per_block)


def block_outermost(held: Holdings) -> bool:
    """Whether the backends put the block before the layer, so that groups pack into slabs.

    Compressed caches and pooled index keys do (v1/attention/backends/utils.py resolve_kv_cache_layout).
    Latents with index keys beside recurrent state (Kimi K3.1) are taken to do as GLM-5.3-Flash does.
    """
    schemes = {index.scheme for (_, index, _), _ in held if index is not None}
    stateful = any(states for (_, _, states), _ in held)
    if schemes & {IndexScheme.POOLED, IndexScheme.QSA, IndexScheme.SUMMARY}:
        return True
    compressed = any(isinstance(cache, CompressedCache) for (cache, _, _), _ in held)
    return compressed or (bool(schemes) and stateful)


def _slab_alignment(held: Holdings, config: CacheConfig, block: BlockSize, shared: bool) -> int:
    """What a slab is rounded to: records of two sizes, or the key half of Step-5's page."""
    for (cache, index, _), _ in held:
        if isinstance(cache, CompressedCache):
            return slab_alignment(cache, config, shared)
        if index is not None and index.scheme is IndexScheme.SUMMARY:
            specs = spec_counts((((cache, None, ()), 1),), config, block.tokens, 0, shared)
            return max(1, specs[0][0].page // 2) if specs else 1
    return 1
