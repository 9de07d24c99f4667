"""Real measurements: what a record must state, which ones come closest, and how the files are read."""

import shutil
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from service.catalog import Catalog, load_catalog
from service.catalog.measurements import COLUMNS, measurements
from service.core.closest import closest, differences, distance
from service.core.comparison import conditions, ratios
from service.core.evidence import Evidence
from service.core.measurements import FLAGS, Measurement
from service.core.request import Request
from service.core.resolve import resolve
from service.core.scenario import Scenario
from service.core.sizing import Sizing, Verdict
from service.core.speed.result import Basis, Bound, Estimate, Speed
from service.errors import CatalogError
from service.i18n import LANGUAGES, voice
from service.i18n.messages.measured import FIELDS, REASONS
from service.render.measured import INCOMPLETE, closest_records, reasons

CONFIG = Path(__file__).resolve().parents[2] / "config"
# A whole llama-bench run on one GPU, nothing left out.
COMPLETE = Measurement(
    id="a",
    model="qwen3-8b",
    gpu="rtx-4090",
    source="s",
    source_detail="",
    published_model="Qwen3-8B",
    published_gpu="RTX 4090",
    gpu_count=1,
    tensor_parallel=1,
    engine="llama.cpp",
    backend="cuda",
    engine_version="b6918",
    quantization="q4_k_m",
    context_tokens=4352,
    prompt_tokens=4096,
    output_tokens=512,
    concurrency=1,
    speculative=False,
    decode_tokens_per_second=120.5,
    prefill_tokens_per_second=5000.0,
)


@cache
def facts() -> Catalog:
    return load_catalog(CONFIG)


def asked(**parameters) -> Scenario:
    catalog = facts()
    model, gpu = parameters.pop("model", "qwen3-8b"), parameters.pop("gpu", "rtx-4090")
    return resolve(Request(model=catalog.models[model], gpu=catalog.gpus[gpu], **parameters))


def every() -> list[Measurement]:
    return [row for rows in facts().measurements.values() for row in rows]


def test_a_complete_record_is_compared():
    assert COMPLETE.missing == ()
    assert COMPLETE.comparable


@pytest.mark.parametrize(
    ("left_out", "missing"),
    [
        ({"engine_version": None}, "engine_version"),
        ({"context_tokens": None}, "context_tokens"),
        ({"concurrency": None}, "concurrency"),
        ({"speculative": None}, "speculative"),
        ({"backend": None}, "backend"),
        ({"gpu_count": None}, "gpu_count"),
        ({"quantization": None}, "quantization"),
        ({"prefill_tokens_per_second": None}, "prefill_tokens_per_second"),
        ({"decode_tokens_per_second": None}, "decode_tokens_per_second"),
        ({"speculative": True}, "draft_acceptance"),
        ({"gpu_count": 2}, "interconnect"),
    ],
)
def test_a_record_that_leaves_out_a_field_is_not_compared(left_out, missing):
    """Each field that two figures need to be the same question is named when it is missing."""
    row = replace(COMPLETE, **left_out)
    assert row.missing == (missing,)
    assert not row.comparable
    assert reasons(row) == [INCOMPLETE]


def test_a_test_of_one_phase_does_not_miss_the_other():
    """llama-bench measures prompts (no output) and generation (no prompt) apart."""
    generation = replace(COMPLETE, prompt_tokens=0, prefill_tokens_per_second=None)
    prompts = replace(COMPLETE, output_tokens=0, decode_tokens_per_second=None)
    assert generation.comparable
    assert prompts.comparable
    assert replace(COMPLETE, prefill_tokens_per_second=None, time_to_first_token_ms=800.0).comparable


@pytest.mark.parametrize("flag", FLAGS)
def test_a_flagged_record_is_not_compared(flag):
    row = replace(COMPLETE, flags=(flag,))
    assert not row.comparable
    assert reasons(row) == [flag]


def test_what_the_catalog_does_not_have_is_not_compared():
    assert reasons(replace(COMPLETE, engine=None, published_engine="hipfire")) == ["other_engine"]
    other = replace(COMPLETE, quantization=None, published_quantization="MQ4")
    assert other.missing == ()
    assert reasons(other) == ["other_quantization"]


def test_every_field_and_reason_has_words():
    """What a record can lack or be flagged with is said in each language."""
    assert {*REASONS} == {*FLAGS, INCOMPLETE, "other_engine", "other_quantization"}
    assert {field for row in every() for field in row.missing} <= {*FIELDS}
    for tag in LANGUAGES:
        for text in (*FIELDS.values(), *REASONS.values()):
            assert (voice(tag).text(text) == text) is (tag == "en")


def test_the_same_conditions_have_no_distance():
    """Prompt 4096 and half of 512 output tokens: the cache is filled with 4352 tokens on average."""
    scenario = asked()
    assert (scenario.engine, scenario.quantization, scenario.kv_cache_dtype) == (
        "llama.cpp",
        "q4_k_m",
        "fp16",
    )
    assert differences(COMPLETE, scenario) == ()
    assert distance(COMPLETE, scenario) == 0


def test_differences_name_both_values():
    row = replace(COMPLETE, quantization="q8_0", concurrency=4, context_tokens=512, equivalent=True)
    found = {d.parameter: (d.asked, d.measured) for d in differences(row, asked())}
    assert found == {
        "model": ("Qwen3 8B", "Qwen3-8B"),
        "quantization": ("q4_k_m", "q8_0"),
        "concurrent_sequences": (1, 4),
        "cached_tokens": (4352, 512),
    }


def test_the_native_format_is_what_the_checkpoint_is_in():
    """gpt-oss is published in MXFP4; llama.cpp calls the file of the same blocks MXFP4_MOE."""
    on_vllm = asked(model="gpt-oss-120b", gpu="h100-80gb-sxm", engine="vllm")
    on_llama_cpp = asked(model="gpt-oss-120b", gpu="rtx-4090", quantization="native", engine="llama.cpp")
    for scenario, name in ((on_vllm, "mxfp4"), (on_llama_cpp, "mxfp4_moe")):
        assert scenario.quantization == "native"
        found = differences(replace(COMPLETE, quantization=name), scenario)
        assert "quantization" not in {d.parameter for d in found}


def test_closer_conditions_come_first():
    rows = [
        replace(COMPLETE, id="far", concurrency=64),
        replace(COMPLETE, id="near", concurrency=2),
        replace(COMPLETE, id="other engine", engine="vllm"),
        replace(COMPLETE, id="same"),
        replace(COMPLETE, id="other gpu", gpu="rtx-3090"),
        replace(COMPLETE, id="other model", model="qwen3-32b"),
    ]
    assert [row.id for row in closest(rows, asked())] == ["same", "near", "other engine"]
    assert closest(rows, asked(gpu="rtx-5090")) == []


def test_a_closer_bit_width_comes_first():
    rows = [
        replace(COMPLETE, id="a 16 bit", quantization="bf16"),
        replace(COMPLETE, id="b 8 bit", quantization="q8_0"),
        replace(COMPLETE, id="c 4 bit", quantization="ud-q4_k_xl"),
    ]
    assert [row.id for row in closest(rows, asked())] == ["c 4 bit", "b 8 bit", "a 16 bit"]


def fast(decode: float, prefill: float | None) -> Speed:
    """A speed with these estimates."""
    flat = Estimate(decode / 2, decode / 2, decode / 2)
    prompt = None if prefill is None else Estimate(prefill, prefill, prefill)
    basis = Basis("test", 1, Evidence.ESTIMATE)
    return Speed(flat, flat.times(2), prompt, None, Bound.MEMORY, basis, basis)


def test_a_record_is_compared_under_its_own_conditions():
    """tg128 at a depth of 4096 fills the cache with 4096 + 64 tokens on average, for each sequence."""
    model, gpu = facts().models["qwen3-8b"], facts().gpus["rtx-4090"]
    row = replace(COMPLETE, prompt_tokens=0, context_tokens=4160, output_tokens=128, concurrency=2)
    request = conditions(row, model, gpu)
    assert request is not None
    assert (request.prompt_tokens, request.output_tokens, request.context_tokens) == (4096, 128, 4224)
    assert (request.concurrent_sequences, request.quantization, request.gpu_count) == (2, "q4_k_m", 1)
    assert conditions(replace(row, flags=("crowd",)), model, gpu) is None
    assert conditions(replace(row, engine_version=None), model, gpu) is None


def test_measured_is_divided_by_estimated():
    """120.5 / 100 and 5000 / 4000; a prompt deep in the context has no estimate."""
    both = {r.rate: r.ratio for r in ratios(COMPLETE, fast(100, 4000))}
    assert both == pytest.approx({"decode_tokens_per_second": 1.205, "prefill_tokens_per_second": 1.25})
    assert [r.rate for r in ratios(COMPLETE, fast(100, None))] == ["decode_tokens_per_second"]
    deep = replace(COMPLETE, decode_tokens_per_second=None, output_tokens=0, context_tokens=8192)
    assert ratios(deep, fast(100, 4000)) == ()


def test_the_closest_records_carry_their_comparison():
    """An estimator is asked for each comparable record; a record that is not compared has none."""
    asked_for = []

    def estimator(sizing: Sizing) -> Speed:
        asked_for.append(sizing)
        return fast(50, None)

    spark = asked(model="gpt-oss-120b", gpu="dgx-spark-gb10-128gb", quantization="native", engine="llama.cpp")
    found = closest_records(spark, facts(), estimator)
    assert len(found) == len(asked_for) == 3
    assert {sizing.verdict for sizing in asked_for} == {Verdict.FITS}
    for entry in found:
        [rate] = entry["comparison"]
        assert rate["ratio"] == round(entry["decode_tokens_per_second"] / 50, 3)
        assert entry["comparable"]
    kimi = asked(model="kimi-k3.1-pro", gpu="gb300-per-gpu", gpu_count=8, engine="vllm")
    [entry] = closest_records(kimi, facts(), estimator)
    assert entry["comparison"] is None
    assert closest_records(spark, facts())[0]["comparison"] is None


def test_the_measured_kimi_misses_six_fields():
    """8 x GB300, 375.9 tok/s (vLLM blog, 2026-11-04): what a reader would need to repeat it is left out."""
    [row] = facts().measurements["kimi-k3.1-pro"]
    assert (row.gpu, row.gpu_count, row.engine, row.quantization) == ("gb300-per-gpu", 8, "vllm", "mxfp4")
    assert (row.decode_tokens_per_second, row.speculative, row.date) == (375.9, True, "2026-11-04")
    assert {*row.missing} == {
        "interconnect",
        "context_tokens",
        "engine_version",
        "prefill_tokens_per_second",
        "concurrency",
        "draft_acceptance",
    }
    assert not row.comparable


def test_published_figures_are_kept_as_they_are():
    """Three sources, as their own tables state them."""
    rows = {row.id: row for row in every()}
    spark = [
        row
        for row in rows.values()
        if row.source == "llama-cpp" and row.model == "gpt-oss-120b" and row.prompt_tokens == 2048
    ]
    assert 1653.89 in {row.prefill_tokens_per_second for row in spark}  # pp2048 @ d4096, benches/dgx-spark.md
    dai = rows["gpu-benchmarks-59a01ff6"]  # 4 x A40, Llama 3 70B Q4_K_M, tg4096
    assert (dai.decode_tokens_per_second, dai.gpu_count, dai.equivalent) == (11.6, 4, True)
    assert dai.published_model == "Meta-Llama-3-70B"
    # A derived figure: 64 sequences / 25.6464 ms (aiconfigurator, DeepSeek R1 on 8 x B200).
    served = rows["aiconfigurator-f0608b63"]
    assert served.decode_tokens_per_second == pytest.approx(64 * 1000 / 25.6464, rel=1e-5)


def test_runs_that_contradict_their_own_name_are_set_aside():
    """Runs named tp8_ep8 are published with 64 GPUs, the product of the two degrees."""
    named = [row for row in every() if "_tp8_ep8_" in row.source_detail and row.gpu_count == 64]
    assert len(named) > 50
    assert all("source_anomaly" in row.flags for row in named)
    assert all(row.gpu_count in (None, 1, 2, 4, 6, 8) for row in every() if row.comparable)


def test_the_catalog_of_measurements_is_whole():
    """Every record has a public source and a rate; rows that are flagged or lack a field are not compared."""
    rows = every()
    assert len(rows) == 3513
    assert len({row.id for row in rows}) == len(rows)
    sources = facts().measurement_sources
    assert {row.source for row in rows} == {*sources}
    assert all(source.url.startswith("https://") for source in sources.values())
    assert all(row.decode_tokens_per_second or row.prefill_tokens_per_second for row in rows)
    count = Counter(row.comparable for row in rows)
    assert count[True] > 500
    assert not any(row.comparable for row in rows if row.flags or row.missing)


HEADER = ",".join(COLUMNS)


def table(**cells: str) -> dict[str, bytes]:
    """The file of one record, with the cells given over those of a record that is right."""
    right = {
        "id": "a",
        "model": "m",
        "gpu": "g",
        "source": "s",
        "published_model": "M",
        "published_gpu": "G",
        "decode_tokens_per_second": "1.5",
    }
    line = ",".join({**right, **cells}.get(column, "") for column in COLUMNS)
    sources = b"- {id: s, name: S, url: 'https://example.org'}\n"
    content = f"{HEADER}\n{line}\n".encode()
    return {"measurements/a.csv": content, "measurements/sources.yaml": sources}


KNOWN = {"model": ["m"], "gpu": ["g"], "engine": ["vllm"], "quantization": ["fp8"]}


def test_the_table_of_the_tests_is_read():
    [row] = measurements(table(flags="crowd offload", speculative="off"), KNOWN).by_model["m"]
    assert row.decode_tokens_per_second == 1.5
    assert (row.flags, row.speculative) == (("crowd", "offload"), False)
    assert measurements({}, KNOWN).by_model == {}


@pytest.mark.parametrize(
    ("cells", "column"),
    [
        ({"model": "m2"}, "model"),
        ({"gpu": "g2"}, "gpu"),
        ({"engine": "vlm"}, "engine"),
        ({"quantization": "FP8"}, "quantization"),
        ({"source": "t"}, "source"),
        ({"published_gpu": ""}, "published_gpu"),
        ({"gpu_count": "two"}, "gpu_count"),
        ({"gpu_count": "-2"}, "gpu_count"),
        ({"decode_tokens_per_second": "0"}, "decode_tokens_per_second"),
        ({"decode_tokens_per_second": "nan"}, "decode_tokens_per_second"),
        ({"decode_tokens_per_second": ""}, "no speed"),
        ({"speculative": "maybe"}, "speculative"),
        ({"equivalent": "no"}, "equivalent"),
        ({"date": "2025-13"}, "date"),
        ({"flags": "odd"}, "flags"),
    ],
)
def test_a_wrong_cell_is_named(cells, column):
    """The error says file, line and column; nothing is coerced or left out."""
    with pytest.raises(CatalogError) as error:
        measurements(table(**cells), KNOWN)
    assert error.value.file == "measurements/a.csv"
    assert error.value.path.startswith("line 2")
    assert column in f"{error.value.path} {error.value.reason}"


def test_a_wrong_header_a_repeated_id_and_a_torn_line_are_errors():
    files = table()
    content = files["measurements/a.csv"]
    for wrong in (
        content.replace(b"gpu_count", b"gpus"),
        content + content.splitlines(keepends=True)[1],
        content.rstrip(b"\n") + b",more\n",
        content.rsplit(b",", 1)[0] + b"\n",
        content.replace(b"1.5", b'"1.5'),
    ):
        with pytest.raises(CatalogError):
            measurements({**files, "measurements/a.csv": wrong}, KNOWN)


def test_a_changed_measurement_changes_the_digest(tmp_path):
    """Answers are cached under the digest, so it must know every record."""
    shutil.copytree(CONFIG, tmp_path / "config")
    before = load_catalog(tmp_path / "config").digest
    path = tmp_path / "config" / "measurements" / "single-reports.csv"
    path.write_text(path.read_text().replace("375.9", "376.9"))
    after = load_catalog(tmp_path / "config")
    assert before == facts().digest != after.digest
    assert after.measurements["kimi-k3.1-pro"][0].decode_tokens_per_second == 376.9
