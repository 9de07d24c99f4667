"""Usable memory, the pool that is left of it, and the tokens that vLLM prints."""

from service.core.derivation.expressions import Expression, ceil_div
from service.core.derivation.facts import gpu_memory, rule
from service.core.derivation.steps import Topic, Trace, Unit
from service.core.engines.vllm.budget import UTILIZATION
from service.core.engines.vllm.explain.pool import Pool
from service.core.scenario import Scenario

_SHARE = rule("vLLM 0.33.0 v1/worker/utils.py request_memory: the share of the total, rounded up")
_POOL = rule("vLLM 0.33.0 v1/core/kv_cache_planning.py get_kv_cache_configs")


def usable(trace: Trace, scenario: Scenario) -> Expression | None:
    """What vLLM may use of a GPU; None where the memory is not known."""
    if scenario.gpu.memory_bytes is None or not scenario.gpu.exists:
        return None
    found = gpu_memory(trace, scenario.gpu)
    if scenario.kv_cache_memory_bytes is None:
        share = scenario.memory_utilization
        portion = trace.asked(
            scenario, "memory_utilization", Unit.RATIO, UTILIZATION if share is None else share
        )
        trace.about(Topic.FIT)
        requested = ceil_div(found * portion, 1)
        found = trace.follows("requested_memory", requested, Unit.BYTES, _SHARE)
    if scenario.reserved_memory_bytes:
        found -= trace.asked(scenario, "reserved_memory_bytes", Unit.BYTES)
    return found


def capacity_tokens(
    trace: Trace, scenario: Scenario, pool: Pool, usable: Expression | None, taken: Expression
) -> Expression | None:
    """ "GPU KV cache size" of the only stage: whole blocks of the pool, over the blocks of one sequence.

    taken: weights, buffers and runtime of the rank.
    """
    admission = pool.admission()
    if not admission.value or not pool.block_bytes.value:
        return None
    trace.about(Topic.LIMITS)
    if scenario.kv_cache_memory_bytes is not None:
        room = trace.asked(scenario, "kv_cache_memory_bytes", Unit.BYTES)
    elif usable is not None:
        left = usable - taken
        room = trace.follows("pool_bytes", left, Unit.BYTES, _POOL, figure=max(0, left.value))
    else:
        return None
    context = trace.asked(scenario, "context_tokens", Unit.TOKENS)
    blocks = trace.follows("pool_blocks", room // pool.block_bytes, Unit.BLOCKS, _POOL)
    return blocks / admission * context // 1
