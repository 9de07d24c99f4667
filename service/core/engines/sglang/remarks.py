"""What SGLang refuses, and what is to be said of a plan.

Source: SGLang 0.5.23 srt/arg_groups/model_overrides/minimax_m3.py, srt/arg_groups/mega_moe_hook.py,
srt/arg_groups/kv_cache_hook.py.
"""

from collections.abc import Iterator, Mapping

from service.core.engines.base import short_of_pool, weight_notes
from service.core.engines.sglang.classes import NOT_REGISTERED
from service.core.engines.sglang.deployment import Deployment
from service.core.engines.sglang.dtypes import BLACKWELL, is_e4m3
from service.core.engines.sglang.flags import Flags
from service.core.scenario import Scenario
from service.core.sizing import Note
from service.core.units import ceil_div
from service.core.weights.table import WeightTable

_MEGA_MOE_TOKENS = 8192  # SGLANG_OPT_DEEPGEMM_MEGA_MOE_NUM_MAX_TOKENS_PER_RANK

_ENGINE: Mapping[str, object] = {"engine": "sglang"}


def refusals(scenario: Scenario, flags: Flags) -> tuple[Note, ...]:
    """Flags with which SGLang does not start."""
    return tuple(_refusals(scenario, flags))


def _refusals(scenario: Scenario, flags: Flags) -> Iterator[Note]:
    dtype = {**_ENGINE, "dtype": flags.kv_dtype}
    if flags.packed and not is_e4m3(flags.kv_dtype):
        yield Note("kv_type_not_for_architecture", dtype)
    elif flags.kv_dtype == "mxfp8" and flags.generation not in BLACKWELL:
        yield Note("kv_type_not_on_gpu", {**dtype, "gpu": scenario.gpu.name})
    if flags.packed and flags.chunk > _MEGA_MOE_TOKENS:
        tokens = {"tokens": flags.chunk, "limit": _MEGA_MOE_TOKENS}
        yield Note("chunk_exceeds_expert_budget", {**_ENGINE, **tokens})
    if flags.packed and flags.draft_tokens:
        yield Note("own_layers_cannot_draft", _ENGINE)


def warnings(scenario: Scenario, table: WeightTable, server: Deployment) -> tuple[Note, ...]:
    """Estimated weights, a class that the release lacks, a ratio that alone keeps the pools from fitting."""
    notes = weight_notes(table)
    if scenario.model.architecture.engine_class in NOT_REGISTERED:
        notes += (Note("engine_release_without_class", {**_ENGINE, "version": "0.5.23"}),)
    each = ceil_div(scenario.concurrent_sequences, server.flags.attention_data)
    context, budget, stage = scenario.context_tokens, server.budget or 0, server.stages[0]
    stranded, needed = server.stranded(stage, context, each), server.needed(stage, context, each)
    if stranded and needed - stranded <= budget < needed:
        notes += (Note("pool_split_strands", {**_ENGINE, "stranded_bytes": stranded}),)
    return notes


def shortages(scenario: Scenario, server: Deployment) -> tuple[Note, ...]:
    """What is missing beside a total above the usable memory."""
    return tuple(_shortages(scenario, server))


def _shortages(scenario: Scenario, server: Deployment) -> Iterator[Note]:
    context = scenario.context_tokens
    each = ceil_div(scenario.concurrent_sequences, server.flags.attention_data)
    held = server.capacity(context)
    if held is None:
        return
    fits = server.pools_suffice(context, each)
    missing = server.missing(context, each)
    if server.pinned is not None and (missing or not fits):
        yield short_of_pool(server.pinned, missing)
    elif fits and each > held.requests:
        limit = held.requests * server.flags.attention_data
        yield Note("sequences_exceed_running_requests", {**_ENGINE, "limit": limit})
    if not server.reserve_suffices(context, each):
        values = {"needed": server.outside(context, each), "reserve_bytes": server.reserve or 0}
        yield Note("reserve_too_small", {**_ENGINE, **values})
