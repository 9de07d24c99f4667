"""Which real measurements come closest to a scenario, and how they differ from it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from heapq import nsmallest
from math import log2

from service.core.measurements import Measurement
from service.core.scenario import Scenario

MOST = 3
# llama.cpp names the same blocks after the experts that they are made for (ggml GGML_FTYPE_MOSTLY_MXFP4_MOE).
_SAME_FORMAT = {"mxfp4_moe": "mxfp4"}
# How much each difference moves the speed, in doublings; a judgement that only orders rows.
_FORMAT, _ENGINE, _SPECULATIVE, _NO_DECODE, _SET_ASIDE = 0.5, 2.0, 1.0, 1.0, 1.0
_GPU_COUNT, _CONCURRENCY, _CONTEXT = 2.0, 1.0, 0.25
_SMALL = 0.25  # backend, sister model, each missing field
_WIDTH = re.compile(r"\d+")
_SHORT = 1024  # contexts below it hardly differ in speed


@dataclass(frozen=True, slots=True)
class Difference:
    """A parameter of the scenario whose value the measurement does not share.

    parameter: name in the API, or `cached_tokens`, the mean fill of the cache while decoding.
    """

    parameter: str
    asked: object
    measured: object


def closest(rows: Iterable[Measurement], scenario: Scenario, limit: int = MOST) -> list[Measurement]:
    """At most `limit` records of the scenario's model on its GPU, closest first; ties by id."""
    here = (row for row in rows if row.model == scenario.model.id and row.gpu == scenario.gpu.id)
    return nsmallest(limit, here, key=lambda row: (distance(row, scenario), row.id))


def distance(row: Measurement, scenario: Scenario) -> float:
    """How far a record is from a scenario: 0 for the same conditions, about 1 for a factor of two."""
    differing = {difference.parameter for difference in differences(row, scenario)}
    steps = (
        (_FORMAT + _width_apart(row, scenario), "quantization"),
        (_ENGINE, "engine"),
        (_SPECULATIVE, "speculative_tokens"),
        (_SMALL, "backend"),
        (_SMALL, "model"),
    )
    return (
        sum(weight for weight, name in steps if name in differing)
        + _GPU_COUNT * _doublings(row.gpu_count, scenario.gpu_count)
        + _CONCURRENCY * _doublings(row.concurrency, scenario.concurrent_sequences)
        + _CONTEXT * _doublings(_past_short(row.context_tokens), cached_tokens(scenario) + _SHORT)
        + _SMALL * len(row.missing)
        + (_NO_DECODE if row.decode_tokens_per_second is None else 0.0)
        + (_SET_ASIDE if row.set_aside else 0.0)
    )


def differences(row: Measurement, scenario: Scenario) -> tuple[Difference, ...]:
    """Where a record states something else than the scenario; what it does not state is in `missing`."""
    pairs = [
        ("model", scenario.model.name, row.published_model if row.equivalent else scenario.model.name),
        ("engine", scenario.engine, row.engine or row.published_engine),
        ("backend", scenario.backend, row.backend),
        ("quantization", scenario.quantization, _format_for(row, scenario)),
        ("gpu_count", scenario.gpu_count, row.gpu_count),
        ("tensor_parallel", scenario.layout.tensor, row.tensor_parallel),
        ("expert_parallel", scenario.layout.expert, row.expert_parallel),
        ("concurrent_sequences", scenario.concurrent_sequences, row.concurrency),
        ("kv_cache_dtype", scenario.kv_cache_dtype, row.kv_cache_dtype),
    ]
    if row.decode_tokens_per_second is None:
        pairs.append(("prompt_tokens", scenario.prompt_tokens, row.prompt_tokens))
    else:
        pairs.append(("cached_tokens", cached_tokens(scenario), row.context_tokens))
    found = [Difference(*pair) for pair in pairs if pair[2] is not None and pair[1] != pair[2]]
    drafting = scenario.speculative_tokens > 0
    if row.speculative is not None and row.speculative != drafting:
        found.append(Difference("speculative_tokens", drafting, row.speculative))
    if row.offload is not None:
        found.append(Difference("cpu_offload_percent", scenario.cpu_offload_percent, row.offload))
    return tuple(found)


def cached_tokens(scenario: Scenario) -> int:
    """Mean fill of a sequence's cache while the scenario's output is decoded."""
    return scenario.prompt_tokens + scenario.output_tokens // 2


def native_format(scenario: Scenario) -> str:
    """The id of the scenario's format, `native` replaced by what the checkpoint is published in."""
    native = scenario.model.architecture.native.name
    return native if scenario.quantization == "native" else scenario.quantization


def _format_for(row: Measurement, scenario: Scenario) -> str | None:
    """The record's format, under the scenario's name where both are the same."""
    stated = row.quantization or row.published_quantization
    if stated is None:
        return None
    return scenario.quantization if same_format(stated, native_format(scenario)) else stated


def same_format(one: str, other: str) -> bool:
    """Whether two ids name the same blocks."""
    return _SAME_FORMAT.get(one, one) == _SAME_FORMAT.get(other, other)


def _width_apart(row: Measurement, scenario: Scenario) -> float:
    """Doublings between the bits that the names of two formats state; 1 where a name states none."""
    widths = [_WIDTH.search(name or "") for name in (row.quantization, native_format(scenario))]
    bits = [int(width[0]) for width in widths if width is not None]
    return _doublings(*bits) if len(bits) == 2 else 1.0


def _doublings(measured: int | None, asked: int) -> float:
    return 0.0 if measured is None else abs(log2(max(1, measured) / max(1, asked)))


def _past_short(tokens: int | None) -> int | None:
    return None if tokens is None else tokens + _SHORT
