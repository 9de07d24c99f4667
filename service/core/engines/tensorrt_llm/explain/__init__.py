"""How TensorRT-LLM's figures follow from the facts: blocks of its pools, states, the fraction of free."""

from service.core.architecture.kinds import kinds as kept_by
from service.core.derivation.explained import Explained
from service.core.derivation.expressions import Expression
from service.core.derivation.ranks import EXPLAINED, UNSTATED, kinds
from service.core.derivation.shares import rank_shares
from service.core.derivation.steps import Trace
from service.core.derivation.weights import model_weights
from service.core.engines.tensorrt_llm.cache import CacheConfig
from service.core.engines.tensorrt_llm.explain.budget import activations, usable
from service.core.engines.tensorrt_llm.explain.pools import Pools
from service.core.parallel import stage_layers
from service.core.sizing import Sizing
from service.core.weights.weigh import weigh


def explain(sizing: Sizing, trace: Trace) -> Explained:
    """The steps behind a plan that TensorRT-LLM made."""
    scenario, plan, layout = sizing.scenario, sizing.plan, sizing.scenario.layout
    model = scenario.model.architecture
    drafting = model.mtp if scenario.speculative_tokens else ()
    table = weigh(
        scenario.model,
        scenario.quantization,
        mtp=bool(drafting),
        vision=scenario.vision and bool(model.vision),
    )
    total = model_weights(trace, table).total
    parts = stage_layers(len(model.layers), layout.pipeline)
    divided = CacheConfig(scenario.kv_cache_dtype, layout.tensor, layout.decode_context, model.state_dtype)
    steps = Pools(trace, scenario, divided)
    ranks: dict[tuple[int, str], Expression] = {}
    for number, kind in enumerate(kinds(plan)[:EXPLAINED]):
        own = parts[kind.first]
        kept = kept_by(
            (*model.layers[own.start : own.stop], *(drafting if own.stop == len(model.layers) else ()))
        )
        source = plan.evidence.get("weights", UNSTATED)
        alone = len(plan.ranks) == 1 and total.value == kind.memory.weights
        ranks[number, "weights"] = total if alone else rank_shares(trace, scenario, table, kind.first, source)
        ranks[number, "kv_cache"] = steps.each * steps.caches(kept)
        ranks[number, "recurrent_state"] = steps.each * steps.states(kept)
        ranks[number, "compute_buffers"] = activations(trace, scenario)
    whole = Pools(trace, scenario, CacheConfig(scenario.kv_cache_dtype, state_dtype=model.state_dtype))
    everything = kept_by((*model.layers, *drafting))
    answers = {
        "kv_bytes_per_token": whole.growth(everything),
        "kv_window_bytes_per_sequence": whole.windows(everything),
        "state_bytes_per_sequence": whole.states(everything),
    }
    if (found := usable(trace, scenario, plan)) is not None:
        answers["usable_bytes"] = found
    return Explained(answers, ranks)
