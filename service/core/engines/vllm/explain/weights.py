"""The weights of a rank and of the host: pinned lookup tables, and what is offloaded."""

from service.core.derivation.expressions import Expression
from service.core.derivation.facts import rule
from service.core.derivation.shares import rank_shares
from service.core.derivation.steps import Topic, Trace, Unit
from service.core.engines.vllm.stages import hosted_roles
from service.core.parallel import lookup_bytes
from service.core.scenario import Scenario
from service.core.sizing import Sourced
from service.core.weights.table import WeightTable

_SPLIT = "vLLM 0.33.0 model_executor/layers (linear.py, vocab_parallel_embedding.py, fused_moe/config.py)"
_PINNED = rule("vLLM 0.33.0 config/engram.py: lookup tables pinned in host memory")


def on_rank(
    trace: Trace, scenario: Scenario, table: WeightTable, stage: int, model: Expression
) -> Expression:
    """Bytes of the weights on a rank of one pipeline stage."""
    trace.about(Topic.WEIGHTS)
    layout, source = scenario.layout, Sourced(table.evidence, _SPLIT)
    if layout.tensor * layout.pipeline * layout.data == 1:
        held = model - _tables(trace, scenario, table)
    else:
        hosted = hosted_roles(scenario.model.architecture)
        held = rank_shares(trace, scenario, table, stage, source, hosted)
    if not scenario.cpu_offload_percent:
        return held
    loaded = trace.follows("rank_weights_loaded", held, Unit.BYTES, source)
    return loaded - loaded * trace.asked(scenario, "cpu_offload_percent", Unit.PERCENT) / 100 // 1


def on_host(trace: Trace, scenario: Scenario, table: WeightTable, model: Expression) -> Expression:
    """Bytes in system RAM: pinned lookup tables, and the share of the rest that is offloaded."""
    trace.about(Topic.WEIGHTS)
    tables = _tables(trace, scenario, table)
    if not scenario.cpu_offload_percent:
        return tables
    share = trace.asked(scenario, "cpu_offload_percent", Unit.PERCENT)
    return tables + (model - tables) * share / 100 // 1


def _tables(trace: Trace, scenario: Scenario, table: WeightTable) -> Expression:
    size = lookup_bytes(table, hosted_roles(scenario.model.architecture))
    return trace.given("host_tables", size, Unit.BYTES, _PINNED)
