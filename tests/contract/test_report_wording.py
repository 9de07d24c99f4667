"""What a reader of a report trips over: not true here, said twice, or in the signs of another language."""

import re

import pytest

from service.core.notes import Note
from service.i18n import voice
from service.i18n.messages import note_text

TOO_LARGE = {"model": "llama-3.3-70b-instruct", "gpu": "rtx-4090"}
ON_A_MACHINE = {"model": "gpt-oss-120b", "gpu": "mac-studio-m3-ultra-512gb", "engine": "mlx"}
NOT_A_PRODUCT = {"model": "qwen3-32b", "gpu": "mac-studio-m4-ultra-256gb"}


def markdown(client, section, lang, **query):
    """A section of a report as Markdown."""
    answer = client.get(
        f"/v1/fragments/{section}", query_string={**query, "lang": lang}, headers={"Accept": "text/markdown"}
    )
    assert answer.status_code == 200, answer.get_data(as_text=True)
    return answer.get_data(as_text=True)


@pytest.mark.parametrize(
    ("text", "de", "zh", "en"),
    [
        ("2025-11 – 2026-02", "Nov. 2025 – Feb. 2026", "2025年11月–2026年2月", "Nov 2025 – Feb 2026"),
        ("2023-24", "2023–2024", "2023–2024年", "2023 – 2024"),
        ("2026-09", "Sept. 2026", "2026年9月", "Sep 2026"),
        ("2025", "2025", "2025", "2025"),
        ("about 2025-99", "about 2025-99", "about 2025-99", "about 2025-99"),
        ("2025-11 – 2025-12 – 2026-01",) * 4,
    ],
)
def test_a_period_is_written_as_the_language_does(text, de, zh, en):
    """Days, months and years of CLDR; what is no period stays as its source has it."""
    assert [voice(lang).period(text) for lang in ("de", "zh", "en")] == [de, zh, en]


@pytest.mark.parametrize(
    ("since", "de", "zh"),
    [
        ("0.5.20", "ab Version 0.5.20.", "自 0.5.20 版起支持该模型。"),
        ("b12180", "ab Version b12180.", "自 b12180 版起支持该模型。"),
        ("mlx-vlm 0.7.10", "ab mlx-vlm 0.7.10.", "自 mlx-vlm 0.7.10 起支持该模型。"),
        ("builds after 2026-10-01", "ab Builds nach 01.10.2026.", "自 2026年10月1日之后的构建起支持该模型。"),
        ("builds after 0.33.0", "ab Builds nach 0.33.0.", "自 0.33.0 之后的构建起支持该模型。"),
    ],
)
def test_the_first_version_of_an_engine_is_said_in_the_language(since, de, zh):
    note = Note("engine_version_needed", {"engine": "vllm", "since": since})
    assert note_text(voice("de"), note).endswith(de)
    assert note_text(voice("zh"), note).endswith(zh)


def test_chinese_tables_use_chinese_brackets(client):
    """No half-width bracket stands around a remark or an interval; names keep their own."""
    for section in ("recommendations", "cloud", "quantizations"):
        text = markdown(client, section, "zh", **TOO_LARGE)
        rows = [line for line in text.splitlines() if line.startswith("|")]
        assert not [row for row in rows if re.search(r"\((?:[^)]*[\u4e00-\u9fff]|[^)]* – )", row)]


@pytest.mark.parametrize("lang", ["de", "zh", "en"])
def test_values_of_a_table_are_escaped_once(client, lang):
    """A format such as mxfp4_moe is a word of the record, not Markdown of Markdown."""
    text = markdown(client, "measurements", lang, model="gpt-oss-120b", gpu="ryzen-ai-max-395-128gb")
    assert "mxfp4" in text
    assert r"\\" not in text


def test_a_note_of_all_methods_is_said_once(client):
    """Training software is missing for the machine, whichever method is asked about."""
    text = markdown(client, "finetuning", "de", **ON_A_MACHINE)
    assert text.count("Trainingssoftware") == 1


def test_what_is_unknown_is_not_denied(client):
    """No model can be said not to fit on what does not exist; nor is there a number of it that holds one."""
    data = client.get("/v1/fragments/models", query_string={**NOT_A_PRODUCT, "lang": "de"}).json
    assert {row["verdict"] for row in data["rows"]} == {"unknown"}
    text = markdown(client, "models", "de", **NOT_A_PRODUCT)
    assert "unbekannt" in text
    assert "Keines" not in text


def test_no_number_of_gpus_runs_what_the_engine_does_not_support(client):
    """DeepSeek V4.1 Flash has no llama.cpp: not even more GPUs than a machine has."""
    query = {"model": "deepseek-v4.1-flash", "gpu": "rtx-5090", "engine": "llama.cpp"}
    text = markdown(client, "gpus", "en", **query)
    assert "| unsupported |" in text
    assert "more than" not in text


def test_a_context_that_fits_whole_is_not_counted_twice(client):
    """Qwen3 8B is made for 40,960 tokens; all of them fit on 24 GB."""
    text = markdown(client, "context", "en", model="qwen3-8b", gpu="rtx-4090")
    sentences = text.split("|")[0]
    assert "40,960" in sentences
    assert sentences.count("40,960") == 1


@pytest.mark.parametrize("section", ["summary", "memory"])
def test_the_utilization_is_rounded_once(client, section):
    """20.63 GiB of 63 GiB: 32.745 percent are 32.7, as the questions say."""
    query = {"model": "qwen3-32b", "gpu": "cmp-170hx-64gb"}
    fit = client.get("/v1/sizing", query_string=query).json["fit"]
    stated = f"{fit['utilization_percent']}%"
    assert stated in markdown(client, section, "en", **query)
    assert stated in markdown(client, "faq", "en", **query)


def test_a_new_price_is_not_remarked_as_used(client):
    """The remark about used prices stands beside the price that is one."""
    query = {"model": "gpt-oss-120b", "gpu": "h100-80gb-sxm", "engine": "sglang", "lang": "en"}
    rows = client.get("/v1/fragments/recommendations", query_string=query).json["rows"]
    for row in rows:
        if row["purchase"] is not None:
            codes = [note["code"] for note in row["notes"]]
            assert ("street_price_used" in codes) == row["purchase"]["used"]


def test_a_memory_that_no_driver_reported_is_not_called_reported(client):
    estimated = markdown(client, "accelerator", "en", gpu="mac-studio-m3-ultra-512gb")
    reported = markdown(client, "accelerator", "en", gpu="rtx-4090")
    assert "which no published reading of its driver confirms" in estimated
    assert "as its driver reports it" in reported
