"""Pools, states and requests against what SGLang 0.5.23's own sizing code answers for the same models."""

import json
from collections import defaultdict
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from service.core.architecture.model import Architecture
from service.core.architecture.parse import parse
from service.core.engines.sglang.classes import TEXT_BY_DEFAULT
from service.core.engines.sglang.dtypes import auto_dtype, packs_four_bits
from service.core.engines.sglang.flags import Flags, default_requests, page_tokens
from service.core.engines.sglang.fraction import default_chunk, mem_fraction_static
from service.core.engines.sglang.requests import request_table_bytes, running_requests
from service.core.engines.sglang.sizer import Sizer
from service.core.engines.sglang.stages import sizer_of, stages_of
from service.core.engines.sglang.states import StatePool, slot_bytes, slots_per_request
from service.core.engines.vllm.generation import generation
from service.core.hardware import Gpu
from service.core.scenario import Layout
from tests.published import ROOT, models
from tests.unit.factories import make_gpu

STORED = {"auto": None, "bfloat16": "bf16", "fp8_e4m3": "fp8"}


@cache
def rows() -> dict[str, list[dict[str, Any]]]:
    by_model: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in (ROOT / "tests" / "data" / "sglang_plans.jsonl").read_text().splitlines():
        row = json.loads(line)
        by_model[row["model"]].append(row)
    return by_model


MODELS = sorted(rows())


@cache
def architecture(model: str) -> Architecture:
    return parse(models()[model]["config"])


def gpu(row: dict[str, Any]) -> Gpu:
    return make_gpu(compute_capability=row["sm"], memory_bytes=row["mib"] * 2**20)


def layout(row: dict[str, Any]) -> Layout:
    data = row.get("dp", 1)
    return Layout(row["tp"] // data, row.get("pp", 1), 1, data, row.get("dcp", 1))


def page(row: dict[str, Any]) -> int:
    return page_tokens(
        architecture(row["model"]),
        generation(gpu(row)),
        prefix_caching=row.get("radix", True),
        drafting="draft" in row,
    )


def flags(row: dict[str, Any]) -> Flags:
    """The row's server; pages as SGLang had them, for a page that follows from the flags has its own test."""
    model, where, split = architecture(row["model"]), generation(gpu(row)), layout(row)
    asked = row.get("kv", "auto")
    return Flags(
        generation=where,
        kv_dtype=STORED.get(asked, asked) or auto_dtype(model, where),
        page=row["page"],
        chunk=row.get("chunk", default_chunk(gpu(row))) // split.data,
        context_tokens=row["context"],
        attention_parallel=split.tensor,
        attention_data=split.data,
        decode_context=split.decode_context,
        pipeline=split.pipeline,
        prefix_caching=row.get("radix", True),
        draft_tokens=row.get("draft", 0),
        requests=default_requests(model, drafting="draft" in row),
        packed=packs_four_bits(model, where, "native"),
    )


def sizer(row: dict[str, Any]) -> Sizer:
    """The first pipeline stage's, which is the one that was run."""
    model = architecture(row["model"])
    return sizer_of(model, stages_of(model, row.get("pp", 1))[0], flags(row))


def state_pool(row: dict[str, Any]) -> StatePool:
    model, server = architecture(row["model"]), flags(row)
    slot = slot_bytes(model, server.attention_parallel, stages_of(model, server.pipeline))
    return StatePool(slot, slots_per_request(server), server.draft_tokens, server.worker_requests)


def differing(model: str, name: str, ours: Any) -> list[Any]:
    """Rows that state `name`, and where our value is another."""
    stated = [row for row in rows()[model] if name in row]
    return [(row, value) for row in stated if (value := ours(row)) != row[name]]


@pytest.mark.parametrize("model", MODELS)
def test_the_fraction_is_what_sglang_computes(model: str):
    """mem_fraction_static by memory, chunk, ranks, graphs, attention data parallelism and vision tower."""
    entry = architecture(model)
    for row in rows()[model]:
        if "given" in row:
            continue
        multimodal = bool(entry.vision) and row.get("multimodal", entry.engine_class not in TEXT_BY_DEFAULT)
        chunk = row.get("chunk", default_chunk(gpu(row)))
        ours = mem_fraction_static(entry, gpu(row), layout(row), chunk, multimodal=multimodal)
        assert ours == pytest.approx(row["fraction"], abs=1e-9), row


@pytest.mark.parametrize("model", MODELS)
def test_tokens_of_a_budget_are_those_of_sglang(model: str):
    """The cell, the tokens of the whole-context pool and those of the windows' pool."""
    assert differing(model, "cell", lambda row: pytest.approx(sizer(row).token_bytes, rel=1e-12)) == []
    assert differing(model, "tokens", lambda row: sizer(row).pool(row["budget"]).tokens) == []
    assert differing(model, "window", lambda row: sizer(row).pool(row["budget"]).window_tokens) == []


@pytest.mark.parametrize("model", MODELS)
def test_pages_follow_from_model_gpu_and_flags(model: str):
    """Drafting without a given top-k is left out: SGLang then picks another backend."""
    decided = [row for row in rows()[model] if row.get("topk", 1) == 1]
    assert [(row, page(row)) for row in decided if page(row) != row["page"]] == []


@pytest.mark.parametrize("model", sorted(m for m in MODELS if any("slots" in row for row in rows()[m])))
def test_state_slots_are_those_of_sglang(model: str):
    """Bytes of a slot, slots of a request, and the slots of the budget that tokens and states share."""
    assert differing(model, "slot", lambda row: state_pool(row).slot) == []
    assert differing(model, "per_request", lambda row: state_pool(row).per_request) == []

    def slots(row: dict[str, Any]) -> int:
        pool = state_pool(row)
        return pool.slots(row["budget"] + pool.bytes(row["slots"]))

    assert differing(model, "slots", slots) == []


@pytest.mark.parametrize("model", sorted(m for m in MODELS if any("slots" in row for row in rows()[m])))
def test_slots_beside_a_fixed_pool_are_within_one(model: str):
    """The tokens' bytes alone leave two numbers of slots possible, of which the smaller is taken."""
    for row in rows()[model]:
        if "slots" in row:
            ours = state_pool(row).slots_beside(row["budget"])
            assert row["slots"] - 1 <= ours <= row["slots"], row


@pytest.mark.parametrize("model", MODELS)
def test_running_requests_and_their_table_are_those_of_sglang(model: str):
    def requests(row: dict[str, Any]) -> int:
        admitted = row["slots"] // row["per_request"] if "slots" in row else None
        return running_requests(row["tokens"], flags(row), admitted)

    assert differing(model, "requests", requests) == []
    assert differing(model, "table", lambda row: request_table_bytes(row["requests"], flags(row))) == []


def test_the_rows_cover_what_the_parameters_of_the_service_can_ask():
    """Every layout, cache type and switch occurs, and no row was dropped on the way."""
    every = [row for group in rows().values() for row in group]
    assert len(every) == 1819
    for name in ("dp", "dcp", "pp", "kv", "chunk", "given", "multimodal", "radix", "draft"):
        assert any(name in row for row in every), name


def test_a_sizer_never_spends_more_than_its_budget():
    """Bytes of the tokens that a budget holds are at most the budget; a page more is not."""
    for group in rows().values():
        for row in group[:4]:
            ours = replace(sizer(row), state_bytes=0)
            tokens = ours.pool(row["budget"]).tokens
            assert ours.cache_bytes(tokens) <= row["budget"] + 1
            assert ours.cache_bytes(tokens + ours.page) > row["budget"]
