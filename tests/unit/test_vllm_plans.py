"""The block pool against what vLLM 0.33.0's own planner answers for the same models."""

import json
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

from service.core.architecture.model import Architecture
from service.core.architecture.parse import parse
from service.core.engines.vllm.blocks import block_size
from service.core.engines.vllm.dtypes import auto_dtype, sixteen_bit
from service.core.engines.vllm.generation import Generation, generation
from service.core.engines.vllm.layers import holdings
from service.core.engines.vllm.pool import plan_pool
from service.core.engines.vllm.specs import CacheConfig
from service.core.engines.vllm.stages import draft_modules
from tests.published import ROOT, models
from tests.unit.factories import make_gpu

OWN_LAYERS = frozenset({"mtp", "dspark"})  # drafting methods that load layers of the checkpoint
# What the planner calls `auto` and the bare flag, by the name of the stored type.
STORED = {"auto": "bf16", "bfloat16": "bf16", "fp8_e4m3": "fp8"}


@cache
def rows() -> dict[str, list[dict[str, Any]]]:
    by_model: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in (ROOT / "tests" / "data" / "vllm_plans.jsonl").read_text().splitlines():
        row = json.loads(line)
        by_model[row["model"]].append(row)
    return by_model


@cache
def architecture(model: str) -> Architecture:
    return parse(models()[model]["config"])


def gpu_generation(row: dict[str, Any]) -> Generation:
    return generation(make_gpu(compute_capability=int(row["gpu"].removeprefix("sm"))))


def drafts_unknown_layers(row: dict[str, Any]) -> bool:
    """The planner drafts with layers that the published config.json does not mention."""
    return row.get("method") in OWN_LAYERS and not architecture(row["model"]).mtp


@dataclass(frozen=True)
class Answer:
    block: int
    groups: int
    block_bytes: int
    blocks: int
    request: int
    printed: int | None


def ours(row: dict[str, Any]) -> Answer:
    model, where = architecture(row["model"]), gpu_generation(row)
    drafting = model.mtp if row.get("method") in OWN_LAYERS else ()
    dtype = auto_dtype(model, where) if row["kv"] == "auto" else STORED.get(row["kv"], row["kv"])
    config = CacheConfig(
        generation=where,
        kv_dtype=dtype,
        tensor_parallel=row["tp"],
        in_flight_tokens=row["in_flight"],
        decode_context=row.get("dcp", 1),
        prefix_caching=row["prefix"],
        draft_tokens=row.get("draft", 0),
        draft_modules=draft_modules(drafting),
        state_dtype=row.get("state_dtype", model.state_dtype),
    )
    held = holdings((*model.layers, *drafting))
    grouping, demand = plan_pool(held, held, config)
    return Answer(
        block=block_size(held, config).tokens,
        groups=len(grouping.groups),
        block_bytes=grouping.bytes_per_block,
        blocks=row["pool"] // grouping.bytes_per_block,
        request=demand.admission(row["context"]),
        printed=demand.printed_tokens(row["pool"], row["context"]) if row["printed"] is not None else None,
    )


@pytest.mark.parametrize("model", sorted(rows()))
def test_pool_is_planned_as_vllm_plans_it(model: str):
    """Block size, groups, bytes of a block, blocks of pool and request, and the printed tokens agree."""
    tried = [row for row in rows()[model] if not drafts_unknown_layers(row)]
    fields = Answer.__dataclass_fields__
    wrong = [(row, ours(row)) for row in tried if ours(row) != Answer(*(row[name] for name in fields))]
    assert tried
    assert wrong == []


def test_nearly_every_planned_configuration_is_compared():
    """Only configurations that draft with layers no config.json mentions are left out."""
    left_out = [row for group in rows().values() for row in group if drafts_unknown_layers(row)]
    assert len(left_out) <= 2


@pytest.mark.parametrize("model", sorted(rows()))
def test_auto_resolves_as_in_vllm(model: str):
    """`--kv-cache-dtype auto` becomes the type that the planner reports for the GPU."""
    for row in rows()[model]:
        if row["kv"] == "auto":
            stored = auto_dtype(architecture(model), gpu_generation(row))
            assert stored == STORED.get(row["resolved"], row["resolved"]), row
            assert sixteen_bit(stored) == (row["resolved"] == "auto")
