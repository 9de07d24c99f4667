"""The compute buffer: masks and the widest stage of the graph (llama.cpp src/llama-context.cpp)."""

from dataclasses import dataclass

from service.core.architecture.caches import CompressedCache, KeyValueCache, Reach
from service.core.architecture.model import Architecture, Layer
from service.core.arrays import floor, larger
from service.core.engines.llama_cpp.pool import Pool
from service.core.engines.llama_cpp.stages import Stages, sequence_values, stages
from service.core.identity import ByIdentity

_F32, _F16 = 4, 2
_stages: ByIdentity[Architecture, Stages] = ByIdentity(stages)
# Context at which a model's own figure was read, where it does not hold at every context.
_RECORDED_CELLS = 8192


@dataclass(frozen=True, slots=True)
class Graph:
    """What the compute buffer of a model depends on beside the pool.

    floats: the model's own figure in f32 values a token of the micro-batch, as llama-fit-params gives it,
    None where it was not run; exact: it holds at every context.
    """

    architecture: Architecture
    stages: Stages
    floats: float | None = None
    exact: bool = False

    @property
    def known(self) -> bool:
        """Whether the figure is the model's own or its rule was fitted to models of its kind."""
        return self.floats is not None or self.stages.known


def graph(architecture: Architecture, floats: float | None = None, exact: bool = False) -> Graph:
    """The graph of an architecture, made once and evaluated for many pools."""
    return Graph(architecture, _stages(architecture), floats, exact)


def layer_stage_bytes(graph: Graph, pool: Pool, copies: int = 1) -> int:
    """Bytes while the layers are computed: inputs with their masks, and the widest stage.

    copies: how often the inputs are kept, 4 (GGML_SCHED_MAX_COPIES) where several devices work as a pipeline.
    """
    inputs = _mask_bytes(graph, pool) * copies
    if copies > 1:
        inputs = inputs + copies * _F32 * pool.micro_batch * graph.architecture.hidden_size
    return inputs + floor(_F32 * pool.micro_batch * values_per_token(graph, pool))


def output_stage_bytes(graph: Graph, pool: Pool, outputs: int) -> int:
    """Bytes of the last stage, the logits of `outputs` tokens among them."""
    return _F32 * (outputs * graph.architecture.vocabulary + pool.micro_batch * graph.stages.logits)


def _mask_bytes(graph: Graph, pool: Pool) -> int:
    """The attention masks: one over the full cells, one over the window cells, f16 with flash attention."""
    element = _F16 if pool.flash_attention else _F32
    return pool.micro_batch * element * (pool.stream_cells + window_mask_cells(graph, pool))


def window_mask_cells(graph: Graph, pool: Pool) -> int:
    """Cells of the widest window; a model's own figure for DeepSeek V4 has this mask inside already."""
    widest = 0
    for layer in graph.stages.layers:
        window = _window(layer)
        inside = isinstance(layer.cache, CompressedCache) and graph.floats is not None
        if window and (pool.swa_full or not inside):
            widest = larger(widest, pool.window_cells(window))
    return widest


def _window(layer: Layer) -> int | None:
    """Tokens that the layer sees, None where it sees all or has no cache."""
    if isinstance(layer.cache, KeyValueCache):
        return None if layer.cache.reach is Reach.FULL else layer.cache.window
    return layer.cache.window if isinstance(layer.cache, CompressedCache) else None


def values_per_token(graph: Graph, pool: Pool) -> float:
    """f32 values a token at the widest stage."""
    by_sequence = sequence_values(graph.stages, graph.architecture, pool)
    values = larger(_recorded(graph, pool), by_sequence)
    if pool.flash_attention:
        return values
    return larger(values, _scores(graph, pool))


def _recorded(graph: Graph, pool: Pool) -> float:
    """The model's own figure, moved to this context where it is not exact; else the rule."""
    own, per_cell = graph.floats, graph.stages.per_cell
    if own is None:
        return graph.stages.per_token + per_cell * pool.stream_cells
    if graph.exact:
        return own
    return larger(own + per_cell * (pool.stream_cells - _RECORDED_CELLS), own / 2)


def _scores(graph: Graph, pool: Pool) -> float:
    """Without flash attention every head holds its scores over all cells, beside queries and outputs."""
    heads = graph.architecture.attention_heads
    cells = 0
    for layer in graph.stages.layers:
        cells = larger(cells, _score_cells(layer, pool))
    return heads * cells + max(6 * graph.architecture.hidden_size, graph.stages.per_token)


def _score_cells(layer: Layer, pool: Pool) -> int:
    """Cells that a query of the layer is scored against."""
    if isinstance(layer.cache, CompressedCache):
        ratio = layer.cache.ratio
        return pool.window_cells(layer.cache.window) + (pool.stream_cells // ratio if ratio else 0)
    window = _window(layer)
    if window:
        return pool.window_cells(window)
    return 0 if layer.cache is None else pool.stream_cells
