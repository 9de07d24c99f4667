"""max_total_tokens of the only stage: what the static part leaves, in whole pages."""

from service.core.derivation.expressions import Expression
from service.core.derivation.facts import rule
from service.core.derivation.steps import Topic, Trace, Unit
from service.core.engines.sglang.deployment import Deployment
from service.core.engines.sglang.explain.pool import POOLS, Pools
from service.core.engines.sglang.explain.states import States

_BUDGET = rule("SGLang 0.5.23 srt/mem_cache/kv_cache_configurator.py _resolve_memory_pool_config")


def capacity_tokens(
    trace: Trace, server: Deployment, left: Expression, pools: Pools, states: States, layers: range
) -> Expression | None:
    """Tokens that the pool holds; left: static bytes less weights. None where the caller fixed the pool."""
    stage, budget = server.stages[0], server.budget
    held = server.capacity(server.flags.context_tokens)
    if server.pinned is not None or budget is None or held is None or budget <= 0:
        return None
    sizer = stage.sizer
    if not sizer.token_bytes:
        return None
    token, page = pools.token(stage, layers), pools.page
    slot = states.slot if server.states.slot else None
    trace.about(Topic.LIMITS)
    if stage.beside:
        left -= trace.given("loaded_beside", stage.beside, Unit.BYTES, _BUDGET, title="loaded_buffers")
    room = trace.follows("pool_bytes", left, Unit.BYTES, _BUDGET, figure=budget, title="pools_of_gpu")
    if slot is not None:
        slots = trace.given("pool_slots", held.slots, Unit.COUNT, _BUDGET)
        room -= slot * (slots + 1)
        if drafts := server.states.bytes(held.slots) - server.states.slot * (held.slots + 1):
            room -= trace.given("pool_draft_states", drafts, Unit.BYTES, _BUDGET, title="draft_states")
    if fixed := sizer.window_bytes + sizer.state_bytes:
        room -= trace.given("fixed_pools", fixed, Unit.BYTES, POOLS)
    return room // token // page * page
