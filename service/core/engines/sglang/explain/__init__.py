"""How SGLang's figures follow from the facts: steps in the order of its own configurators."""

from service.core.derivation.explained import Explained
from service.core.derivation.expressions import Expression
from service.core.derivation.ranks import EXPLAINED, kinds
from service.core.derivation.steps import Trace
from service.core.derivation.weights import model_weights
from service.core.engines.sglang.explain.capacity import capacity_tokens
from service.core.engines.sglang.explain.pool import Pools
from service.core.engines.sglang.explain.reserve import Reserve
from service.core.engines.sglang.explain.sequence import per_sequence
from service.core.engines.sglang.explain.states import States
from service.core.engines.sglang.explain.weights import on_host, on_rank
from service.core.engines.sglang.loading import weight_table
from service.core.engines.sglang.plan import deployment, settle
from service.core.engines.sglang.stages import stages_of
from service.core.sizing import Sizing


def explain(sizing: Sizing, trace: Trace) -> Explained:
    """The steps behind a plan that SGLang made."""
    scenario = settle(sizing.scenario)
    table = weight_table(scenario)
    server = deployment(scenario, table)
    parts = stages_of(scenario.model.architecture, scenario.layout.pipeline)
    model = model_weights(trace, table).total
    answers: dict[str, Expression] = dict(per_sequence(trace, scenario, server.flags))
    answers["host_bytes"] = on_host(trace, scenario, table, model)
    pools, states = Pools(trace, scenario, server), States(trace, scenario, server)
    reserve = Reserve(trace, scenario, server)
    ranks: dict[tuple[int, str], Expression] = {}
    outside = reserve.outside()
    for number, kind in enumerate(kinds(sizing.plan)[:EXPLAINED]):
        stage = server.stages[kind.first]
        own = {
            "weights": on_rank(trace, scenario, table, kind.first, model),
            "kv_cache": pools.reserved(stage, parts[kind.first]),
            "recurrent_state": states.reserved(stage),
            "compute_buffers": outside,
            "runtime_overhead": reserve.overhead(stage),
        }
        ranks |= {(number, term): formula for term, formula in own.items()}
    if (static := reserve.static()) is not None:
        answers["usable_bytes"] = reserve.usable(static, outside)
        if len(server.stages) == 1:
            taken = ranks[0, "weights"]
            tokens = capacity_tokens(trace, server, static - taken, pools, states, parts[0])
            answers |= {} if tokens is None else {"kv_cache_capacity_tokens": tokens}
    return Explained(answers=answers, ranks=ranks)
