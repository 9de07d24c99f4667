"""The API's vLLM answers against what vLLM 0.33.0's own planner plans for the same question."""

import json
from collections import Counter
from functools import cache
from typing import Any

import pytest
from flask.testing import FlaskClient

from tests.published import ROOT

GPUS = {"sm80": "a100-80gb-sxm", "sm90": "h200-141gb-sxm", "sm100": "b200-180gb", "sm120": "rtx-5090"}
STRIDE = 5  # every fifth configuration of each model; all of them were compared when this was written


def askable(row: dict[str, Any]) -> bool:
    """Left out: a state type that only a flag sets, and drafting layers that the config does not name."""
    return "state_dtype" not in row and row.get("method") is None


@cache
def rows() -> tuple[dict[str, Any], ...]:
    lines = (ROOT / "tests" / "data" / "vllm_plans.jsonl").read_text().splitlines()
    every = [row for row in map(json.loads, lines) if askable(row)]
    seen: Counter[str] = Counter()
    sample = []
    for row in every:
        if seen[row["model"]] % STRIDE == 0 or row.get("dcp"):
            sample.append(row)
        seen[row["model"]] += 1
    return tuple(sample)


def question(row: dict[str, Any]) -> dict[str, Any]:
    """Async scheduling keeps two batches in flight on one pipeline stage."""
    return {
        "model": row["model"],
        "engine": "vllm",
        "gpu": GPUS[row["gpu"]],
        "gpu_count": row["tp"],
        "tensor_parallel": row["tp"],
        "context_tokens": row["context"],
        "kv_cache_dtype": row["kv"],
        "prefix_caching": str(row["prefix"]).lower(),
        "max_batched_tokens": row["in_flight"] // 2,
        "decode_context_parallel": row.get("dcp", 1),
        "kv_cache_memory_bytes": row["pool"],
    }


def test_the_sample_covers_every_model_and_generation():
    assert len(rows()) >= 240
    assert len({row["model"] for row in rows()}) == 48
    assert {row["gpu"] for row in rows()} == set(GPUS)


@pytest.mark.parametrize("model", sorted({row["model"] for row in rows()}))
def test_the_pool_and_the_request_are_those_of_the_planner(client: FlaskClient, model: str):
    """kv_cache of one sequence is the request's whole reserve, and the capacity is the printed number."""
    for row in (row for row in rows() if row["model"] == model):
        response = client.get("/v1/sizing", query_string=question(row))
        assert response.status_code == 200, (row, response.get_json())
        answer = response.get_json()
        reserve = row["request"] * row["block_bytes"]
        assert answer["per_gpu"]["kv_cache"]["bytes"] == reserve, row
        assert answer["memory"]["kv_cache"]["bytes"] == reserve * row["tp"], row
        assert answer["memory"]["recurrent_state"]["bytes"] == 0, row
        if row["printed"] is not None:
            assert answer["limits"]["kv_cache_capacity_tokens"] == row["printed"], row
