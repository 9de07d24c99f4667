"""The sections about a model alone: facts, architecture, contexts, card sizes, formats, tips."""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any
from xml.etree import ElementTree

import pytest
from flask.testing import FlaskClient

from service.core.catalogued import Model
from service.i18n import LANGUAGES, Voice
from service.render.fragments import render, render_with
from tests.contract.fragment_cases import facts
from tests.contract.test_fragments import Pseudo, dates, numbers, strings, texts, without
from tests.published import expectations, llamacpp_figures
from tests.unit.factories import GIB, MIB, make_architecture, make_model

KIMI, LLAMA = "kimi-k3.1-pro", "llama-3.1-8b-instruct"
UNUSUAL = (
    "deepseek-v4-flash", "deepseek-v4.1-flash-552b-a16b", "gemma-4-e4b-it", "gpt-oss-120b", "lfm3-1.7b",
    "nemotron-3-super-120b-a12b", "phi-4-14b", "qwen3.8-flash-next-125b-a6b", "step-5-preview",
)  # fmt: skip
SECTIONS = ("about", "architecture", "context", "memory-tiers", "quantizations", "tips")
CONTEXT_BYTES = 457 * MIB  # process context of llama.cpp on CUDA
POSTED = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 2048,
    "num_hidden_layers": 16,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 8192,
    "vocab_size": 32000,
    "max_position_embeddings": 4096,
    "tie_word_embeddings": False,
}


@cache
def answer(model: str, section: str, language: str = "en") -> dict[str, Any]:
    return of_model(facts().models[model], section, language)


def of_model(model: Model, section: str, language: str = "en") -> dict[str, Any]:
    return dict(json.loads(render(section, None, facts(), language, "application/json", model)))


def rows(model: str, section: str, name: str) -> dict[Any, dict[str, Any]]:
    return {row[name]: row for row in answer(model, section)["rows"]}


@pytest.mark.parametrize("model", [KIMI, LLAMA, *UNUSUAL])
def test_every_section_speaks_every_language(model: str):
    """Each representation in each language, of usual and unusual architectures."""
    for section in SECTIONS:
        for language in LANGUAGES if section != "quantizations" else ("de",):
            for media_type in ("text/html", "text/markdown"):
                written = render(section, None, facts(), language, media_type, facts().models[model]).decode()
                assert written.startswith(("<section", "## "))
        assert answer(model, section)["available"] is True


def test_the_tiers_are_those_of_graphics_cards():
    """4 to 512 GiB; 90 % of 24 * 2**30 bytes is counted on, so GB and GiB never meet."""
    found = rows(LLAMA, "memory-tiers", "tier_gib")
    assert [*found] == [4, 6, 8, 10, 11, 12, 16, 20, 22, 24, 32, 48, 64, 96, 128, 256, 512]
    assert answer(LLAMA, "memory-tiers")["watermark_percent"] == 90
    assert found[24]["memory"]["bytes"] == 24 * 2**30
    assert found[24]["usable"]["bytes"] == 24 * 2**30 * 90 // 100


def test_no_card_holds_kimi_k31_pro():
    """2.9 bits a parameter are 940 GiB; the largest tier counts on 461."""
    found = answer(KIMI, "memory-tiers")
    assert all(
        row["quantization"] is row["total"] is row["max_context_tokens"] is None for row in found["rows"]
    )
    totals = {entry["quantization"]: entry["total"]["gib"] for entry in found["formats"]}
    for name, weights in {"q8_0": 2752.0, "q6_k": 2125.3, "q4_k_m": 1566.2, "q2_k": 939.6}.items():
        # cache, state, buffers and context add less than 2 GiB; the token embedding is not on the GPU
        assert weights - 1 < totals[name] < weights + 2.5
    assert any("None of these cards holds the model" in sentence for sentence in found["sentences"])


def test_a_tier_takes_the_best_format_that_fits():
    """What is better than the chosen one is too large, and the largest context is the last that fits."""
    for model in (LLAMA, "gpt-oss-120b", "gemma-4-e4b-it", "phi-4-14b"):
        found = answer(model, "memory-tiers")
        order = [entry["quantization"] for entry in found["formats"]]
        total = {entry["quantization"]: entry["total"]["bytes"] for entry in found["formats"]}
        for row in found["rows"]:
            usable, best = row["usable"]["bytes"], row["quantization"]
            better = order if best is None else order[: order.index(best)]
            assert all(total[name] > usable for name in better)
            assert best is None or total[best] == row["total"]["bytes"] <= usable
            assert best is None or found["context_tokens"] <= row["max_context_tokens"]
            assert row["limited_by_model"] is (row["max_context_tokens"] == found["native_context_tokens"])


@pytest.mark.parametrize("tier", [8, 24, 32])
def test_a_tier_is_what_a_card_of_this_size_is_sized_for(client: FlaskClient, tier: int):
    """A server's card offers its memory less 1 GiB to llama.cpp; one with 1 GiB more is the same question."""
    row = rows(LLAMA, "memory-tiers", "tier_gib")[tier]
    card = {"name": "Card", "memory_gib": tier * 0.9 + 1, "memory_bandwidth_gbs": 500, "fp16_tflops": 50}
    asked = {"model": LLAMA, "gpu_spec": card, "engine": "llama.cpp", "quantization": row["quantization"]}
    sized = client.post("/v1/sizing", json=asked).json
    assert sized["fit"]["usable"]["bytes"] == pytest.approx(row["usable"]["bytes"], abs=1)
    assert sized["per_gpu"]["total"] == row["total"]
    assert sized["memory"]["host"] == row["host"]
    assert sized["limits"]["max_context_tokens"] == row["max_context_tokens"]


def test_the_published_weights_lead_where_gguf_holds_them():
    """gpt-oss is published in MXFP4, which llama.cpp repacks; 60.8 GiB are less than its q8_0."""
    assert answer("gpt-oss-120b", "memory-tiers")["formats"][0]["quantization"] == "native"
    assert rows("gpt-oss-120b", "memory-tiers", "tier_gib")[96]["quantization"] == "native"
    assert answer(LLAMA, "memory-tiers")["formats"][0]["quantization"] == "q8_0"


def test_contexts_add_the_bytes_of_their_tokens():
    """33,792 B a token and 443.1 MiB of state for Kimi K3.1 Pro: 0.13, 0.26, 1.03 and 4.12 GiB."""
    found = rows(KIMI, "context", "context_tokens")
    assert [*found] == [4096, 8192, 16384, 32768, 65536, 131072]
    for context, row in found.items():
        assert row["kv_cache"]["bytes"] == 33_792 * context
        assert row["recurrent_state"]["bytes"] == 464_633_856
        assert row["verdict"] == "does_not_fit"
        assert row["smallest_tier"] is None
    assert [found[c]["kv_cache"]["gib"] for c in (4096, 8192, 32768, 131072)] == [0.13, 0.26, 1.03, 4.12]


def test_totals_are_those_of_llama_cpp():
    """Llama 3.1 8B in Q4_K_M: the file without its token embedding, cache, buffers as printed, context."""
    figures = llamacpp_figures()[LLAMA]
    runs = [run for run in figures["runs"] if run["np"] == 1 and run["type_k"] == "f16" == run["type_v"]]
    embedding = 128_256 * 4096 // 256 * 144  # Q4_K: 144 bytes for 256 values
    found = rows(LLAMA, "context", "context_tokens")
    compared = 0
    for run in runs:
        if run["ub"] != 512 or run["n_out"] != 1 or run["swa_full"] or not run["flash_attention"]:
            continue
        memory = figures["sizes_bytes"]["q4_k_m"] - embedding + run["kv_bytes"] + CONTEXT_BYTES
        assert found[run["ctx"]]["total"]["bytes"] == pytest.approx(memory + run["compute_bytes"], rel=1e-5)
        compared += 1
    assert compared == 3


def test_the_watermark_of_a_16_gib_card():
    """14.4 of 16 GiB: Llama 3.1 8B in Q4_K_M fits up to 64K, 128K takes the 24 GiB card."""
    found = answer(LLAMA, "context")
    assert found["watermark"]["gib"] == 14.4
    verdicts = {row["context_tokens"]: row["verdict"] for row in found["rows"]}
    assert [verdicts[2**power] for power in (12, 16, 17)] == ["fits", "fits", "does_not_fit"]
    assert rows(LLAMA, "context", "context_tokens")[2**17]["smallest_tier"]["gib"] == 24


def test_contexts_end_where_the_model_ends():
    """Phi-4 is made for 16K; a model for fewer than 4K tokens has one row."""
    assert [*rows("phi-4-14b", "context", "context_tokens")] == [4096, 8192, 16384]
    short = make_model(architecture=make_architecture(max_context_tokens=2048))
    assert [row["context_tokens"] for row in of_model(short, "context")["rows"]] == [2048]
    assert of_model(short, "memory-tiers")["context_tokens"] == 2048
    assert "shorter_context" not in {tip["code"] for tip in of_model(short, "tips")["tips"]}


@pytest.mark.parametrize("model", [LLAMA, "gpt-oss-120b", "qwen3.8-27b"])
def test_sizes_of_formats_are_those_of_llama_quantize(model: str):
    """Every format that llama-quantize was run for, to the byte."""
    found = rows(model, "quantizations", "quantization")
    sizes = llamacpp_figures()[model]["sizes_bytes"]
    assert {name: found[name]["weights"]["bytes"] for name in sizes} == sizes
    assert len(found) > 40


def test_formats_of_other_engines_have_no_total_without_a_gpu():
    """Their buffers depend on the accelerator; an engine that does not run the model is not asked first."""
    for model in (LLAMA, KIMI):
        for row in answer(model, "quantizations")["rows"]:
            assert (row["total"] is not None) is (row["engine"] == "llama.cpp")
    assert rows(KIMI, "quantizations", "quantization")["native"]["engine"] == "vllm"  # SGLang does not run it
    assert rows(KIMI, "quantizations", "quantization")["mlx-4bit"]["support"] == "no"


def test_tips_say_what_they_save():
    """Q8_0 keeps 34 bytes for 32 values: 17/32 of f16. Each slot has its own state, a parameter two bytes."""
    tips = {tip["code"]: tip for tip in answer(KIMI, "tips")["tips"]}
    assert tips["one_slot"]["saved"]["bytes"] == 3 * 464_633_856
    assert tips["no_projector"]["saved"]["bytes"] == 2 * answer(KIMI, "about")["vision_parameters"]
    assert tips["experts_in_ram"]["saved"]["gib"] == pytest.approx(1525, abs=3)
    assert tips["published_weights"]["saved"]["gib"] == pytest.approx(1566.2 - 1453.1, abs=0.3)
    assert tips["published_weights"]["engine"] == "vllm"
    tips = {tip["code"]: tip for tip in answer(LLAMA, "tips")["tips"]}
    saved = tips["cache_type"]["saved"]["bytes"]
    assert saved == pytest.approx(131_072 * 32_768 * 15 / 32, rel=1e-6)
    sizes = llamacpp_figures()[LLAMA]["sizes_bytes"]
    embedding = 128_256 * 4096
    on_gpu = sizes["q8_0"] - embedding * 34 // 32 - (sizes["q4_k_m"] - embedding * 144 // 256)
    assert tips["smaller_format"]["saved"]["bytes"] == on_gpu


def test_a_tip_that_saves_nothing_is_not_given():
    """A dense text model in 16 bit has no experts to move, no projector, no state, no smaller original."""
    tips = answer(LLAMA, "tips")["tips"]
    assert {tip["code"] for tip in tips} == {"smaller_format", "shorter_context", "cache_type"}
    for model in (KIMI, *UNUSUAL):
        found = answer(model, "tips")["tips"]
        saved = [tip["saved"]["bytes"] for tip in found]
        assert all(tip["saved"]["gib"] > 0 for tip in found)
        assert saved == sorted(saved, reverse=True)


@pytest.mark.parametrize("model", sorted(expectations()))
def test_the_architecture_keeps_what_was_derived_apart(model: str):
    """Cache, index, window and state of all 80 models at 16 bit; groups and parts sum to the whole."""
    expected, found = expectations()[model], answer(model, "architecture")
    totals = found["totals"]
    assert totals["state_bytes_per_sequence"] == expected["state_bytes_per_sequence"]
    assert totals["window_bytes_per_sequence"] == expected["window_bytes_per_sequence_16bit"]
    for name in ("kv", "indexer"):
        key = "index_bytes_per_token" if name == "indexer" else "kv_bytes_per_token"
        # A group's bytes are whole, several of them lose up to one byte each.
        assert 0 <= expected[f"{name}_bytes_per_token_16bit"] - totals[key] < len(found["layer_groups"])
    assert sum(group["count"] for group in found["layer_groups"]) == found["layers"]
    assert sum(part["share"] for part in found["parameters"]) == pytest.approx(1, abs=0.001)


@pytest.mark.parametrize("model", sorted(expectations()))
def test_the_formula_of_a_group_gives_its_bytes(model: str):
    """What the derivation column shows is the arithmetic of the figure beside it."""
    for group in answer(model, "architecture")["layer_groups"]:
        for name in ("kv", "index"):
            formula = group[f"{name}_formula"]
            if formula is not None:
                value = eval(formula.replace("×", "*"), {"__builtins__": {}})
                assert int(value) == group[f"{name}_bytes_per_token"]


def test_the_derivation_of_kimi_k31_pro():
    """24 latents of 512 + 64 and index keys of 128; the usual formula would give 71,424."""
    found = answer(KIMI, "architecture")
    kept = next(group for group in found["layer_groups"] if group["kind"] == "latent_attention_indexed")
    assert kept["kv_formula"] == "24 × (512 + 64) × 2"
    assert kept["index_formula"] == "24 × 128 × 2"
    assert found["totals"]["bytes_per_token"] == 33_792
    assert found["totals"]["layers_with_state"] == 69
    assert found["usual_formula_bytes_per_token"] == 2 * 93 * 1 * 192 * 2  # one latent head of 128 + 64


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_remark_is_quoted_and_never_the_text(language: str):
    """Notes of the catalog are English: the paragraph is built from facts, the remark has its language."""
    for model in (KIMI, LLAMA):
        found = answer(model, "about", language)
        remark = facts().models[model].notes
        assert remark == found["remark"]
        assert not any(remark in sentence for sentence in found["sentences"])
        html = render("about", None, facts(), language, "text/html", facts().models[model]).decode()
        quoted = ElementTree.fromstring(html).find("blockquote")
        assert quoted is not None
        assert (quoted.get("lang"), quoted.text) == ("en", remark)


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("de", "von denen pro Token 105,54\u00a0Mrd. aktiv sind"),
        ("zh", "其中 92 层由路由器为每个 token 从 896 个路由专家中选出 16 个。"),
        ("en", "In 92 of them a router chooses 16 of 896 routed experts for each token."),
    ],
)
def test_the_facts_are_said_in_the_language(language: str, expected: str):
    assert any(expected in sentence for sentence in answer(KIMI, "about", language)["sentences"])


def test_what_is_not_known_is_said():
    """A license or date that no one stated, and engines that no one tried."""
    found = answer("lfm3-1.7b", "about")
    stated = facts().models["lfm3-1.7b"]
    missing = {name for name in ("license", "released") if getattr(stated, name) is None}
    assert missing
    assert missing <= {*found["unknown"]}
    unknown = of_model(make_model(), "about")
    assert unknown["unknown"] == ["released", "license", "support"]
    assert "Its license is not known." in unknown["sentences"]
    assert unknown["remark"] is None


def test_a_model_that_its_engine_does_not_run_says_so():
    """llama.cpp has no code for Step-5; its figures follow llama.cpp's rules all the same."""
    for section in ("memory-tiers", "context", "quantizations", "tips"):
        found = answer("step-5-preview", section)
        assert found["supported"] == facts().models["step-5-preview"].support["llama.cpp"].status
        assert found["supported"] != "yes"
        assert any("llama.cpp" in sentence and "rules" in sentence for sentence in found["sentences"])


@pytest.mark.parametrize("section", SECTIONS)
def test_a_described_model_has_its_sections(client: FlaskClient, section: str):
    """A posted config.json is a question about a model alone too."""
    posted = client.post(f"/v1/fragments/{section}", json={"model_config": POSTED, "model_name": "Mine"})
    assert posted.status_code == 200, posted.text
    assert posted.json["available"] is True
    assert posted.json["model"]["name"] == "Mine"
    if section == "about":
        assert posted.json["publisher"] is None
        assert posted.json["sentences"][0] == "Mine is a model that the caller described."


def test_a_gpu_does_not_change_what_is_said_of_the_model(client: FlaskClient):
    """`about`, `architecture`, `memory-tiers` and `tips` are about the model, whatever the accelerator."""
    for section in ("about", "architecture", "memory-tiers", "tips"):
        alone = client.get(f"/v1/fragments/{section}", query_string={"model": LLAMA})
        on_gpu = client.get(f"/v1/fragments/{section}", query_string={"model": LLAMA, "gpu": "rtx-4090"})
        assert alone.json == on_gpu.json


def written() -> Iterator[tuple[str, str]]:
    for model in (KIMI, LLAMA, "gemma-4-e4b-it", "step-5-preview"):
        for section in SECTIONS:
            yield model, section


@pytest.mark.parametrize(("model", "section"), list(written()))
def test_every_number_is_in_the_json(model: str, section: str):
    """Bytes shown as GiB, counts in short words: the same numbers, rounded for print."""
    found = answer(model, section)
    known = {*numbers(found)}
    names = {text for text in strings(found) if any(c.isdigit() for c in text) and not text.isdigit()}
    names |= dates(found)
    scales = (1, 100, 1 / GIB, 1 / 1024, 1 / 2**20, 1e-9, 1e-12, 0.01)
    html = render(section, None, facts(), "en", "text/html", facts().models[model]).decode()
    for text in texts(html):
        for shown in _figures(without(text, names)):
            digits = len(shown.partition(".")[2])
            value = float(shown.replace(",", ""))
            assert any(abs(value - round(n * scale, digits)) < 1e-9 for n in known for scale in scales), text


def _figures(text: str) -> list[str]:
    words = (word.strip(".,:;()%") for word in text.replace("\u00a0", " ").split())
    return [word for word in words if word and word.replace(",", "").replace(".", "", 1).isdigit()]


@pytest.mark.parametrize(("model", "section"), list(written()))
def test_nothing_is_said_without_a_translation(model: str, section: str):
    """In a made-up language, all that stands outside its brackets is data, numbers and unit symbols."""
    voice = Voice(LANGUAGES["en"], Pseudo())
    subject = facts().models[model]
    found = json.loads(render_with(voice, section, None, facts(), "application/json", subject))
    known = set(strings(found)) | dates(found)
    known |= {name.upper() for name in known}  # weight formats in a sentence
    html = render_with(voice, section, None, facts(), "text/html", subject).decode()
    for piece in texts(html):
        outside = without(piece, {name for name in known if "⟦" not in name and len(name) > 2})
        while "⟦" in outside:
            start = outside.rindex("⟦")
            outside = outside[:start] + " " + outside[outside.index("⟧", start) + 1 :]
        words = {word for word in outside.split() if word.isalpha() and len(word) > 1}
        assert words <= {"GiB"}, piece
