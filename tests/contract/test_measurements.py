"""`/v1/measurements`, `measured` in a sizing, and the section: real figures, marked and never mixed."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[2]
KIMI = {"model": "kimi-k3.1-pro", "gpu": "gb300-per-gpu", "gpu_count": 8, "engine": "vllm"}
MISSING = {
    "interconnect",
    "context_tokens",
    "engine_version",
    "prefill_tokens_per_second",
    "concurrency",
    "draft_acceptance",
}


def listed(client, **query):
    answer = client.get("/v1/measurements", query_string={"limit": 500, **query})
    assert answer.status_code == 200, answer.get_data(as_text=True)
    return answer.json


def section(client, media_type="application/json", **query):
    return client.get("/v1/fragments/measurements", query_string=query, headers={"Accept": media_type})


def test_the_list_is_paged(client):
    """Pages follow each other without a gap, and every record is there once."""
    seen, cursor = [], None
    while True:
        page = listed(client, **({"cursor": cursor} if cursor else {}))
        seen += [item["id"] for item in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert len(seen) == len(set(seen)) == page["total"] == 3513


def test_filters_narrow_the_list(client):
    """Each filter leaves only what it names; together they leave what all name."""
    items = listed(client, model="gpt-oss-120b", gpu="h100-80gb-sxm", engine="vllm", quantization="mxfp4")[
        "items"
    ]
    assert items
    for item in items:
        assert (item["model"], item["gpu"]) == ("gpt-oss-120b", "h100-80gb-sxm")
        assert (item["engine"], item["quantization"]) == ("vllm", "mxfp4")
    native = listed(client, model="gpt-oss-120b", gpu="h100-80gb-sxm", engine="vllm", quantization="native")
    assert native["items"] == items
    some = listed(client, model="gpt-oss-120b", min_concurrency=16, max_concurrency=64)["items"]
    assert {item["concurrency"] for item in some} <= set(range(16, 65))
    assert {16, 64} <= {item["concurrency"] for item in some}


def test_complete_and_other_records_are_told_apart(client):
    """What is compared lacks nothing and has no flag; everything else says why."""
    compared, others = listed(client, comparable="true"), listed(client, comparable="false")
    assert compared["total"] + others["total"] == 3513
    assert all(item["comparable"] and not item["missing"] + item["flags"] for item in compared["items"])
    assert all(item["reasons"] and not item["comparable"] for item in others["items"])


def test_models_and_gpus_answer_to_their_aliases(client):
    by_repository = listed(client, model="moonshotai/Kimi-K3.1-Pro")
    assert [item["id"] for item in by_repository["items"]] == ["vllm-blog-kimi-k3.1-pro-gb300"]
    assert listed(client, gpu="RTX 4090")["total"] == listed(client, gpu="rtx-4090")["total"] > 0


@pytest.mark.parametrize(
    ("query", "status", "problem"),
    [
        ({"model": "kimi-k9"}, 404, "unknown-model"),
        ({"gpu": "rtx-9090"}, 404, "unknown-gpu"),
        ({"engine": "vlm"}, 422, "invalid-parameters"),
        ({"quantization": "q4"}, 422, "invalid-parameters"),
        ({"min_concurrency": "0"}, 422, "invalid-parameters"),
        ({"comparable": "maybe"}, 422, "invalid-parameters"),
        ({"modell": "x"}, 422, "invalid-parameters"),
        ({"cursor": "x"}, 422, "invalid-parameters"),
    ],
)
def test_wrong_filters_are_problems(client, query, status, problem):
    answer = client.get("/v1/measurements", query_string=query)
    assert answer.status_code == status
    assert answer.json["type"] == f"/problems/{problem}"


def test_the_list_is_cached_like_the_other_catalogs(client):
    answer = client.get("/v1/measurements?model=kimi-k3.1-pro")
    assert "s-maxage" in answer.headers["Cache-Control"]
    again = client.get(
        "/v1/measurements?model=kimi-k3.1-pro", headers={"If-None-Match": answer.headers["ETag"]}
    )
    assert again.status_code == 304


def test_a_record_tells_its_whole_provenance(client):
    """The published spelling beside our ids, the public source, and what is missing."""
    [item] = listed(client, model="kimi-k3.1-pro")["items"]
    assert item["decode_tokens_per_second"] == 375.9
    assert (item["quantization"], item["published"]["quantization"]) == ("mxfp4", "MXFP4")
    assert item["source"]["url"].startswith("https://")
    assert item["date"] == "2026-11-04"
    assert set(item["missing"]) == MISSING
    assert [reason["code"] for reason in item["reasons"]] == ["incomplete_record"]
    german = listed(client, model="kimi-k3.1-pro", lang="de")["items"][0]
    assert german["reasons"][0]["message"] == "unvollständiger Datensatz"


def test_a_sizing_names_the_closest_measurements(client):
    """At most three of this model on this GPU, each with its differences; never on another GPU."""
    answer = client.get("/v1/sizing", query_string=KIMI).json
    [found] = answer["measured"]
    assert found["decode_tokens_per_second"] == 375.9
    assert set(found["missing"]) == MISSING
    assert found["comparison"] is None
    assert {d["parameter"] for d in found["differences"]} == {"speculative_tokens"}
    other = client.get("/v1/sizing", query_string={**KIMI, "gpu": "h20-141gb"}).json
    assert other["measured"] == []
    many = client.get("/v1/sizing", query_string={"model": "llama-3.1-8b-instruct", "gpu": "rtx-4090"}).json
    assert len(many["measured"]) == 3
    assert all(
        row["model"] == "llama-3.1-8b-instruct" and row["gpu"] == "rtx-4090" for row in many["measured"]
    )


def test_a_comparable_record_is_divided_by_its_own_estimate(client):
    """Measured and estimated stand beside each other, apart from the measured figures themselves."""
    query = {"model": "gpt-oss-120b", "gpu": "dgx-spark-gb10-128gb", "quantization": "mxfp4_moe"}
    measured = client.get("/v1/sizing", query_string=query).json["measured"]
    found = next(row for row in measured if row["comparison"])
    rate = found["comparison"][0]
    assert rate["rate"] == "decode_tokens_per_second"
    assert rate["measured"] == found["decode_tokens_per_second"]
    assert rate["ratio"] == pytest.approx(rate["measured"] / rate["estimate"], abs=0.001)


def test_a_sister_model_is_named(client):
    """Meta-Llama-3-8B has the architecture of Llama 3.1 8B; the answer says which one was measured."""
    answer = client.get("/v1/sizing", query_string={"model": "llama-3.1-8b-instruct", "gpu": "rtx-4090"}).json
    first = answer["measured"][0]
    assert first["equivalent"] is True
    assert first["published"]["model"] == "Meta-Llama-3-8B"
    assert {"model"} <= {d["parameter"] for d in first["differences"]}


def test_what_a_caller_describes_has_no_measurements(client):
    """An accelerator of the caller's own is none of the catalog, whatever it is called."""
    spec = {"name": "rtx-4090", "memory_gib": 24, "memory_bandwidth_gbs": 1008, "fp16_tflops": 165}
    body = {"model": "llama-3.1-8b-instruct", "gpu_spec": spec}
    assert client.post("/v1/sizing", json=body).json["measured"] == []


@pytest.mark.parametrize(
    ("lang", "expected"),
    [
        ("zh", ["口径不全，不进对比 · 缺 6 项：", "375.9", "版本未报", "开（接受率未报）", "2026年11月4日"]),
        ("de", ["unvollständiger Datensatz, nicht im Vergleich berücksichtigt · 6 Angaben fehlen:", "375,9"]),
        ("en", ["incomplete record, not compared · 6 fields missing:", "375.9", "Nov 4, 2026"]),
    ],
)
def test_the_section_of_a_model_marks_the_incomplete_record(client, lang, expected):
    """Without a GPU: all of the model, each with what it leaves out, in HTML and Markdown."""
    for media_type in ("text/html", "text/markdown"):
        answer = section(client, media_type, model="kimi-k3.1-pro", lang=lang)
        assert answer.status_code == 200
        text = answer.get_data(as_text=True)
        for words in expected:
            assert words in text


def test_the_section_lists_all_of_the_model_or_those_of_the_pair(client):
    """A model alone: as many rows as records; with a GPU: those on it, the closest first."""
    alone = section(client, model="gpt-oss-120b").json
    assert alone["available"] is True
    assert len(alone["rows"]) == alone["total"] == listed(client, model="gpt-oss-120b")["total"]
    pair = section(client, model="gpt-oss-120b", gpu="h100-80gb-sxm", engine="vllm").json
    assert {row["gpu"] for row in pair["rows"]} == {"h100-80gb-sxm"}
    assert pair["total"] == listed(client, model="gpt-oss-120b", gpu="h100-80gb-sxm")["total"]
    sizing = client.get(
        "/v1/sizing", query_string={"model": "gpt-oss-120b", "gpu": "h100-80gb-sxm", "engine": "vllm"}
    ).json
    assert [row["id"] for row in pair["rows"][:3]] == [row["id"] for row in sizing["measured"]]


def test_nothing_measured_is_said_in_one_sentence(client):
    answer = section(client, model="kimi-k3.1-pro", gpu="rtx-4090")
    assert answer.json["rows"] == []
    assert len(answer.json["sentences"]) == 1
    assert "<table" not in section(client, "text/html", model="kimi-k3.1-pro", gpu="rtx-4090").get_data(
        as_text=True
    )


@pytest.mark.parametrize("gpu", [None, "ryzen-ai-max-395-128gb"])
def test_the_html_is_well_formed_and_inert(client, gpu):
    """One table with a caption; only documented classes, as in every other section."""
    query = {"model": "gpt-oss-120b", **({"gpu": gpu} if gpu else {})}
    root = ElementTree.fromstring(section(client, "text/html", **query).get_data(as_text=True))
    documented = set(re.findall(r"`(sizing[a-z_-]*)`", (ROOT / "docs/fragments.md").read_text()))
    for element in root.iter():
        assert element.tag not in {"script", "style", "a", "img"}
        assert {*element.attrib} <= {"class", "lang", "scope"}
        assert {*element.get("class", "").split()} <= documented
    widths = {len(row) for row in root.iter("tr")}
    assert len(widths) == 1
    markdown = section(client, "text/markdown", **query).get_data(as_text=True)
    lines = [line for line in markdown.splitlines() if line.startswith("|")]
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1
    assert len(lines) == len(list(root.iter("tr"))) + 1
