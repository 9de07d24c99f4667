"""The server arguments of a scenario, resolved as SGLang resolves them."""

from dataclasses import dataclass

from service.core.architecture.caches import (
    CompressedCache,
    IndexScheme,
    KeyValueCache,
    LatentCache,
)
from service.core.architecture.kinds import kinds_of
from service.core.architecture.model import Architecture
from service.core.engines.sglang.classes import FLASH_ATTENTION_4, SINGLE_TOKEN_PAGES
from service.core.engines.sglang.dtypes import has_cache, packs_four_bits
from service.core.engines.vllm.generation import Generation, generation
from service.core.scenario import Scenario

_SPECULATIVE_REQUESTS = 48  # --max-running-requests of a drafting server
_COMPRESSED_REQUESTS = 256  # ... of DeepSeek V4 (srt/arg_groups/deepseek_v4_hook.py)
_INDEX_PAGES = {
    IndexScheme.DSA: 64,
    IndexScheme.POOLED: 256,
    IndexScheme.QSA: 64,
    IndexScheme.MINIMAX: 128,
}


@dataclass(frozen=True, slots=True)
class Flags:
    """What the pools depend on beside the layers.

    attention_parallel: ranks that share the KV heads. attention_data: D of attention data parallelism, which
    divides chunk and requests. chunk: tokens of a prefill chunk of one worker. context_tokens: the longest
    request. requests: --max-running-requests of the server, None = not given. packed: MiniMax's NVFP4 pool.
    """

    generation: Generation
    kv_dtype: str
    page: int
    chunk: int
    context_tokens: int
    attention_parallel: int = 1
    attention_data: int = 1
    decode_context: int = 1
    pipeline: int = 1
    prefix_caching: bool = True
    draft_tokens: int = 0
    requests: int | None = None
    packed: bool = False

    @property
    def worker_requests(self) -> int | None:
        """Requests of one attention data-parallel worker."""
        return None if self.requests is None else max(1, self.requests // self.attention_data)

    @property
    def overlap(self) -> bool:
        """Overlap scheduling, which pipeline parallelism switches off."""
        return self.pipeline == 1


def resolve_flags(scenario: Scenario) -> Flags:
    """The arguments that follow from a scenario.

    In the layout, `tensor` is the attention tensor parallelism and `data` the attention data parallelism, so
    that SGLang's --tp-size is their product. The longest request is the scenario's context, as
    --context-length in the launch line. Drafts are chains (--speculative-eagle-topk 1).
    """
    architecture, layout = scenario.model.architecture, scenario.layout
    where = generation(scenario.gpu)
    drafts = scenario.speculative_tokens
    return Flags(
        generation=where,
        kv_dtype=scenario.kv_cache_dtype,
        page=page_tokens(architecture, where, prefix_caching=scenario.prefix_caching, drafting=bool(drafts)),
        chunk=scenario.max_batched_tokens // layout.data,
        context_tokens=scenario.context_tokens,
        attention_parallel=layout.tensor,
        attention_data=layout.data,
        decode_context=layout.decode_context,
        pipeline=layout.pipeline,
        prefix_caching=scenario.prefix_caching,
        draft_tokens=drafts,
        requests=default_requests(architecture, drafting=bool(drafts)),
        packed=packs_four_bits(architecture, where, scenario.quantization),
    )


def default_requests(architecture: Architecture, *, drafting: bool) -> int | None:
    """--max-running-requests that SGLang sets by itself, None when the pool decides."""
    if has_cache(architecture, CompressedCache):
        return _COMPRESSED_REQUESTS
    return _SPECULATIVE_REQUESTS if drafting else None


def page_tokens(
    architecture: Architecture, where: Generation, *, prefix_caching: bool, drafting: bool
) -> int:
    """Tokens of a page: what index or compression demands, else what the attention backend does.

    On SM100: trtllm_mha and trtllm_mla 64, FlashAttention 4 (also for keys and values of unlike width) 128,
    triton 1. Elsewhere 1.
    """
    for (cache, index, _), _ in kinds_of(architecture):
        if isinstance(cache, CompressedCache):
            return 256
        if index is not None and index.scheme in _INDEX_PAGES:
            return _INDEX_PAGES[index.scheme]
    if where is not Generation.BLACKWELL_DATACENTER:
        return 1
    if architecture.engine_class in SINGLE_TOKEN_PAGES and prefix_caching and not drafting:
        return 1
    if architecture.engine_class in FLASH_ATTENTION_4 or _unlike_widths(architecture):
        return 128
    return 64


def _unlike_widths(architecture: Architecture) -> bool:
    caches = (cache for (cache, _, _), _ in kinds_of(architecture))
    return any(isinstance(cache, KeyValueCache) and cache.key_dim != cache.value_dim for cache in caches)


def is_latent(architecture: Architecture) -> bool:
    """Whether the model counts as MLA."""
    return has_cache(architecture, LatentCache)
