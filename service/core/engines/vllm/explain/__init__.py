"""How vLLM's figures follow from the facts: steps of the derivation, in the order of its own planner."""

from service.core.derivation.explained import Explained
from service.core.derivation.expressions import Expression, smallest
from service.core.derivation.ranks import EXPLAINED, kinds
from service.core.derivation.steps import Trace
from service.core.derivation.weights import model_weights
from service.core.engines.vllm.explain.buffers import buffers, overhead
from service.core.engines.vllm.explain.capacity import capacity_tokens, usable
from service.core.engines.vllm.explain.pool import Pool
from service.core.engines.vllm.explain.sequence import per_sequence
from service.core.engines.vllm.explain.weights import on_host, on_rank
from service.core.engines.vllm.plan import loaded_table
from service.core.engines.vllm.stages import cache_config, held_by, model_holdings, pipeline_stages
from service.core.parallel import stage_layers
from service.core.sizing import Sizing


def explain(sizing: Sizing, trace: Trace) -> Explained:
    """The steps behind a plan that vLLM made."""
    scenario = sizing.scenario
    table, config, whole = loaded_table(scenario), cache_config(scenario), model_holdings(scenario)
    stages = pipeline_stages(scenario, table, config)
    parts = stage_layers(len(scenario.model.architecture.layers), scenario.layout.pipeline)
    model, room = model_weights(trace, table).total, usable(trace, scenario)
    answers: dict[str, Expression] = dict(per_sequence(trace, scenario, config, whole))
    answers["host_bytes"] = on_host(trace, scenario, table, model)
    if room is not None:
        answers["usable_bytes"] = room
    ranks: dict[tuple[int, str], Expression] = {}
    capacities: list[Expression] = []
    for number, kind in enumerate(kinds(sizing.plan)[:EXPLAINED]):
        stage = stages[kind.first]
        pool = Pool(trace, scenario, config, whole, held_by(scenario, parts[kind.first]))
        apart = bool(kind.memory.recurrent_state)
        own = {
            "weights": on_rank(trace, scenario, table, kind.first, model),
            "kv_cache": pool.reserved(constant=False if apart else None),
            "recurrent_state": pool.reserved(constant=True),
            "compute_buffers": buffers(trace, scenario, stage),
            "runtime_overhead": overhead(trace, stage),
        }
        taken = own["weights"] + own["compute_buffers"] + own["runtime_overhead"]
        own["runtime_overhead"] += pool.block_bytes
        ranks |= {(number, term): formula for term, formula in own.items()}
        if (tokens := capacity_tokens(trace, scenario, pool, room, taken)) is not None:
            capacities.append(tokens)
    if capacities:
        # The stage with the least decides; a stage that is not explained may be it, then this is dropped.
        answers["kv_cache_capacity_tokens"] = smallest(*capacities)
    return Explained(answers=answers, ranks=ranks)
