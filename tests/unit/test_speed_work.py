"""Bytes that a decode step reads, against published derivations and arithmetic written out here."""

import pytest

from service.core.speed.cache_reads import cache_reads, element_bytes
from service.core.speed.classes import generation, grain, interval_class, runtime
from service.core.speed.work import work
from service.core.weights.formats import Family
from service.core.weights.weigh import weigh
from tests.contract.fragment_cases import facts


def test_all_experts_are_touched_in_the_end_and_k_of_them_by_one_token():
    """Qwen3-30B-A3B, 8 of 128 experts: two tokens touch 128 (1 - (1 - 1/16)**2) = 15.5 of them."""
    model = facts().models["qwen3-30b-a3b-instruct-2507"]
    done = work(weigh(model, "bf16"), model.architecture)
    assert done.expert_share(1) == pytest.approx(8 / 128)
    assert done.expert_share(2) == pytest.approx(15.5 / 128)
    assert done.expert_share(1000) == pytest.approx(1)


def test_a_dense_model_reads_everything_but_its_input_embedding():
    """Llama 3.1 8B in 16 bit: 8,030,261,248 parameters less 128,256 x 4,096 of the embedding."""
    model = facts().models["llama-3.1-8b-instruct"]
    done = work(weigh(model, "bf16"), model.architecture)
    expected = 2 * (8_030_261_248 - 128_256 * 4_096)
    assert done.bytes_read(1) == pytest.approx(expected, rel=0.001)
    assert done.bytes_read(64) == done.bytes_read(1)
    assert done.layers == 32


def test_a_tied_embedding_is_read_as_output():
    """Qwen3 0.6B ties its embedding of 151,936 x 1,024: once in the file, read whole in every step."""
    model = facts().models["qwen3-0.6b"]
    done = work(weigh(model, "bf16"), model.architecture)
    assert done.weights.fixed_parameters == pytest.approx(model.parameters_total, rel=0.001)


def test_lookup_tables_are_not_read_whole():
    """Gemma 4 E2B reads one row of its per-layer tables (262,144 x 35 x 256 elements) for a token."""
    model = facts().models["gemma-4-e2b-it"]
    done = work(weigh(model, "bf16", family=Family.GGUF), model.architecture)
    assert done.weights.fixed_parameters < model.parameters_total - 262_144 * 35 * 256


@pytest.mark.parametrize(
    ("model", "tokens", "dtype", "expected"),
    [
        # 32 layers x 8 heads x (128 + 128) x 2 B
        ("llama-3.1-8b-instruct", 1_000, "bf16", 131_072 * 1_000),
        # fp8 halves it
        ("llama-3.1-8b-instruct", 1_000, "fp8", 65_536 * 1_000),
        # 61 layers x 576 x 2 B of latents
        ("deepseek-v3-0324-671b", 1_000, "bf16", 61 * 576 * 2 * 1_000),
        # gpt-oss-20b: 12 full and 12 sliding layers (128 tokens) of 8 heads x 128 elements x 2 B
        ("gpt-oss-20b", 8_192, "bf16", 12 * 2_048 * (8_192 + 128)),
    ],
)
def test_cache_bytes_that_a_step_reads(model, tokens, dtype, expected):
    """Full layers read every row, sliding ones their window."""
    assert cache_reads(facts().models[model].architecture, tokens, dtype, dtype).on_rank(1) == expected


def test_a_sparse_layer_reads_the_chosen_rows_and_every_index_key():
    """DeepSeek V3.2 at 32k in 16 bit: 61 x (2,048 x 576 + 32,768 x 128) x 2 B."""
    architecture = facts().models["deepseek-v3.2-685b"].architecture
    expected = 61 * (2_048 * 576 + 32_768 * 128) * 2
    assert cache_reads(architecture, 32_768, "bf16", "bf16").on_rank(1) == expected


def test_heads_are_divided_and_latents_are_not():
    """8 KV heads over 16 ranks are 8 parts; a latent is read whole by every rank."""
    dense, latent = facts().models["llama-3.1-8b-instruct"], facts().models["deepseek-v3-0324-671b"]
    reads = cache_reads(dense.architecture, 1_000, "bf16", "bf16")
    assert reads.on_rank(16) == reads.on_rank(1) / 8
    reads = cache_reads(latent.architecture, 1_000, "bf16", "bf16")
    assert reads.on_rank(8) == reads.on_rank(1)


def test_state_is_read_and_written():
    """Qwen3.5-35B-A3B: 30 GDN layers of 32 x 128 x 128 f32 and 3 x 8,192 values of 16 bit, twice."""
    architecture = facts().models["qwen3.5-35b-a3b"].architecture
    expected = 2 * 30 * (32 * 128 * 128 * 4 + 3 * (2 * 16 * 128 + 32 * 128) * 2)
    assert cache_reads(architecture, 0, "bf16", "bf16").state == expected


def test_block_types_count_their_scales():
    """q8_0 stores 32 values in 34 bytes, q4_0 in 18."""
    assert (element_bytes("q8_0"), element_bytes("q4_0")) == (34 / 32, 18 / 32)
    assert (element_bytes("fp16"), element_bytes("fp8_e4m3")) == (2, 1)


@pytest.mark.parametrize(
    ("gpu", "expected"),
    [
        ("rtx-4090", "ada"),
        ("rtx-3090", "ampere"),
        ("a100-80gb-sxm", "ampere_hbm"),
        ("h100-80gb-sxm", "hopper"),
        ("b200-180gb", "blackwell_hbm"),
        ("rtx-5090", "blackwell"),
        ("ryzen-ai-max-395-128gb", "rdna35"),
        ("rx-7900-xtx-24gb", "rdna3"),
        ("radeon-ai-pro-r9700-32gb", "rdna4"),
        ("instinct-mi300x-192gb", "cdna"),
        ("mac-mini-m4-pro-64gb", "apple"),
        ("ascend-910b-64gb", "other"),
    ],
)
def test_generations_follow_from_facts_of_the_accelerator(gpu, expected):
    assert generation(facts().gpus[gpu]) == expected


def test_wrappers_run_the_same_program():
    """Ollama and LM Studio compute with llama.cpp; the serving engines share one class."""
    assert runtime("ollama", "cuda") == runtime("llama.cpp", "cuda") == "llama.cpp cuda"
    assert {interval_class(runtime(name, "cuda")) for name in ("vllm", "sglang", "tensorrt-llm")} == {
        "serving"
    }


@pytest.mark.parametrize(
    ("quantization", "expected"),
    [
        ("q4_k_m", "four"),
        ("ud-q8_k_xl", "wide"),
        ("mlx-6bit", "wide"),
        ("mlx-4bit", "four"),
        ("bf16", "half"),
        ("ud-iq2_xxs", "codebook"),
        ("mxfp4_moe", "four"),
    ],
)
def test_grains_of_formats(quantization, expected):
    assert grain(quantization) == expected
