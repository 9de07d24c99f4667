"""From a scenario to the ranks of every pipeline stage."""

from dataclasses import dataclass

from service.core.architecture.caches import CompressedCache, StateKind
from service.core.architecture.model import Architecture, Layer
from service.core.catalogued import Model
from service.core.engines.vllm import buffers, loading
from service.core.engines.vllm.budget import Stage
from service.core.engines.vllm.generation import Generation, generation
from service.core.engines.vllm.layers import Holdings, holdings
from service.core.engines.vllm.pool import Demand, plan_pool
from service.core.engines.vllm.specs import CacheConfig
from service.core.identity import ByIdentity
from service.core.parallel import lookup_bytes, stage_layers, stage_weights
from service.core.scenario import Layout, Scenario
from service.core.weights.table import WeightTable

_ENGRAM = frozenset({"engram_embd.weight"})
_PER_LAYER = frozenset({"per_layer_token_embd.weight"})


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


def _hold(architecture: Architecture, drafting: bool) -> Holdings:
    return (*holdings(architecture.layers), *(holdings(architecture.mtp) if drafting else ()))


_model_holdings: ByIdentity[Architecture, bool, Holdings] = ByIdentity(_hold)


def model_holdings(scenario: Scenario) -> Holdings:
    """What all loaded layers cache, drafting layers included."""
    return _model_holdings(scenario.model.architecture, bool(drafting_layers(scenario)))


def pipeline_stages(scenario: Scenario, table: WeightTable, config: CacheConfig) -> tuple[Stage, ...]:
    """The rank of every pipeline stage; block sizes follow from the whole model on all of them."""
    loaded = load(scenario.model, table, scenario.layout, generation(scenario.gpu))
    return stages_with(scenario, loaded, config)


@dataclass(frozen=True, slots=True)
class Loaded:
    """Bytes of a model by pipeline stage: weights of a rank, and what kernels pad on it.

    total: of all tensors, each once; tables: of those that stay in host memory.
    """

    sizes: tuple[int, ...]
    padding: tuple[int, ...]
    total: int
    tables: int


def load(model: Model, table: WeightTable, layout: Layout, generation: Generation) -> Loaded:
    """What a table takes on the ranks of a layout."""
    architecture = model.architecture
    hosted = hosted_roles(architecture)
    parts = stage_layers(len(architecture.layers), layout.pipeline)
    return Loaded(
        sizes=stage_weights(table, architecture, layout, hosted=hosted),
        padding=tuple(loading.padding_bytes(table, architecture, layout, generation, part) for part in parts),
        total=table.total_bytes,
        tables=lookup_bytes(table, hosted),
    )


def stages_with(scenario: Scenario, loaded: Loaded, config: CacheConfig) -> tuple[Stage, ...]:
    """The rank of every pipeline stage for weights that are known already."""
    architecture, layout = scenario.model.architecture, scenario.layout
    drafting = bool(drafting_layers(scenario))
    parts = stage_layers(len(architecture.layers), layout.pipeline)
    activations = buffers.activations(
        architecture, layout, scenario.gpu, scenario.max_batched_tokens, vision=scenario.vision
    )
    return tuple(
        Stage(
            weights=size - int(size * scenario.cpu_offload_percent / 100),
            activations=activations,
            loaded_buffers=_copies(architecture, layout, layers) + padding,
            fixed_buffers=buffers.cuda_graphs(),
            workspace_per_token=buffers.sparse_workspace_per_token(architecture),
            overhead=buffers.runtime_overhead(layout),
            demand=_stage_demand(architecture, drafting, layers, config),
        )
        for size, padding, layers in zip(loaded.sizes, loaded.padding, parts, strict=True)
    )


def _copies(architecture: Architecture, layout: Layout, layers: range) -> int:
    """Copies and tables that loading makes, whatever the format."""
    return loading.absorbed_bytes(architecture, layers, layout.tensor) + loading.rotary_bytes(architecture)


def held_by(scenario: Scenario, layers: range) -> Holdings:
    """What one stage caches; drafting layers run on the last."""
    return _held_by(scenario.model.architecture, bool(drafting_layers(scenario)), layers)


def _held_by(architecture: Architecture, drafting: bool, layers: range) -> Holdings:
    every = architecture.layers
    if len(layers) == len(every):
        return _model_holdings(architecture, drafting)
    behind = architecture.mtp if drafting and layers.stop == len(every) else ()
    return holdings((*every[layers.start : layers.stop], *behind))


def _demand(architecture: Architecture, drafting: bool, layers: range, config: CacheConfig) -> Demand:
    whole = _model_holdings(architecture, drafting)
    return plan_pool(whole, _held_by(architecture, drafting, layers), config)[1]


_stage_demand: ByIdentity[Architecture, bool, range, CacheConfig, Demand] = ByIdentity(_demand, each=256)


def hosted_roles(architecture: Architecture) -> frozenset[str]:
    """Lookup tables that vLLM pins in host memory: n-gram embeddings (config/engram.py cpu_offload).

    Qwen4's are per-layer embeddings with a convolution behind them; Gemma 4's plain ones stay on the GPU.
    """
    return _hosted(architecture)


def _host(architecture: Architecture) -> frozenset[str]:
    states = (state for layer in architecture.layers for state in layer.states)
    ngrams = any(state.kind is StateKind.LOOKUP_CONV for state in states)
    return _ENGRAM | _PER_LAYER if ngrams else _ENGRAM


_hosted = ByIdentity(_host)
