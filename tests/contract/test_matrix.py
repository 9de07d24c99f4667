"""`/v1/matrix`: columns, rows, a heat table, filters, and what a matrix cannot be."""

import csv
import io
import re
from html.parser import HTMLParser

import pytest

TWO = {"models": "qwen3-8b,kimi-k3.1-pro", "gpus": "rtx-4090,h20-141gb", "quantizations": "q4_k_m,awq-int4"}


def answered(client, accept="application/json", **parameters):
    answer = client.get("/v1/matrix", query_string=parameters, headers={"Accept": accept})
    assert answer.status_code == 200, answer.get_data(as_text=True)
    return answer


def refused(client, status=422, accept="application/json", **parameters):
    answer = client.get("/v1/matrix", query_string=parameters, headers={"Accept": accept})
    assert answer.status_code == status, answer.get_data(as_text=True)
    assert answer.mimetype == "application/problem+json"
    return answer.json


def value(document, measure, **cell):
    """One value by the ids of its cell, read as docs/matrix.md says."""
    found, place = document["measures"][measure], 0
    for axis in found["axes"]:
        entries = document["axes"][axis]
        place = place * len(entries) + entries.index(cell[axis])
    return found["values"][place]


def test_default_is_every_model_on_every_accelerator(client, catalog):
    """80 x 57 cells at the scenario's own format and context; headline figures over all four axes."""
    document = answered(client).json
    axes = document["axes"]
    assert (axes["models"], axes["gpus"]) == (list(catalog.models), list(catalog.gpus))
    assert (axes["quantizations"], axes["contexts"]) == (["q4_k_m"], [8192])
    assert document["cells"] == len(catalog.models) * len(catalog.gpus)
    for name in ("verdict", "total_bytes", "decode_tokens_per_second"):
        found = document["measures"][name]
        assert found["axes"] == ["models", "gpus", "quantizations", "contexts"]
        assert len(found["values"]) == document["cells"]
    for found in document["measures"].values():
        length = 1
        for axis in found["axes"]:
            length *= len(axes[axis])
        assert len(found["values"]) == length


@pytest.mark.parametrize(
    ("model", "gpu", "quantization", "context"),
    [
        ("qwen3-8b", "rtx-4090", "q4_k_m", 8192),
        ("qwen3-8b", "h20-141gb", "awq-int4", 131_072),
        ("kimi-k3.1-pro", "h20-141gb", "q4_k_m", 8192),
        ("gpt-oss-120b", "b200-180gb", "native", 131_072),
        ("qwen3-8b", "mac-mini-m4-pro-64gb", "q4_k_m", 8192),
    ],
)
def test_cell_is_what_sizing_answers(client, model, gpu, quantization, context):
    """Bytes to the byte, the same verdict, limits, speed and price as `/v1/sizing` of that scenario."""
    asked = {"model": model, "gpu": gpu, "quantization": quantization, "context_tokens": context}
    sizing = client.get("/v1/sizing", query_string={**asked, "gpu_count": 2}).json
    document = answered(
        client,
        models=f"{model},qwen3-32b",
        gpus=f"l40s-48gb,{gpu}",
        quantizations=f"q8_0,{quantization}",
        contexts=f"{context},32768",
        gpu_count=2,
    ).json
    cell = {"models": model, "gpus": gpu, "quantizations": quantization, "contexts": context}

    def got(measure):
        return value(document, measure, **cell)

    assert got("verdict") == sizing["fit"]["verdict"]
    for term in ("total", "weights", "kv_cache", "recurrent_state", "compute_buffers", "runtime_overhead"):
        assert got(f"{term}_bytes") == sizing["memory"][term]["bytes"], term
    assert got("host_bytes") == sizing["memory"]["host"]["bytes"]
    assert got("per_gpu_bytes") == sizing["per_gpu"]["total"]["bytes"]
    assert got("usable_bytes") == sizing["fit"]["usable"]["bytes"]
    assert got("max_context_tokens") == sizing["limits"]["max_context_tokens"]
    speed, cost = sizing["speed"], sizing["cost"]
    for suffix, name in (("", "estimate"), ("_low", "low"), ("_high", "high")):
        expected = speed and speed["decode_tokens_per_second"][name]
        assert got(f"decode_tokens_per_second{suffix}") == expected
    rent = cost and cost["usd_per_hour"]
    assert got("usd_per_hour") == rent


def test_known_cell_of_a_public_page(client):
    """Kimi K3.1 Pro in Q4_K_M does not fit on one H20 with 141 GB; nothing is said of speed or price."""
    document = answered(client, **TWO).json
    cell = {"models": "kimi-k3.1-pro", "gpus": "h20-141gb", "quantizations": "q4_k_m", "contexts": 8192}
    assert value(document, "verdict", **cell) == "does_not_fit"
    assert value(document, "total_bytes", **cell) > 10**12
    for name in ("decode_tokens_per_second", "usd_per_hour"):
        assert value(document, name, **cell) is None


def test_format_chooses_the_engine_unless_one_is_given(client):
    """awq-int4 runs on vLLM by itself; llama.cpp does not load it, so the cell has no figures."""
    cell = {"models": "qwen3-8b", "gpus": "rtx-4090", "quantizations": "awq-int4", "contexts": 8192}
    assert value(answered(client, **TWO).json, "verdict", **cell) == "fits"
    given = answered(client, **TWO, engine="llama.cpp").json
    assert value(given, "verdict", **cell) == "unsupported"
    assert value(given, "total_bytes", **cell) is None
    assert value(given, "total_bytes", **{**cell, "quantizations": "q4_k_m"}) > 0


def test_rows_say_the_same_as_columns(client):
    """CSV: one line for each cell with its four names, empty where JSON has null."""
    document = answered(client, **TWO, contexts="4096,65536").json
    answer = answered(client, "text/csv", **TWO, contexts="4096,65536")
    assert answer.content_type == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(answer.get_data(as_text=True))))
    assert len(rows) == document["cells"] == 2 * 2 * 2 * 2
    for row in rows:
        cell = {
            "models": row["model"],
            "gpus": row["gpu"],
            "quantizations": row["quantization"],
            "contexts": int(row["context_tokens"]),
        }
        for name in document["measures"]:
            expected = value(document, name, **cell)
            assert row[name] == ("" if expected is None else str(expected))


class Cells(HTMLParser):
    """Text of every table cell with its classes, and all attributes that were met."""

    def __init__(self):
        super().__init__()
        self.cells, self.attributes, self.tables = [], set(), 0

    def handle_starttag(self, tag, attrs):
        self.attributes |= {name for name, _ in attrs}
        self.tables += tag == "table"
        if tag == "td":
            self.cells.append([dict(attrs)["class"], ""])

    def handle_data(self, data):
        if self.cells:
            self.cells[-1][1] += data


@pytest.mark.parametrize(
    ("lang", "word", "percent"),
    [("de", "passt nicht", r"\d+\xa0%"), ("zh", "装不下", r"\d+%"), ("en", "does not fit", r"\d+%")],
)
def test_heat_table_is_localized_and_does_not_rely_on_colour(client, lang, word, percent):
    """A table for each format and context; a mark before each figure, a legend of the marks, no styles."""
    answer = answered(client, "text/html", **TWO, contexts="8192,65536", lang=lang)
    text = answer.get_data(as_text=True)
    assert text.startswith(
        f'<section class="sizing sizing-matrix" lang="{"zh-Hans" if lang == "zh" else lang}">'
    )
    assert answer.headers["Content-Language"] == ("zh-Hans" if lang == "zh" else lang)
    assert word in text
    read = Cells()
    read.feed(text)
    assert read.tables == 2 * 2
    assert len(read.cells) == 2 * 2 * 2 * 2
    assert read.attributes == {"class", "lang", "scope"}
    for classes, shown in read.cells:
        mark = {"fits": "✓", "tight": "≈", "does_not_fit": "✗", "unsupported": "–", "unknown": "?"}
        verdict = re.search(r"sizing-verdict-(\w+)", classes)[1]
        assert shown.strip().startswith(mark[verdict])
        if verdict in ("fits", "does_not_fit"):
            assert re.search(percent, shown)
            assert re.search(r"sizing-heat-[0-6]\b", classes)


def test_shade_and_percent_are_of_the_usable_memory(client):
    """The figure is per_gpu_bytes / usable_bytes of the same cell, in whole percent."""
    one = {"models": "qwen3-8b", "gpus": "rtx-4090"}
    document = answered(client, **one).json
    part = (
        document["measures"]["per_gpu_bytes"]["values"][0] / document["measures"]["usable_bytes"]["values"][0]
    )
    read = Cells()
    read.feed(answered(client, "text/html", **one, lang="en").get_data(as_text=True))
    ((classes, text),) = read.cells
    assert text.split()[:2] == ["✓", f"{part:.0%}"]
    ends = [0.25, 0.5, 0.75, 0.95, 1.0, 2.0]
    assert f"sizing-heat-{sum(part > end for end in ends)}" in classes.split()


def test_filters_by_family_kind_and_vendor(client, catalog):
    """What is left is what the catalog says, in its order; a filter also narrows a list."""
    axes = answered(client, family="qwen3", kind="datacenter", vendor="nvidia").json["axes"]
    assert axes["models"] == [m.id for m in catalog.models.values() if m.family == "Qwen3"] != []
    assert axes["gpus"] == [
        g.id for g in catalog.gpus.values() if g.vendor == "NVIDIA" and g.kind == "datacenter"
    ]
    assert answered(client, **TWO, kind="consumer").json["axes"]["gpus"] == ["rtx-4090"]
    empty = answered(client, vendor="apple", kind="datacenter").json
    assert (empty["cells"], empty["measures"]["total_bytes"]["values"]) == (0, [])


def test_one_entry_may_be_named_as_in_a_scenario(client):
    """`model`, `gpu`, `quantization`, `context_tokens` are axes of one entry; both at once is an error."""
    one = answered(
        client, model="Qwen/Qwen3-8B", gpu="rtx-4090", quantization="q8_0", context_tokens=4096
    ).json
    assert one["axes"] == {
        "models": ["qwen3-8b"],
        "gpus": ["rtx-4090"],
        "quantizations": ["q8_0"],
        "contexts": [4096],
    }
    (error,) = refused(client, models="qwen3-8b", model="qwen3-8b")["errors"]
    assert (error["parameter"], error["code"]) == ("models", "conflict")


@pytest.mark.parametrize(
    ("parameters", "name", "code"),
    [
        ({"quantizations": "q4_k_m,q99"}, "quantizations", "not_allowed"),
        ({"contexts": "8192,0"}, "contexts", "out_of_range"),
        ({"contexts": "8192,many"}, "contexts", "not_an_integer"),
        ({"family": "Qwen99"}, "family", "not_allowed"),
        ({"kind": "toy"}, "kind", "not_allowed"),
        ({"vendor": "Acme"}, "vendor", "not_allowed"),
        ({"gpu_counts": "1"}, "gpu_counts", "unknown_parameter"),
        ({"explain": "true"}, "explain", "unknown_parameter"),
        ({"engine": "vlm"}, "engine", "not_allowed"),
        (
            {"models": "qwen3-8b", "engine": "vllm", "kv_cache_dtype": "q8_0"},
            "kv_cache_dtype",
            "kv_dtype_not_supported",
        ),
    ],
)
def test_faults_are_problems(client, parameters, name, code):
    """What no cell could accept is told as for one scenario."""
    errors = refused(client, **parameters)["errors"]
    assert (errors[0]["parameter"], errors[0]["code"]) == (name, code)


def test_unknown_names_are_404(client):
    """An unknown model or accelerator in a list, with the closest ids."""
    assert "qwen3-8b" in refused(client, 404, models="qwen3-8c")["suggestions"]
    assert "rtx-4090" in refused(client, 404, gpus="rtx-409")["suggestions"]


def test_too_large_a_matrix_says_how_to_page(client, catalog):
    """Above 500,000 cells: 422 with the number of models that fit one answer, in the reader's language."""
    contexts = ",".join(str(n) for n in range(1, 451))
    (error,) = refused(client, contexts=contexts, lang="de")["errors"]
    assert (error["parameter"], error["code"]) == ("models", "matrix_too_large")
    at_once = 500_000 // (len(catalog.gpus) * 450)
    assert f"höchstens {at_once} Einträgen" in error["message"]
    (shown,) = refused(client, accept="text/html", contexts="1,2,3,4,5")["errors"]
    assert shown["code"] == "matrix_too_large"
    assert "20,000" in shown["message"]


def test_representations_are_negotiated_and_kept_apart(client):
    """406 for what is not offered, one ETag for each representation, a repeated question from the cache."""
    refused(client, 406, accept="text/markdown", **TWO)
    tags = {
        answered(client, kind, **TWO).headers["ETag"]
        for kind in ("application/json", "text/html", "text/csv")
    }
    assert len(tags) == 3
    again = answered(client, "text/csv", **TWO)
    assert again.headers["X-Cache"] == "hit-memory"
    answer = client.get(
        "/v1/matrix", query_string=TWO, headers={"If-None-Match": again.headers["ETag"], "Accept": "text/csv"}
    )
    assert answer.status_code == 304
