"""How MLX's figures follow from the facts: caches in whole steps, states, a prompt's chunk."""

from service.core.architecture.kinds import kinds as kept_by
from service.core.derivation.explained import Explained
from service.core.derivation.expressions import Expression
from service.core.derivation.ranks import EXPLAINED, UNSTATED, kinds
from service.core.derivation.shares import rank_shares
from service.core.derivation.steps import Trace
from service.core.derivation.weights import model_weights
from service.core.engines.mlx.explain.caches import Caches
from service.core.engines.mlx.explain.prompts import prompt
from service.core.parallel import stage_layers
from service.core.sizing import Sizing
from service.core.weights.weigh import weigh


def explain(sizing: Sizing, trace: Trace) -> Explained:
    """The steps behind a plan that MLX made."""
    scenario, plan = sizing.scenario, sizing.plan
    layers = scenario.model.architecture.layers
    table = weigh(scenario.model, scenario.quantization, vision=scenario.vision)
    total, steps = model_weights(trace, table).total, Caches(trace, scenario)
    parts = stage_layers(len(layers), scenario.layout.pipeline)
    ranks: dict[tuple[int, str], Expression] = {}
    for number, kind in enumerate(kinds(plan)[:EXPLAINED]):
        own = parts[kind.first]
        kept = kept_by(layers[own.start : own.stop])
        source = plan.evidence.get("weights", UNSTATED)
        whole = len(plan.ranks) == 1
        ranks[number, "weights"] = total if whole else rank_shares(trace, scenario, table, kind.first, source)
        ranks[number, "kv_cache"] = steps.sequences * steps.caches(kept)
        ranks[number, "recurrent_state"] = steps.sequences * steps.states(kept)
        ranks[number, "compute_buffers"] = prompt(trace, scenario, kept, last=own.stop == len(layers))
    model = kept_by(layers)
    answers = {
        "kv_bytes_per_token": steps.growth(model),
        "kv_window_bytes_per_sequence": steps.windows(model),
        "state_bytes_per_sequence": steps.states(model),
        "kv_cache_capacity_tokens": steps.sequences * steps.tokens,
    }
    return Explained(answers, ranks)
