"""`/v1/plan`, and the sections `recommendations` and `estimates`."""

import pytest

LLAMA = "/v1/plan?model=llama-3.3-70b-instruct&context_tokens=32768"


def answered(client, address):
    answer = client.get(address)
    assert answer.status_code == 200, answer.get_data(as_text=True)
    return answer.json


@pytest.fixture(scope="module")
def llama(app):
    return answered(app.test_client(), f"{LLAMA}&limit=500")


@pytest.fixture(scope="module")
def on_4090(app):
    return answered(app.test_client(), "/v1/plan?gpu=rtx-4090")


def test_answer_has_its_parts(llama):
    assert list(llama) == ["scenario", "items", "total", "highlights", "excluded", "as_of", "versions"]
    assert llama["total"] == len(llama["items"]) > 20
    assert [item["place"] for item in llama["items"]] == list(range(1, llama["total"] + 1))


@pytest.mark.parametrize("address", [LLAMA, "/v1/plan?gpu=rtx-4090&limit=25"])
def test_each_option_sized_by_its_own_address_fits(client, address):
    """The verdict, the memory and the speed of a place are those of `/v1/sizing`."""
    for item in answered(client, address)["items"]:
        sizing = answered(client, item["sizing"])
        assert sizing["fit"]["verdict"] == item["verdict"] in ("fits", "tight")
        assert sizing["per_gpu"]["total"] == item["needed_per_gpu"]
        rate = None if sizing["speed"] is None else sizing["speed"]["per_sequence"]
        assert rate == (None if item["speed"] is None else item["speed"]["per_sequence"])


def test_highlights_of_a_70b_model(llama):
    """140 GB at 16 bit: no 80 GB card alone, 2 of 80 GB or one of 180 GB."""
    found = llama["highlights"]
    single = found["best_single_gpu"]
    assert (single["gpu_count"], single["nominal_bits"]) == (1, 16)
    assert single["usable_per_gpu"]["bytes"] > 2 * 70_553_706_496
    assert found["unified_memory"]["gpu_count"] == 1
    assert found["best_value_used"]["purchase"]["used"]
    assert not found["best_value"]["purchase"]["used"]
    assert found["cloud"]["rent"]["current"]
    # 8 x 24 GB hold 4 bits of 70.6 billion weights twice over; one card of 24 GB never does.
    assert found["smallest_consumer"]["gpu_count"] == 2


def test_places_are_explained_and_prices_dated(llama):
    for item in llama["items"][:-1]:
        assert any(reason["code"].startswith("plan_ahead_") for reason in item["reasons"])
    for item in llama["items"]:
        notes = {note["code"] for note in item["notes"]}
        if item["rent"] and (item["rent"]["age_days"] or 0) > 180:
            assert "price_stale" in notes
        if item["purchase"] and item["purchase"]["used"]:
            assert "street_price_used" in notes
        for note in (*item["reasons"], *item["notes"]):
            assert note["message"] not in ("", note["code"])


def test_models_of_a_gpu_by_size(on_4090):
    """Formats of four bits and more, the largest model first; each model once."""
    assert on_4090["highlights"] is None
    models = [item["model"] for item in on_4090["items"]]
    assert len(models) == len(set(models)) == on_4090["total"]
    assert {item["gpu_count"] for item in on_4090["items"]} == {1}
    assert all(entry["reason"]["message"] for entry in on_4090["excluded"])


def test_limits_are_demands(client):
    plan = answered(
        client, "/v1/plan?model=qwen3-8b&gpus=rtx-4090,l4-24gb&max_usd_per_hour=0.5&engine=llama.cpp"
    )
    assert plan["items"]
    assert {item["gpu"] for item in plan["items"]} == {"rtx-4090"}
    (left,) = plan["excluded"]
    assert (left["gpu"], left["reason"]["code"]) == ("l4-24gb", "plan_too_dear")


@pytest.mark.parametrize(
    ("query", "parameter", "code"),
    [
        ("", "model", "missing"),
        ("?model=qwen3-8b&max_price=1", "max_price", "unknown_parameter"),
        ("?model=qwen3-8b&gpu=rtx-4090&gpus=l4-24gb", "gpus", "conflict"),
        ("?model=qwen3-8b&engine=none", "engine", "not_allowed"),
        ("?model=qwen3-8b&kv_cache_dtype=none", "kv_cache_dtype", "kv_dtype_not_supported"),
        ("?model=qwen3-8b&max_usd_per_hour=-1", "max_usd_per_hour", "out_of_range"),
    ],
)
def test_wrong_parameters_are_told(client, query, parameter, code):
    answer = client.get(f"/v1/plan{query}")
    assert answer.status_code == 422
    assert [(error["parameter"], error["code"]) for error in answer.json["errors"]] == [(parameter, code)]


def test_unknown_gpus_are_404(client):
    assert client.get("/v1/plan?model=qwen3-8b&gpus=rtx-4091").status_code == 404


def test_post_describes_model_and_card(client):
    """A card of the caller's own has its own rent; no address can size it."""
    spec = {"name": "Own", "memory_gib": 48, "memory_bandwidth_gbs": 900, "fp16_tflops": 150}
    body = {"model": "qwen3-8b", "gpu_spec": {**spec, "usd_per_hour": 0.7}, "max_usd_per_hour": 1}
    plan = client.post("/v1/plan", json=body).json
    assert plan["items"][0]["rent"]["usd_per_hour"] == 0.7
    assert plan["items"][0]["sizing"] is None
    assert client.post("/v1/plan", json={"gpus": ["l4-24gb"], "model": "qwen3-8b"}).status_code == 200


def test_a_gpu_that_does_not_exist_runs_nothing(client):
    plan = answered(client, "/v1/plan?gpu=mac-studio-m4-ultra-256gb")
    assert plan["items"] == []
    assert {entry["reason"]["code"] for entry in plan["excluded"]} == {"gpu_does_not_exist"}


def test_answers_may_be_cached(client):
    first = client.get(f"{LLAMA}&gpu=b200-180gb")
    again = client.get(f"{LLAMA}&gpu=b200-180gb", headers={"If-None-Match": first.headers["ETag"]})
    assert again.status_code == 304


def test_recommendations_keep_the_configuration(client):
    """Every pick holds the scenario's own format, engine and context, and runs."""
    section = answered(
        client, "/v1/fragments/recommendations?model=llama-3.3-70b-instruct&gpu=rtx-4090&quantization=q4_k_m"
    )
    assert {row["pick"] for row in section["rows"]} >= {"best_single_gpu", "unified_memory", "cloud"}
    assert {(row["engine"], row["quantization"]) for row in section["rows"]} == {("llama.cpp", "q4_k_m")}
    assert {row["verdict"] for row in section["rows"]} <= {"fits", "tight"}
    # 80 layers x 8 heads x 128 x 2 x 8192 tokens: 2 bytes a value at 16 bit, 34/32 at q8_0.
    saved = {row["name"]: row["saved"]["bytes"] for row in section["kv_cache_types"]}
    assert saved["q8_0"] == pytest.approx(80 * 8 * 128 * 2 * 8192 * (2 - 34 / 32), rel=0.02)
    assert {change["parameter"] for change in section["upgrades"]} <= {"gpu_count", "gpu"}
    assert section["upgrades"]


def test_what_runs_needs_no_upgrade(client):
    section = answered(client, "/v1/fragments/recommendations?model=qwen3-8b&gpu=rtx-4090")
    assert section["verdict"] == "fits"
    assert section["upgrades"] == []


def test_a_tight_fit_is_upgraded_to_headroom(client):
    """Qwen3-32B at 4 bit: the context is chosen so that 24 GB are just enough; the upgrades fit with room."""
    question = "model=qwen3-32b&gpu=rtx-4090&quantization=q4_k_m"
    limit = answered(client, f"/v1/sizing?{question}")["limits"]["max_context_tokens"]
    question += f"&context_tokens={limit}"
    section = answered(client, f"/v1/fragments/recommendations?{question}")
    assert section["verdict"] == "tight"
    upgrades = {change["parameter"]: change for change in section["upgrades"]}
    assert upgrades["gpu_count"]["to"] == 2
    assert answered(client, f"/v1/sizing?{question}&gpu_count=2")["fit"]["verdict"] == "fits"
    gpus = answered(client, "/v1/gpus?limit=500")["items"]
    (bigger,) = [gpu for gpu in gpus if gpu["name"] == upgrades["gpu"]["to"]]
    larger = question.replace("rtx-4090", bigger["id"])
    assert answered(client, f"/v1/sizing?{larger}")["fit"]["verdict"] == "fits"


@pytest.mark.parametrize(
    ("model", "gpu"), [("llama-3.3-70b-instruct", "rtx-4090"), ("glm-4.5-air", "l4-24gb")]
)
def test_an_upgrade_changes_the_verdict_and_less_does_not(client, model, gpu):
    """The named number of GPUs runs it, one fewer does not."""
    question = f"model={model}&gpu={gpu}&quantization=q4_k_m&engine=llama.cpp"
    (change,) = [
        change
        for change in answered(client, f"/v1/fragments/recommendations?{question}")["upgrades"]
        if change["parameter"] == "gpu_count"
    ]
    verdicts = [
        answered(client, f"/v1/sizing?{question}&gpu_count={count}")["fit"]["verdict"]
        for count in (change["to"] - 1, change["to"])
    ]
    assert verdicts[0] == "does_not_fit"
    assert verdicts[1] in ("fits", "tight")


def test_the_best_value_is_its_price_by_its_rate(llama):
    """The low end of the price over the estimate; its speed is calibrated, or it says that none is."""
    for name in ("best_value", "best_value_used"):
        pick = llama["highlights"][name]
        per_rate = pick["purchase"]["usd"]["low"] / pick["speed"]["per_sequence"]["estimate"]
        assert pick["usd_per_token_per_second"] == pytest.approx(per_rate, rel=1e-3)
        said = {note["code"] for note in pick["notes"]}
        assert pick["speed"]["indicative"] is ("plan_value_indicative" in said)
        assert not said & {"engine_is_port", "engine_support_unknown"}


def test_an_engine_that_is_only_a_port_says_so(client):
    sizing = answered(client, "/v1/sizing?model=qwen3-8b&gpu=instinct-mi50-32gb&engine=vllm")
    assert "engine_is_port" in {note["code"] for note in sizing["warnings"]}
    sizing = answered(client, "/v1/sizing?model=qwen3-8b&gpu=instinct-mi50-32gb&engine=llama.cpp")
    assert "engine_is_port" not in {note["code"] for note in sizing["warnings"]}


@pytest.mark.parametrize("question", ["model=qwen3-8b", "model=qwen3-8b&gpu=rtx-4090&engine=vllm"])
def test_estimates_cover_every_gpu_and_are_not_measured(client, question):
    """One row for each product that exists; a speed only where it runs, else the reason."""
    section = answered(client, f"/v1/fragments/estimates?{question}")
    assert (
        section["total"] == len(section["rows"]) == len(answered(client, "/v1/gpus?limit=500")["items"]) - 1
    )
    for row in section["rows"]:
        assert (row["gpu_count"] is None) == (row["reason"] is not None)
        assert row["speed"] is None or row["speed"]["low"] <= row["speed"]["estimate"]
    assert "measured" not in section


def test_an_estimate_is_that_of_the_sizing(client):
    (row,) = [
        row
        for row in answered(client, "/v1/fragments/estimates?model=qwen3-8b")["rows"]
        if row["gpu"] == "rtx-4090"
    ]
    sizing = answered(client, "/v1/sizing?model=qwen3-8b&gpu=rtx-4090&engine=llama.cpp&quantization=q4_k_m")
    assert row["speed"] == sizing["speed"]["per_sequence"]
