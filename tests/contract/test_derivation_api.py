"""`explain=true` and the section `derivation`: the whole way to every number, in every language."""

import json
import re
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import pytest

from service.core.architecture.tensors import TensorClass
from service.core.derivation.steps import Topic, Unit
from service.core.engines import ENGINES
from service.i18n import LANGUAGES, voice
from service.i18n.messages import known_codes
from service.i18n.messages.rate_titles import RATE_TITLES
from service.i18n.messages.step_titles import STEP_TITLES, TENSOR_CLASSES, TOPICS
from service.i18n.messages.steps import step_text
from service.i18n.messages.terms import MEMORY_TERMS, UNITS
from tests.unit.test_derivation import evaluate

KIMI = {"model": "kimi-k3.1-pro", "gpu": "h20-141gb", "quantization": "q4_k_m", "context_tokens": 8192}
CHINESE = re.compile(r"[\u4e00-\u9fff]")
GIB = 2**30
# Printed beside the derived numbers, and no numbers of memory.
APART = {"fit.verdict", "fit.reasons"}


def explained(client, **parameters: Any) -> dict[str, Any]:
    answer = client.get("/v1/sizing", query_string={**KIMI, "explain": "true", **parameters})
    assert answer.status_code == 200
    return dict(answer.json)


def amounts(answer: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every number of memory, per_gpu, fit and limits with its path."""
    for part in ("memory", "per_gpu", "fit", "limits"):
        for name, value in answer[part].items():
            if f"{part}.{name}" not in APART and value is not None:
                yield f"{part}.{name}", value


@pytest.mark.parametrize("engine", ENGINES)
def test_every_number_of_the_answer_follows_from_the_trace(client, engine):
    """Bytes and GiB, ratios, tokens and counts; the formulas are evaluated again here."""
    question = {"model": "qwen3-32b", "engine": engine, "gpu": "h100-80gb-sxm", "concurrent_sequences": 2}
    if engine in ("mlx",):
        question["gpu"] = "macbook-pro-m4-max-128gb"
    answer = client.get("/v1/sizing", query_string={**question, "explain": "true"}).json
    printed = {path: step for step in answer["trace"] for path in step["prints"]}
    for path, value in amounts(answer):
        step = printed[path]
        if isinstance(value, dict):
            assert value == {"bytes": step["value"], "gib": step["gib"]}, path
            assert step["gib"] == round(step["value"] / GIB, 2)
        else:
            assert value == step["value"], path
    for step in answer["trace"]:
        if step["substituted"]:
            assert evaluate(step["substituted"]) == step["value"], step


def at(answer: Any, path: str) -> Any:
    """What stands at a path, numbers being places in lists."""
    for part in path.split("."):
        answer = answer[int(part)] if part.isdecimal() else answer[part]
    return answer


def figures(answer: Any, path: str) -> Iterator[str]:
    """Paths of every number below a path."""
    if isinstance(answer, dict):
        for name, value in answer.items():
            yield from figures(value, f"{path}.{name}")
    elif isinstance(answer, list):
        for place, value in enumerate(answer):
            yield from figures(value, f"{path}.{place}")
    elif isinstance(answer, int | float) and not isinstance(answer, bool):
        yield path


# Printed beside the derived amounts: what was asked, and facts of offers and classes.
NOT_DERIVED = re.compile(
    r"age_days|machines|hours_per_day|usd_per_kwh|basis|notes|gpu_count|utilization|memory|per_gpu"
)
SPEEDY = [
    {"model": "qwen3-32b", "gpu": "rtx-4090", "quantization": "q4_k_m", "context_tokens": "4096"},
    {"model": "llama-3.3-70b-instruct", "gpu": "h100-80gb-sxm", "gpu_count": "4", "engine": "vllm"},
    {
        "model": "kimi-k2-instruct",
        "gpu": "h20-141gb",
        "gpu_count": "16",
        "engine": "vllm",
        "hours_per_day": "9",
    },
    {"model": "qwen3-8b", "gpu": "l4-24gb", "engine": "vllm", "hardware_budget_usd": "2000.5"},
]


@pytest.mark.parametrize("question", SPEEDY)
@pytest.mark.parametrize(
    ("resource", "parts"), [("sizing", ("speed", "cost")), ("costs", ("items", "own_hardware"))]
)
def test_speed_and_cost_follow_from_the_trace(client, question, resource, parts):
    """Every rate and amount of the answer is a step of the same value, and formulas give theirs."""
    answer = client.get(f"/v1/{resource}", query_string={**question, "explain": "true"}).json
    printed = {path: step for step in answer["trace"] for path in step["prints"]}
    wanted = [
        path
        for part in parts
        for path in figures(answer[part], part)
        if not NOT_DERIVED.search(path.partition(".")[2])
    ]
    assert wanted
    for path in wanted:
        assert printed[path]["value"] == at(answer, path), path
    for path, step in printed.items():
        if path.split(".")[0] in parts:
            assert at(answer, path) == step["value"], path
            leaf = path.endswith((".pue", ".host_watts")) or step["title"]["code"].endswith("watts")
            assert step["formula"] or leaf, path
    for step in answer["trace"]:
        if step["substituted"]:
            assert evaluate(step["substituted"]) == step["value"], step


def test_what_does_not_run_has_no_steps_of_speed_or_cost(client):
    answer = client.get("/v1/sizing", query_string={**KIMI, "explain": "true"}).json
    assert answer["speed"] is None
    assert {step["topic"] for step in answer["trace"]} & {"speed", "cost"} == set()


def test_a_rate_and_a_price_are_derived_by_hand(client):
    """Llama 3.1 8B on an RTX 4090 (1,008 GB/s): 1 / step; a million tokens: rent / (rate * 3600) * 10**6."""
    question = {"model": "llama-3.1-8b-instruct", "gpu": "rtx-4090", "quantization": "q4_k_m"}
    answer = client.get("/v1/sizing", query_string={**question, "explain": "true"}).json
    steps = {step["symbol"]: step for step in answer["trace"]}
    assert steps["memory_bandwidth"]["value"] == 1008e9
    assert steps["decode_rate"]["formula"] == "1 / step_seconds"
    rate = answer["speed"]["per_sequence"]["estimate"]
    assert 1 / steps["step_seconds"]["value"] == pytest.approx(rate, rel=1e-3)
    hourly = answer["cost"]["usd_per_hour"]
    million = answer["cost"]["usd_per_million_output_tokens"]["estimate"]
    assert million == pytest.approx(hourly * 1e6 / 3600 / rate, rel=1e-3)
    assert steps["decode_rate"]["evidence"] == answer["speed"]["basis"]["decode"]["evidence"] == "calibrated"


def test_without_explain_there_is_no_trace(client):
    assert "trace" not in explained(client, explain="false")


def test_the_trace_is_cached_like_every_answer(client):
    """The same question has the same bytes and validator."""
    first, again = (client.get("/v1/sizing", query_string={**KIMI, "explain": "true"}) for _ in range(2))
    assert first.headers["ETag"] == again.headers["ETag"]
    assert first.data == again.data


def test_a_posted_config_is_derived_too(client, app):
    """Two layers of 2 KV heads of 64: 2 x 2 x (64 + 64) x 2 B a token."""
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": 512,
        "intermediate_size": 2048,
        "num_hidden_layers": 2,
        "num_attention_heads": 8,
        "num_key_value_heads": 2,
        "head_dim": 64,
        "vocab_size": 1024,
        "max_position_embeddings": 4096,
        "torch_dtype": "bfloat16",
    }
    body = {"model_config": config, "gpu": "rtx-4090", "explain": True}
    trace = client.post("/v1/sizing", json=body).json["trace"]
    steps = {step["symbol"]: step for step in trace}
    assert steps["kv_bytes_per_token"]["value"] == 2 * 2 * (64 + 64) * 2
    assert steps["kv_bytes_per_token"]["formula"] == "layers * kv_row"


@pytest.mark.parametrize("language", LANGUAGES)
def test_titles_are_in_the_language(client, language):
    trace = [
        *explained(client, lang=language)["trace"],
        *explained(client, lang=language, **SPEEDY[1], quantization="native")["trace"],
    ]
    titles = [step["title"]["message"] for step in trace]
    assert {str(topic) for topic in Topic} == {step["topic"] for step in trace}
    if language == "zh":
        assert {title for title in titles if not CHINESE.search(title)} <= {"CUDA Graph"}  # a name
    elif language == "de":
        assert "Bytes pro Token in einer Schicht" in " ".join(titles)


def test_every_step_of_every_engine_has_a_title(client):
    """Also units, topics and classes of tensors; and a title's code is no code of a reason or warning."""
    for engine in ENGINES:
        for model in ("gemma-3-27b-it", "deepseek-v3.2", "qwen3.5-9b"):
            question = {"model": model, "gpu": "h200-141gb", "engine": engine, "explain": "true"}
            for step in client.get("/v1/sizing", query_string=question).json["trace"]:
                assert step["title"]["code"] in {*STEP_TITLES, *RATE_TITLES}, step["symbol"]
    assert {*map(str, TensorClass)} == {*TENSOR_CLASSES}
    assert {*map(str, Topic)} <= {*TOPICS, *MEMORY_TERMS}
    assert {*map(str, Unit)} - {"count"} <= {*UNITS}
    assert not {*STEP_TITLES, *RATE_TITLES} & known_codes()
    assert not {*STEP_TITLES} & {*RATE_TITLES}


def test_details_stand_in_brackets():
    """What a number is of, in the brackets of the language."""
    facts = {"tensor_class": "routed_experts", "encoding": "q4_k"}
    assert step_text(voice("en"), "weights_of_class", facts) == "Weights (routed experts · q4_k)"
    assert step_text(voice("de"), "weights_of_class", facts) == "Gewichte (geroutete Experten · q4_k)"
    assert step_text(voice("zh"), "weights_of_class", facts) == "权重（路由专家 · q4_k）"


def test_formulas_are_the_same_in_every_language(client):
    """Symbols and formulas are not translated; only titles differ."""
    traces = [explained(client, lang=language)["trace"] for language in LANGUAGES]
    plain = [[{k: v for k, v in step.items() if k != "title"} for step in trace] for trace in traces]
    assert plain[0] == plain[1] == plain[2]


@pytest.mark.parametrize(("language", "value"), [("de", "33.792"), ("zh", "33,792"), ("en", "33,792")])
def test_the_section_writes_numbers_in_the_language(client, language, value):
    """Formula and numbers as code, the value as the language writes it, in HTML and in Markdown."""
    question = {**KIMI, "lang": language}
    html = client.get("/v1/fragments/derivation", query_string=question, headers={"Accept": "text/html"}).text
    root = ElementTree.fromstring(html)
    rows = {row[0][0].text: row for row in root.iter("tr") if len(row[0]) and row[0][0].tag == "code"}
    row = rows["kv_bytes_per_token"]
    assert row[2][0].text == "layers_2 * (kv_row + index_row)"
    assert row[3][0].text == "24 * (1152 + 256)"
    assert (row[4].text or "").startswith(value)
    accepted = {"Accept": "text/markdown"}
    markdown = client.get("/v1/fragments/derivation", query_string=question, headers=accepted).text
    assert "| `24 * (1152 + 256)` |" in markdown


def test_the_section_has_the_steps_of_the_answer(client):
    """JSON fragment and trace are the same steps."""
    fragment = json.loads(client.get("/v1/fragments/derivation", query_string=KIMI).data)
    steps = [step for topic in fragment["topics"] for step in topic["steps"]]
    assert steps == explained(client)["trace"]
