"""Parsers of latent, compressed, recurrent and indexed families: GGUF tensors, caches, what TP copies."""

import contextlib
from copy import deepcopy
from typing import Any

import pytest

from service.core.architecture.caches import (
    CompressedCache,
    IndexScheme,
    KeyValueCache,
    LatentCache,
    StateKind,
)
from service.core.architecture.families import (
    deepseek_v3,
    deepseek_v4,
    deepseek_v41,
    glm4_moe,
    glm5_next,
    glm_dsa,
    kimi_linear,
    lfm3,
    minimax_m3,
    mistral_large4,
    nemotron_h,
    step3,
    step5,
)
from service.core.architecture.model import Architecture, LayerKind
from service.core.architecture.parse import parse
from service.core.architecture.summary import total_parameters
from service.core.architecture.tensors import Dtype, Split, Tensor, TensorClass
from service.errors import UnsupportedArchitecture
from tests.published import llamacpp_figures, models

FAMILIES = (
    deepseek_v3, deepseek_v4, deepseek_v41, glm4_moe, glm5_next, glm_dsa, kimi_linear,
    lfm3, minimax_m3, mistral_large4, nemotron_h, step3, step5,
)  # fmt: skip
CLASSES = {name for family in FAMILIES for name in family.PARSERS}
OURS = [name for name, entry in models().items() if entry["config"]["architectures"][0] in CLASSES]
CONVERTED = [name for name in OURS if name in llamacpp_figures()]
ONE_OF_EACH = {models()[name]["config"]["architectures"][0]: name for name in OURS}


def config(name: str) -> dict[str, Any]:
    return deepcopy(models()[name]["config"])


def architecture(name: str) -> Architecture:
    return parse(models()[name]["config"])


def tensor(arch: Architecture, role: str) -> Tensor:
    return next(found for found in arch.text_tensors() if found.role == role)


def layers_with(arch: Architecture, kind: LayerKind) -> list[int]:
    return [index for index, layer in enumerate(arch.layers) if layer.kind is kind]


@pytest.mark.parametrize("name", CONVERTED)
def test_gguf_elements_equal_llamacpps(name):
    """The text model and the MTP layers that the converter writes, each to the last element."""
    arch, figures = architecture(name), llamacpp_figures()[name]
    text = [found for found in arch.text_tensors() if found.in_gguf]
    drafts = [found for layer in arch.mtp for found in layer.tensors if found.in_gguf]
    assert arch.gguf_architecture == figures["gguf_arch"]
    assert sum(found.parameters for found in text) == figures["gguf_parameters"]
    assert sum(found.parameters for found in drafts) == figures["mtp_parameters"]


def test_every_family_has_a_catalog_model():
    """The tests above see each family of these modules."""
    assert set(ONE_OF_EACH) >= CLASSES - {"KimiLinearForCausalLM"}


@pytest.mark.parametrize("name", sorted(ONE_OF_EACH.values()))
@pytest.mark.parametrize("wrong", [None, "x", -1, 0, 2.5, [], [1], {}, True, {"a": 1}], ids=repr)
def test_damaged_configs_are_refused_or_understood(name, wrong):
    """No field, whatever stands in it, raises anything but UnsupportedArchitecture."""
    published = models()[name]["config"]
    parts = [published, *(part for part in published.values() if isinstance(part, dict))]
    for number, part in enumerate(parts):
        for field in set(part) - {"architectures"}:
            damaged = config(name)
            again = [damaged, *(found for found in damaged.values() if isinstance(found, dict))]
            again[number][field] = wrong
            with contextlib.suppress(UnsupportedArchitecture):
                parse(damaged)


def test_kimi_linear_counts_as_published():
    """Kimi-Linear-48B-A3B holds 49,122,681,728 parameters (Hub count in llmfit 1.1.17)."""
    published = {
        "architectures": ["KimiLinearForCausalLM"], "model_type": "kimi_linear", "hidden_size": 2304,
        "num_hidden_layers": 27, "num_attention_heads": 32, "num_key_value_heads": 32,
        "intermediate_size": 9216, "moe_intermediate_size": 1024, "num_experts": 256,
        "num_experts_per_token": 8, "num_shared_experts": 1, "first_k_dense_replace": 1,
        "vocab_size": 163840, "kv_lora_rank": 512, "q_lora_rank": None, "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64, "v_head_dim": 128, "model_max_length": 1048576,
        "linear_attn_config": {
            "full_attn_layers": [4, 8, 12, 16, 20, 24, 27], "head_dim": 128, "num_heads": 32,
            "short_conv_kernel_size": 4,
        },
    }  # fmt: skip
    arch = parse(published)
    assert total_parameters(arch) == 49_122_681_728
    assert layers_with(arch, LayerKind.LATENT) == [3, 7, 11, 15, 19, 23, 26]


def test_kimi_k3_lists_its_layers_from_one():
    """Layers 4, 8, ..., 92 and 93 of 93 are MLA: 24 latents, 69 states."""
    arch = architecture("kimi-k3")
    assert layers_with(arch, LayerKind.LATENT) == [*range(3, 92, 4), 92]
    assert arch.layers[3].cache == LatentCache(512, 64)
    states = [state for layer in arch.layers for state in layer.states]
    assert len(states) == 69
    assert {(state.kind, state.recurrent_elements) for state in states} == {
        (StateKind.KIMI_DELTA, 96 * 128 * 128)
    }


def test_only_routed_experts_of_kimi_k3_are_four_bit():
    """The ignore list of its config names everything else."""
    assert dict(architecture("kimi-k3").native.encodings) == {TensorClass.ROUTED_EXPERTS: "mxfp4"}


def test_deepseek_v4_mixes_four_bit_experts_with_fp8():
    """`expert_dtype` fp4 under an fp8 method; hyper-connections stay f32."""
    arch = architecture("deepseek-v4-flash")
    assert arch.native.encodings[TensorClass.ROUTED_EXPERTS] == "mxfp4"
    assert arch.native.encodings[TensorClass.ATTENTION] == "fp8_block_128"
    assert tensor(arch, "hc_attn_fn.weight").dtype is Dtype.F32


@pytest.mark.parametrize(("name", "owners"), [("glm-5", 78), ("glm-5.3", 21), ("deepseek-v3.2-685b", 61)])
def test_index_keys_only_where_an_indexer_runs(name, owners):
    """GLM-5.3 runs it on the first three layers, then on every fourth; the others reuse its choice."""
    arch = architecture(name)
    indexed = [layer for layer in arch.layers if layer.index is not None]
    assert len(indexed) == owners
    assert {layer.index.scheme for layer in indexed if layer.index} == {IndexScheme.DSA}
    assert all(isinstance(layer.cache, LatentCache) for layer in arch.layers)


def test_glm_5_3_flash_has_a_latent_without_rotation():
    """NoPE: 512 latent, no rotated key, index keys pooled by four on the same 11 layers of 45."""
    arch = architecture("glm-5.3-flash")
    latents = [layer for layer in arch.layers if layer.cache is not None]
    assert {layer.cache for layer in latents} == {LatentCache(512, 0)}
    assert len(latents) == 11
    assert {layer.index.tokens_per_key for layer in latents if layer.index} == {4}


def test_mistral_large_4_shares_one_latent_late():
    """63 layers own a latent, 9 of them without rotation; 39, 43, ..., 71 read layer 35's."""
    arch = architecture("mistral-large-4")
    assert layers_with(arch, LayerKind.SHARED_KV) == list(range(39, 72, 4))
    caches = [layer.cache for layer in arch.layers if layer.cache is not None]
    assert caches.count(LatentCache(512, 64)) == 54
    assert caches.count(LatentCache(512, 0)) == 9


def test_deepseek_v4_1_compresses_at_four_layers():
    """Layers 2, 8, 14 (one entry for two tokens) and 20 (one a token) own entries, 36 others read them."""
    caches = [layer.cache for layer in architecture("deepseek-v4.1-flash-552b-a16b").layers]
    own = {
        index: cache.ratio
        for index, cache in enumerate(caches)
        if isinstance(cache, CompressedCache) and cache.owner and cache.ratio
    }
    assert own == {2: 2, 8: 2, 14: 2, 20: 1}


def test_step_slides_with_more_query_heads():
    """96 query heads in sliding layers, 64 in full ones, 8 KV heads of 128 in both."""
    arch = architecture("step-3.5-flash")
    full, sliding = (arch.layers[index] for index in (0, 1))
    assert isinstance(sliding.cache, KeyValueCache)
    assert (sliding.cache.heads, sliding.cache.window) == (8, 512)
    rows = [
        next(found.shape[0] for found in layer.tensors if found.role == "attn_q.weight")
        for layer in (full, sliding)
    ]
    assert rows == [64 * 128, 96 * 128]


def test_step_5_keeps_one_summary_key_for_eight_tokens():
    """On its 23 full layers."""
    arch = architecture("step-5-preview")
    found = [layer.index for layer in arch.layers if layer.index is not None]
    assert len(found) == 23
    assert {(i.scheme, i.key_dim, i.tokens_per_key) for i in found} == {(IndexScheme.SUMMARY, 256, 8)}


@pytest.mark.parametrize(
    ("name", "role", "split"),
    [
        ("deepseek-v3.2-685b", "attn_q_a.weight", Split.REPLICATED),
        ("deepseek-v3.2-685b", "attn_kv_a_mqa.weight", Split.REPLICATED),
        ("deepseek-v3.2-685b", "attn_q_b.weight", Split.SHARDED),
        ("deepseek-v3.2-685b", "attn_k_b.weight", Split.SHARDED),
        ("deepseek-v3.2-685b", "indexer.attn_q_b.weight", Split.REPLICATED),
        ("deepseek-v3.2-685b", "ffn_gate_exps.weight", Split.EXPERTS),
        ("kimi-k3", "ffn_routed_down.weight", Split.REPLICATED),
        ("kimi-k3", "ssm_g.weight", Split.SHARDED),
        ("nemotron-3-ultra-550b-a55b", "ffn_latent_up.weight", Split.REPLICATED),
        ("nemotron-3-ultra-550b-a55b", "ssm_in.weight", Split.SHARDED),
    ],
)
def test_what_tensor_parallelism_copies(name, role, split):
    """Down projections, indexers and latent projections stand on every rank; the rest is divided."""
    assert tensor(architecture(name), role).split is split


def test_nemotron_reads_both_spellings_of_its_pattern():
    """layers_block_type and the letters of hybrid_override_pattern describe the same layers."""
    letters = config("nemotron-3-super-120b-a12b")
    names = {"M": "mamba", "E": "moe", "*": "attention", "-": "mlp"}
    words = letters | {"layers_block_type": [names[x] for x in letters["hybrid_override_pattern"]]}
    del words["hybrid_override_pattern"]
    assert parse(words) == parse(letters)
