"""From a scenario to the ranks of every pipeline stage."""

from service.core.architecture.caches import CompressedCache, StateKind
from service.core.architecture.model import Architecture, Layer
from service.core.engines.vllm import buffers, loading
from service.core.engines.vllm.budget import Stage
from service.core.engines.vllm.generation import generation
from service.core.engines.vllm.layers import Holdings, holdings
from service.core.engines.vllm.pool import plan_pool
from service.core.engines.vllm.specs import CacheConfig
from service.core.identity import ByIdentity
from service.core.parallel import stage_layers, stage_weights
from service.core.scenario import Scenario
from service.core.weights.table import WeightTable

_ENGRAM = frozenset({"engram_embd.weight"})
_PER_LAYER = frozenset({"per_layer_token_embd.weight"})

_held: ByIdentity[tuple[Layer, ...], Holdings] = ByIdentity(holdings)


def drafting_layers(scenario: Scenario) -> tuple[Layer, ...]:
    """MTP layers, which are loaded for speculation only."""
    return scenario.model.architecture.mtp if scenario.speculative_tokens else ()


def draft_modules(drafting: tuple[Layer, ...]) -> int:
    """Modules that draft a token each; the stages of DeepSeek V4.1's drafter are one module together."""
    return 1 if any(isinstance(layer.cache, CompressedCache) for layer in drafting) else len(drafting)


def cache_config(scenario: Scenario) -> CacheConfig:
    """The planner's view of a scenario.

    Tokens in flight: async scheduling on the V2 runner, the default, keeps pipeline stages + 1 batches
    (vLLM 0.33.0 config/vllm.py max_in_flight_tokens).
    """
    return CacheConfig(
        generation=generation(scenario.gpu),
        kv_dtype=scenario.kv_cache_dtype,
        tensor_parallel=scenario.layout.tensor,
        in_flight_tokens=scenario.max_batched_tokens * (scenario.layout.pipeline + 1),
        decode_context=scenario.layout.decode_context,
        prefix_caching=scenario.prefix_caching,
        draft_tokens=scenario.speculative_tokens,
        draft_modules=draft_modules(drafting_layers(scenario)),
        state_dtype=scenario.model.architecture.state_dtype,
    )


def model_holdings(scenario: Scenario) -> Holdings:
    """What all loaded layers cache, drafting layers included."""
    return (*_held(scenario.model.architecture.layers), *_held(drafting_layers(scenario)))


def pipeline_stages(scenario: Scenario, table: WeightTable, config: CacheConfig) -> tuple[Stage, ...]:
    """The rank of every pipeline stage; block sizes follow from the whole model on all of them."""
    architecture, layout = scenario.model.architecture, scenario.layout
    whole = model_holdings(scenario)
    sizes = stage_weights(table, architecture, layout, hosted=hosted_roles(architecture))
    parts = stage_layers(len(architecture.layers), layout.pipeline)
    activations = buffers.activations(
        architecture, layout, scenario.gpu, scenario.max_batched_tokens, vision=scenario.vision
    )
    return tuple(
        Stage(
            weights=size - int(size * scenario.cpu_offload_percent / 100),
            activations=activations,
            loaded_buffers=loaded_bytes(scenario, table, layers),
            fixed_buffers=buffers.cuda_graphs(),
            workspace_per_token=buffers.sparse_workspace_per_token(architecture),
            overhead=buffers.runtime_overhead(layout),
            demand=plan_pool(whole, held_by(scenario, layers), config)[1],
        )
        for size, layers in zip(sizes, parts, strict=True)
    )


def loaded_bytes(scenario: Scenario, table: WeightTable, layers: range) -> int:
    """What "Model loading took" counts on a rank beside the checkpoint's own tensors."""
    architecture, layout = scenario.model.architecture, scenario.layout
    copies = loading.absorbed_bytes(architecture, layers, layout.tensor) + loading.rotary_bytes(architecture)
    padding = loading.padding_bytes(table, architecture, layout, generation(scenario.gpu), layers)
    return copies + padding


def held_by(scenario: Scenario, layers: range) -> Holdings:
    """What one stage caches; drafting layers run on the last."""
    every = scenario.model.architecture.layers
    if len(layers) == len(every):
        return model_holdings(scenario)
    last = layers.stop == len(every)
    return holdings((*every[layers.start : layers.stop], *(drafting_layers(scenario) if last else ())))


def hosted_roles(architecture: Architecture) -> frozenset[str]:
    """Lookup tables that vLLM pins in host memory: n-gram embeddings (config/engram.py cpu_offload).

    Qwen4's are per-layer embeddings with a convolution behind them; Gemma 4's plain ones stay on the GPU.
    """
    states = (state for layer in architecture.layers for state in layer.states)
    ngrams = any(state.kind is StateKind.LOOKUP_CONV for state in states)
    return _ENGRAM | _PER_LAYER if ngrams else _ENGRAM
