"""How llama.cpp's figures follow from the facts: steps of the derivation, in the order of its own code."""

from service.core.derivation.explained import Explained
from service.core.derivation.expressions import Expression, add
from service.core.derivation.ranks import EXPLAINED, kinds
from service.core.derivation.steps import Trace
from service.core.derivation.weights import model_weights
from service.core.engines.llama_cpp.explain.buffers import Buffers
from service.core.engines.llama_cpp.explain.layers import LayerSteps
from service.core.engines.llama_cpp.explain.weights import Weights
from service.core.engines.llama_cpp.plan import arrange, weights
from service.core.sizing import Sizing, Sourced


def explain(sizing: Sizing, trace: Trace, batch: Sourced | None = None) -> Explained:
    """The steps behind a plan that llama.cpp made, or an engine built on it.

    batch: where the scenario's max_batched_tokens come from when the engine chose them itself.
    """
    scenario = sizing.scenario
    table = weights(scenario)
    arranged = arrange(scenario, table)
    load = arranged.load
    pool = arranged.make_pool(scenario.context_tokens, scenario.concurrent_sequences)
    whole = model_weights(trace, table)
    layers = LayerSteps(trace, scenario, load, pool, batch)
    placed = Weights(trace, scenario, table, arranged, whole)
    buffers = Buffers(trace, scenario, load, pool, layers)
    ranks: dict[tuple[int, str], Expression] = {}
    for number, kind in enumerate(kinds(sizing.plan)[:EXPLAINED]):
        group = load.groups[kind.first]
        counts = layers.counts(group.layers, number)
        ranks[number, "weights"] = placed.on_device(kind.first)
        ranks[number, "kv_cache"] = layers.cache(counts)
        ranks[number, "recurrent_state"] = layers.state(counts)
        ranks[number, "compute_buffers"] = buffers.of(group)
    hosted = placed.on_host()
    if load.host:
        counts = layers.host_counts()
        hosted = add((hosted, layers.cache(counts), layers.state(counts)))
    return Explained(
        answers={
            **layers.per_sequence(),
            "host_bytes": hosted,
            "kv_cache_capacity_tokens": layers.cells,
        },
        ranks=ranks,
    )
