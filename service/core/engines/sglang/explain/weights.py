"""The weights of a rank and of the host."""

from service.core.derivation.expressions import Expression
from service.core.derivation.facts import rule
from service.core.derivation.shares import rank_shares
from service.core.derivation.steps import Topic, Trace, Unit
from service.core.engines.sglang.loading import hosted_roles, rank_weights
from service.core.parallel import lookup_bytes
from service.core.scenario import Scenario
from service.core.sizing import Sourced
from service.core.weights.table import WeightTable

_SPLIT = "SGLang 0.5.23 srt/layers/linear.py, vocab_parallel_embedding.py, dp_attention.py"
_PINNED = rule("SGLang 0.5.23 --ple-offload-embedding: lookup tables in host memory")


def on_rank(
    trace: Trace, scenario: Scenario, table: WeightTable, stage: int, model: Expression
) -> Expression:
    """Bytes of the weights on a rank of one pipeline stage; a leaf under attention data parallelism."""
    trace.about(Topic.WEIGHTS)
    layout, source = scenario.layout, Sourced(table.evidence, _SPLIT)
    if layout.data > 1:
        figure = rank_weights(scenario, table)[stage]
        return trace.given("rank_weights", figure, Unit.BYTES, source)
    if layout.tensor * layout.pipeline == 1:
        held = model - _tables(trace, scenario, table)
    else:
        held = rank_shares(trace, scenario, table, stage, source, hosted_roles(scenario))
    if not scenario.cpu_offload_percent:
        return held
    loaded = trace.follows("rank_weights_loaded", held, Unit.BYTES, source)
    return loaded - loaded * trace.asked(scenario, "cpu_offload_percent", Unit.PERCENT) / 100 // 1


def on_host(trace: Trace, scenario: Scenario, table: WeightTable, model: Expression) -> Expression:
    """Bytes in system RAM: lookup tables, and the share of the rest that is offloaded."""
    trace.about(Topic.WEIGHTS)
    tables = _tables(trace, scenario, table)
    if not scenario.cpu_offload_percent:
        return tables
    share = trace.asked(scenario, "cpu_offload_percent", Unit.PERCENT)
    return tables + (model - tables) * share / 100 // 1


def _tables(trace: Trace, scenario: Scenario, table: WeightTable) -> Expression:
    return trace.given("host_tables", lookup_bytes(table, hosted_roles(scenario)), Unit.BYTES, _PINNED)
