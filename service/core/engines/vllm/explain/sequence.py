"""What one sequence costs on one rank that holds the whole model."""

from collections.abc import Mapping
from dataclasses import replace
from math import lcm

from service.core.derivation.expressions import Expression, add, ceil_div
from service.core.derivation.facts import rule
from service.core.derivation.steps import Topic, Trace, Unit
from service.core.engines.vllm.explain.pool import BLOCK, SPECS, Pool
from service.core.engines.vllm.layers import Holdings
from service.core.engines.vllm.specs import CacheConfig, Spec, SpecKind
from service.core.scenario import Scenario

_HISTORY = rule("token ids that n-gram lookups keep beside the state, 8 bytes each")
_WINDOWS = (SpecKind.SLIDING, SpecKind.CHUNKED)


def per_sequence(
    trace: Trace, scenario: Scenario, config: CacheConfig, whole: Holdings
) -> Mapping[str, Expression]:
    """Bytes of a token, of the windows and of the state of one sequence, before any split."""
    pool = Pool(trace, scenario, replace(config, tensor_parallel=1, decode_context=1), whole, whole)
    return {
        "kv_bytes_per_token": _token(pool),
        "kv_window_bytes_per_sequence": _windows(trace, pool),
        "state_bytes_per_sequence": _states(trace, pool, whole),
    }


def _token(pool: Pool) -> Expression:
    """Entries of the growing layers, over the tokens that an entry stands for."""
    growing = [(spec, count) for spec, count in pool.specs if spec.kind is SpecKind.FULL]
    common = lcm(*(spec.tokens_per_entry for spec, _ in growing))
    terms = []
    for spec, count in growing:
        term = pool.layers(count) * pool.entry(spec)
        terms.append(term * (common // spec.tokens_per_entry) if spec.tokens_per_entry != common else term)
    return add(terms) // common if common > 1 else add(terms)


def _windows(trace: Trace, pool: Pool) -> Expression:
    """Blocks of sliding and chunked groups in steady state."""
    blocks = [
        pool.groups(count) * _steady(trace, spec)
        for spec, count in pool.demand.takers
        if spec.kind in _WINDOWS and not spec.constant
    ]
    return pool.block_bytes * add(blocks) if blocks else add(())


def _steady(trace: Trace, spec: Spec) -> Expression:
    trace.about(Topic.CACHE)
    window = trace.given("window", spec.window, Unit.TOKENS, SPECS)
    block = trace.given("block_tokens", spec.block, Unit.TOKENS, BLOCK)
    if spec.kind is SpecKind.SLIDING:
        return ceil_div(window - 1, block) + 1
    return ceil_div(window, block)


def _states(trace: Trace, pool: Pool, whole: Holdings) -> Expression:
    """One unpadded copy of every state; of a compressor, the rows of its window."""
    terms = []
    for spec, count in pool.specs:
        if spec.constant:
            term = pool.layers(count) * pool.entry(spec)
            if spec.kind is SpecKind.SLIDING:
                term *= trace.given("window", spec.window, Unit.TOKENS, SPECS)
            terms.append(term)
    history = sum(state.token_history * layers for (_, _, states), layers in whole for state in states)
    if history:
        trace.about(Topic.STATE)
        ids = trace.given("history_tokens", history, Unit.TOKENS, _HISTORY)
        terms.append(ids * 8)
    return add(terms)
