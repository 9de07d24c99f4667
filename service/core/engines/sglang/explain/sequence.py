"""What one sequence costs on one rank that holds the whole model."""

from collections.abc import Mapping
from dataclasses import replace

from service.core.derivation.expressions import Expression
from service.core.derivation.facts import rule
from service.core.derivation.steps import Topic, Trace, Unit
from service.core.engines.sglang.explain.cells import Cells
from service.core.engines.sglang.explain.states import state_slot
from service.core.engines.sglang.flags import Flags
from service.core.engines.sglang.stages import sizer_of
from service.core.engines.sglang.states import slot_bytes
from service.core.scenario import Scenario

_PAGE = rule("SGLang 0.5.23 page size of the attention backend or the index")
_POOLS = rule("SGLang 0.5.23 srt/model_executor/pool_configurator.py")


def per_sequence(trace: Trace, scenario: Scenario, flags: Flags) -> Mapping[str, Expression]:
    """Bytes of a token, of the windows and of the state of one sequence, before any split."""
    alone = replace(flags, attention_parallel=1, decode_context=1, pipeline=1)
    architecture = scenario.model.architecture
    every = range(len(architecture.layers))
    sizer = sizer_of(architecture, every, alone)
    trace.about(Topic.CACHE)
    cells = Cells(trace, scenario, alone, every)
    token = cells.full(sizer.full_token)
    found = {"kv_bytes_per_token": token // 1 if isinstance(token.value, float) else token}
    if sizer.window_token:
        window = trace.given("window", sizer.window, Unit.TOKENS, _POOLS)
        page = trace.given("page_tokens", sizer.page, Unit.TOKENS, _PAGE)
        found["kv_window_bytes_per_sequence"] = (window + page) * cells.windows(sizer.window_token) // 1
    if slot := slot_bytes(architecture, 1, (every,)):
        found["state_bytes_per_sequence"] = state_slot(trace, scenario, 1, slot)
    return found
