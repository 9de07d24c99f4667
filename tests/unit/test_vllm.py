"""vLLM's plan: figures per sequence, and what changes with type, GPU and layout."""

from math import ceil

import pytest

from service.core.engines.vllm import ENGINE
from service.core.evidence import Evidence
from service.core.scenario import Layout
from tests.published import expectations
from tests.unit.factories import make_gpu
from tests.unit.vllm_questions import catalog, plan

GIB = 2**30
INDEX_BYTES_UNKNOWN = {"mistral-large-4"}  # which layers run the indexer is not published
STATE_DTYPE_UNPUBLISHED = {"qwen3.8-flash-next-125b-a6b"}  # the config names no mamba_ssm_dtype


@pytest.mark.parametrize("model", sorted(expectations()))
def test_bytes_of_a_token_and_of_the_state(model: str):
    """Main cache at 16 bit with index keys as vLLM stores them, and one state, as derived apart from us."""
    expected, ours = expectations()[model], plan(model, kv_cache_dtype="bf16")
    index = expected.get("indexer_bytes_per_token_by_engine", {}).get("vllm", 0)
    if model not in INDEX_BYTES_UNKNOWN:
        assert ours.kv_bytes_per_token == expected["kv_bytes_per_token_16bit"] + index
    by_engine = expected.get("state_bytes_per_sequence_by_engine", {})
    if model not in STATE_DTYPE_UNPUBLISHED:
        expected_state = by_engine.get("vllm", expected["state_bytes_per_sequence"])
        assert ours.state_bytes_per_sequence == expected_state


def test_kimi_k31_pro_on_one_h20():
    """24 latents of 1,152 B with 132 B of index; 69 KDA layers, conv bf16, recurrence f32; native weights."""
    ours = plan("kimi-k3.1-pro", "h20-141gb")
    assert ours.kv_bytes_per_token == 24 * (1152 + 132) == 30_816
    assert ours.state_bytes_per_sequence == 69 * (110_592 * 2 + 1_572_864 * 4) == 449_372_160
    assert ours.fullest.weights == 1_561_195_115_712
    assert ours.evidence["kv_cache"].evidence is Evidence.ESTIMATE


@pytest.mark.parametrize(
    ("model", "gpu", "dtype", "expected"),
    [
        ("deepseek-v3-0324-671b", "h200-141gb-sxm", "fp8", 61 * 576),
        ("deepseek-v3.2-685b", "h200-141gb-sxm", "bf16", 61 * (1152 + 132)),
        ("deepseek-v3.2-685b", "h200-141gb-sxm", "fp8", 61 * (656 + 132)),
        ("deepseek-v3.2-685b", "b200-180gb", "fp8", 61 * (576 + 132)),
        ("deepseek-v3.2-685b", "b200-180gb", "nvfp4", 61 * (352 + 132)),
        ("glm-5.3", "b200-180gb", "fp8", 78 * 576 + 21 * 132),
        ("llama-3.1-8b-instruct", "h200-141gb-sxm", "fp8", 65_536),
        ("deepseek-v4-flash", "h200-141gb-sxm", "fp8_ds_mla", 3850),
    ],
)
def test_bytes_of_a_token_by_type_and_gpu(model: str, gpu: str, dtype: str, expected: int):
    """Sparse MLA rows depend on the type and on the GPU generation; index keys stay 132 B."""
    assert plan(model, gpu, kv_cache_dtype=dtype).kv_bytes_per_token == expected


@pytest.mark.parametrize(
    ("model", "gpu", "dtype"),
    [
        ("deepseek-v3.2-685b", "h200-141gb-sxm", "bf16"),
        ("deepseek-v3.2-685b", "b200-180gb", "bf16"),
        ("deepseek-v3.2-685b", "rtx-pro-6000-blackwell", "fp8_ds_mla"),
        ("glm-5", "b200-180gb", "fp8"),
        ("glm-5", "h200-141gb-sxm", "bf16"),
        ("deepseek-v4-flash", "h200-141gb-sxm", "fp8_ds_mla"),
        ("deepseek-v4.1-flash-552b-a16b", "b200-180gb", "nvfp4_ds_mla"),
        ("qwen3-8b", "b200-180gb", "bf16"),
    ],
)
def test_auto_kv_type_follows_model_and_gpu(model: str, gpu: str, dtype: str):
    architecture = catalog().models[model].architecture
    assert ENGINE.defaults(architecture, catalog().gpus[gpu], 1, 8192).kv_cache_dtype == dtype


@pytest.mark.parametrize(
    ("gib", "name", "capability", "tokens"),
    [
        (180, "B200", 100, 16384),
        (80, "H100", 90, 8192),
        (80, "A100 80GB", 80, 2048),
        (128, "DGX Spark GB10", 121, 2048),
        (24, "RTX 4090", 89, 2048),
    ],
)
def test_batched_tokens_by_gpu(gib: int, name: str, capability: int, tokens: int):
    """get_batch_defaults of the API server: 160 GiB and 70 GiB are the steps, A100 and GB10 stay small."""
    gpu = make_gpu(memory_bytes=gib * GIB, name=name, compute_capability=capability)
    architecture = catalog().models["qwen3-8b"].architecture
    assert ENGINE.defaults(architecture, gpu, 1, 8192).max_batched_tokens == tokens


@pytest.mark.parametrize(
    ("model", "steady_mib", "admission_mib"),
    [
        ("gemma-4-31b-it", 3372, 16_172),
        ("gpt-oss-20b", 771, 1155),
        ("deepseek-v4-flash", 147, 6509),
        ("llama-4-scout", 2688, 4992),
        ("kimi-k3", 2278, 2278),
    ],
)
def test_one_sequence_is_admitted_and_the_others_decode(model: str, steady_mib: int, admission_mib: int):
    """At 32K tokens and 8,192 batched tokens: admission for the first, the steady holding for each other."""
    one, three = (plan(model, context_tokens=32_768, concurrent_sequences=n).fullest for n in (1, 3))
    assert one.kv_cache / 2**20 == pytest.approx(admission_mib, abs=0.5)
    assert (three.kv_cache - one.kv_cache) / 2 / 2**20 == pytest.approx(steady_mib, abs=0.5)


def state_pages(model: str, **changes: int) -> int:
    """Bytes of state that the plan says lie in the pool."""
    noted = [note for note in plan(model, **changes).warnings if note.code == "state_in_block_pool"]
    return int(str(noted[0].parameters["state_bytes"])) if noted else 0


def test_state_takes_whole_blocks_of_the_pool():
    """Kimi K3 with prefix caching: 3 groups of 3 blocks of state beside 2 blocks of 5,760 tokens."""
    memory = plan("kimi-k3").fullest
    block = 24 * 5760 * 1152
    assert memory.kv_cache == (9 + 2) * block
    assert memory.recurrent_state == 0
    assert state_pages("kimi-k3") == 9 * block
    assert state_pages("qwen3-8b") == 0


def test_a_latent_is_whole_on_every_rank_and_heads_are_divided():
    """DeepSeek V3 at TP8 holds 70,272 B a token on each rank; Llama's 8 heads leave an eighth."""
    tensor = Layout(tensor=8)
    assert plan("deepseek-v3-0324-671b", layout=tensor).fullest.kv_cache == 70_272 * 8192
    assert plan("llama-3.1-8b-instruct", layout=tensor).fullest.kv_cache == 131_072 * 8192 // 8


def test_decode_context_parallelism_divides_cached_tokens():
    ours = plan("kimi-k2-instruct", layout=Layout(tensor=8, decode_context=8), context_tokens=131_072)
    assert ours.fullest.kv_cache == 70_272 * 131_072 // 8


def test_pipeline_stages_keep_one_batch_more_in_flight():
    """Windows are admitted for stages + 1 batches: Gemma 3 at PP2 reserves 1,023 + 3 x 8,192 tokens."""
    ours = plan("gemma-3-27b-it", layout=Layout(pipeline=2), context_tokens=131_072)
    blocks = ceil((1023 + 3 * 8192) / 16) + 1
    full, window = 131_072 // 16, blocks
    # 31 layers a stage, every sixth full: 5 full and 26 sliding in 6 groups, 8,192 B a token and layer.
    expected = 5 * 16 * 8192 * (full + 6 * window)
    assert {rank.memory.kv_cache for rank in ours.ranks} == {expected}


def test_lookup_tables_stay_in_host_memory():
    """V4.1's Engram: 384,006,168 + 384,016,682 rows of 264 B are pinned on the host, as vLLM does."""
    ours = plan("deepseek-v4.1-flash-552b-a16b", layout=Layout(tensor=8))
    rows = 384_006_168 + 384_016_682
    assert ours.host_bytes == pytest.approx(rows * 264, rel=1e-6)
    assert plan("gemma-4-e4b-it").host_bytes == 0


def test_offloaded_weights_move_to_the_host():
    whole, half = plan("qwen3-8b"), plan("qwen3-8b", cpu_offload_percent=50.0)
    assert half.fullest.weights == whole.fullest.weights - whole.fullest.weights // 2
    assert half.host_bytes == whole.fullest.weights // 2


def test_absorbed_projections_are_buffers_not_weights():
    """Kimi K2 copies W_UK and W_UV of 61 layers to bf16: 61 x 64 x 512 x (128 + 128) x 2 B in all."""
    one, eight = (plan("kimi-k2-instruct", layout=Layout(tensor=t)).fullest for t in (1, 8))
    copies = 61 * 64 * 512 * 256 * 2
    assert one.compute_buffers - eight.compute_buffers == copies - copies // 8


def test_drafting_adds_layers_and_state_copies():
    """DeepSeek V3 with MTP caches 62 latents; GDN keeps a block of state more for each draft token."""
    assert plan("deepseek-v3-0324-671b", speculative_tokens=1).kv_bytes_per_token == 62 * 1152
    assert state_pages("qwen3.6-35b-a3b") == 3 * 3 * 10 * 1088 * 2048
    assert state_pages("qwen3.6-35b-a3b", speculative_tokens=2) == 3 * 5 * 11 * 1088 * 2048
