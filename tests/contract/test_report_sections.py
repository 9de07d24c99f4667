"""Commands, diagnosis, questions, comparisons: each figure is what the service answers to that question."""

import json
from typing import Any

import pytest

from service.catalog import Catalog
from service.core.request import Request
from service.core.resolve import resolve
from service.core.size import size
from service.core.sizing import Sizing
from service.core.weights.formats import FORMATS
from service.i18n import LANGUAGES
from service.render.fragments import render
from tests.contract.fragment_cases import sized

RUNS = ("fits", "tight")
# Too long a cache for the card, by far too large a model, and one with room.
SHORT = {"model": "qwen3-8b", "gpu": "rtx-4090", "context_tokens": 40_000, "concurrent_sequences": 4}
LARGE = {"model": "gpt-oss-120b", "gpu": "rtx-4090"}
ROOM = {"model": "llama-3.1-8b-instruct", "gpu": "h100-80gb-sxm", "engine": "vllm", "quantization": "bf16"}


def ask(catalog: Catalog, question: dict[str, Any], **changes: Any) -> Sizing:
    parameters = {**question, **changes}
    model, gpu = catalog.models[parameters.pop("model")], catalog.gpus[parameters.pop("gpu")]
    return size(resolve(Request(model=model, gpu=gpu, **parameters)))


def answer(catalog: Catalog, sizing: Sizing, section: str) -> dict[str, Any]:
    return dict(json.loads(render(section, sizing, catalog, "en", "application/json")))


def test_what_does_not_fit_has_reasons_in_place_of_commands(catalog: Catalog):
    """Kimi K3.1 Pro on one H20: no engine has a command, SGLang because it does not support the model."""
    found = answer(catalog, sized("kimi"), "commands")
    assert found["with_command"] == 0
    assert [row["serve"] for row in found["rows"]] == [None] * len(found["rows"])
    reasons = {row["engine"]: [note["code"] for note in row["reasons"]] for row in found["rows"]}
    assert reasons["llama.cpp"] == ["weights_exceed_memory"]
    assert reasons["sglang"] == ["engine_does_not_support"]
    written = render("commands", sized("kimi"), catalog, "en", "text/html").decode()
    assert "llama-server" not in written
    assert "vllm serve" not in written


def test_the_scenarios_engine_comes_first_and_unconfirmed_support_has_no_command(catalog: Catalog):
    rows = answer(catalog, sized("llama"), "commands")["rows"]
    assert [row["selected"] for row in rows] == [True] + [False] * (len(rows) - 1)
    assert rows[0]["engine"] == "vllm"
    text = rows[0]["serve"][0]["text"]
    assert text.startswith("vllm serve meta-llama/Llama-3.1-8B-Instruct \\\n  ")
    assert "--max-model-len 8192" in text
    trt = next(row for row in rows if row["engine"] == "tensorrt-llm")
    assert trt["serve"] is None
    assert [note["code"] for note in trt["reasons"]] == ["engine_support_unknown"]


@pytest.mark.parametrize("question", [SHORT, LARGE, ROOM], ids=lambda q: q["model"])
def test_each_change_of_a_diagnosis_is_the_services_own_answer(catalog: Catalog, question: dict[str, Any]):
    """Asked with that one value, the service says that it fits, with the same figures."""
    changes = answer(catalog, ask(catalog, question), "diagnosis")["changes"]
    assert changes
    names = {gpu.name: gpu.id for gpu in catalog.gpus.values()}
    for change in changes:
        to = names[change["to"]] if change["parameter"] == "gpu" else change["to"]
        asked = ask(catalog, question, **{change["parameter"]: to})
        assert asked.verdict == change["verdict"]
        assert asked.verdict in RUNS
        assert asked.plan.fullest.total == change["per_gpu_total"]["bytes"]


@pytest.mark.parametrize("question", [SHORT, LARGE], ids=lambda q: q["model"])
def test_a_smaller_change_would_not_do(catalog: Catalog, question: dict[str, Any]):
    """One sequence more, one GPU fewer, 256 tokens more: it no longer fits."""
    changes = answer(catalog, ask(catalog, question), "diagnosis")["changes"]
    found = {change["parameter"]: change["to"] for change in changes}
    assert "gpu_count" in found
    assert ask(catalog, question, gpu_count=found["gpu_count"] - 1).verdict not in RUNS
    for parameter, step in (("concurrent_sequences", 1), ("context_tokens", 256)):
        if parameter in found:
            assert ask(catalog, question, **{parameter: found[parameter] + step}).verdict not in RUNS


def test_the_diagnosis_names_what_decides(catalog: Catalog):
    """Four caches of 40,000 x 147,456 B beside 4.7 GiB of weights; 81 GiB of weights on a card of 24."""

    def first(question: dict[str, Any]) -> str:
        return str(answer(catalog, ask(catalog, question), "diagnosis")["findings"][0]["code"])

    assert 4 * 40_000 * 36 * 8 * 128 * 2 * 2 > 20e9
    assert first(SHORT) == "kv_cache_decides"
    assert first(LARGE) == "weights_decide"
    assert first(ROOM) == "room_left"


def test_the_recurrent_state_is_said_to_stay(catalog: Catalog):
    """69 layers x (110,592 + 1,572,864) x 4 B a sequence, whatever the context and the KV type."""
    findings = {note["code"]: note for note in answer(catalog, sized("kimi"), "diagnosis")["findings"]}
    assert findings["state_is_constant"]["parameters"]["state_bytes"] == 464_633_856
    items = {item["question"]["code"]: item for item in answer(catalog, sized("kimi"), "faq")["items"]}
    kept = items["ask_kv_type"]["answer"][1]
    assert (kept["code"], kept["parameters"]["state_bytes"]) == ("tell_state_stays", 464_633_856)


def test_the_kv_cache_shrinks_by_the_blocks_of_its_type(catalog: Catalog):
    """q8_0 stores 32 values in 34 bytes, 17/32 of f16; the state does not shrink with it."""
    items = {item["question"]["code"]: item for item in answer(catalog, sized("kimi"), "faq")["items"]}
    values = items["ask_kv_type"]["answer"][0]["parameters"]
    assert values["dtype"] == "q8_0"
    assert values["before_bytes"] == 33_792 * 8192
    assert values["after_bytes"] == 33_792 * 8192 * 17 // 32


def test_questions_follow_the_model(catalog: Catalog):
    """Experts are asked about where there are some, speed where it runs; five to eight questions."""
    kimi = [item["question"]["code"] for item in answer(catalog, sized("kimi"), "faq")["items"]]
    llama = [item["question"]["code"] for item in answer(catalog, sized("llama"), "faq")["items"]]
    assert ("ask_experts" in kimi, "ask_experts" in llama) == (True, False)
    assert ("ask_speed" in kimi, "ask_speed" in llama) == (False, True)
    assert all(5 <= len(asked) <= 8 for asked in (kimi, llama))


@pytest.mark.parametrize("question", [SHORT, ROOM], ids=lambda q: q["model"])
def test_a_gpu_row_is_the_answer_on_that_gpu(catalog: Catalog, question: dict[str, Any]):
    sizing = ask(catalog, question)
    found = answer(catalog, sizing, "gpus")
    assert found["shown"] == len(found["rows"]) <= 40
    assert question["gpu"] not in {row["gpu"] for row in found["rows"]}
    for row in found["rows"][::7]:
        asked = ask(catalog, {**question, "engine": sizing.scenario.engine}, gpu=row["gpu"])
        assert (asked.verdict, asked.plan.fullest.total) == (row["verdict"], row["per_gpu_total"]["bytes"])
        if asked.limits.min_gpu_count and asked.limits.min_gpu_count <= row["max_per_machine"]:
            assert row["min_gpu_count"] == asked.limits.min_gpu_count
        else:
            assert row["min_gpu_count"] is None
    fitting = [row["memory"]["bytes"] for row in found["rows"] if row["verdict"] in RUNS]
    assert fitting == sorted(fitting)


@pytest.mark.parametrize("question", [LARGE, ROOM], ids=lambda q: q["model"])
def test_a_model_row_is_the_best_format_that_fits(catalog: Catalog, question: dict[str, Any]):
    """The service gives the same answer for that model and format, and the next better one does not fit."""
    sizing = ask(catalog, question)
    found = answer(catalog, sizing, "models")
    formats, rows = found["formats"], found["rows"]
    assert {*formats} <= {*FORMATS}
    assert found["total"] > 40 == len(rows)
    assert question["model"] not in {row["model"] for row in rows}
    for row in rows[::6]:
        hardware = {"gpu": question["gpu"], "engine": sizing.scenario.engine, "model": row["model"]}
        asked = ask(catalog, hardware, quantization=row["quantization"])
        assert (asked.verdict, asked.plan.fullest.total) == (row["verdict"], row["per_gpu_total"]["bytes"])
        better = formats[: formats.index(row["quantization"])][-1:]
        assert all(ask(catalog, hardware, quantization=name).verdict not in RUNS for name in better)


def test_measured_points_are_records_that_can_be_compared(catalog: Catalog):
    """gpt-oss-120b on DGX Spark was measured with llama.cpp; the chart has a point for each rate."""
    sizing = ask(
        catalog, {"model": "gpt-oss-120b", "gpu": "dgx-spark-gb10-128gb", "quantization": "mxfp4_moe"}
    )
    points = answer(catalog, sizing, "speed")["measured"]
    records = {row.id: row for row in catalog.measurements["gpt-oss-120b"]}
    assert points
    for point in points:
        record = records[point["id"]]
        assert record.comparable
        assert point["decode_tokens_per_second"] == record.decode_tokens_per_second
    drawn = render("speed", sizing, catalog, "en", "text/html").decode()
    rates = [point[name] for point in points for name in point if name.endswith("_per_second")]
    assert drawn.count("sizing-chart-measured") == sum(rate is not None for rate in rates)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("gpu", ["rtx-5090", "mac-studio-m3-ultra-512gb", "mlu590-80gb"])
def test_the_sections_answer_on_unusual_hardware(catalog: Catalog, gpu: str, language: str):
    """Unified memory, and an accelerator of which facts are missing."""
    sizing = ask(catalog, {"model": "qwen3-30b-a3b-instruct-2507", "gpu": gpu})
    for section in ("commands", "diagnosis", "faq", "gpus", "models", "memory", "context", "quantizations"):
        for media_type in ("application/json", "text/html", "text/markdown"):
            assert render(section, sizing, catalog, language, media_type)
