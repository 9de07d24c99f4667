"""Parsers of grouped-query and Gated DeltaNet families: their GGUF tensors, and configs they refuse."""

from contextlib import suppress
from copy import deepcopy
from math import prod

import pytest

from service.core.architecture.caches import KeyValueCache, Reach
from service.core.architecture.families import (
    cohere2,
    ernie45,
    gemma3,
    gemma4,
    glm4,
    gpt_oss,
    hunyuan,
    llama,
    llama4,
    minimax_m2,
    mistral,
    phi3,
    qwen2,
    qwen4_exp,
    qwen35,
    qwen_moe,
)
from service.core.architecture.model import LayerKind
from service.core.architecture.parse import parse
from service.core.architecture.summary import layer_groups
from service.core.architecture.tensors import Tensor, TensorClass
from service.errors import UnsupportedArchitecture
from tests.published import llamacpp_figures, models

FAMILIES = (
    cohere2, ernie45, gemma3, gemma4, glm4, gpt_oss, hunyuan, llama, llama4,
    minimax_m2, mistral, phi3, qwen2, qwen4_exp, qwen35, qwen_moe,
)  # fmt: skip
CLASSES = {name for family in FAMILIES for name in family.PARSERS}
OURS = [name for name, entry in models().items() if entry["config"]["architectures"][0] in CLASSES]
CONVERTED = [name for name in OURS if name in llamacpp_figures()]
ONE_OF_EACH = {models()[name]["config"]["architectures"][0]: name for name in OURS}

# llama.cpp's converter writes these as f32 whatever the output type (conversion/base.py).
SINGLE = ("_norm.weight", "ffn_gate_inp.weight", "ffn_gate_inp_shexp.weight", "ssm_conv1d.weight")


def gguf_bytes(tensor: Tensor, native_experts: bool) -> int:
    """Bytes in a BF16 conversion; MXFP4 experts (17 bytes for 32) are repacked as they are."""
    if native_experts and tensor.role.endswith("exps.weight"):
        return prod(tensor.shape) * 17 // 32
    single = len(tensor.shape) < 2 or tensor.role.endswith(SINGLE) or not tensor.role.endswith(".weight")
    return prod(tensor.shape) * (4 if single else 2)


@pytest.mark.parametrize("name", CONVERTED)
def test_gguf_elements_equal_llamacpps(name):
    """The text model, the draft layers and the converter's own tensors, each to the last element."""
    arch, figures = parse(models()[name]["config"]), llamacpp_figures()[name]
    text = [tensor for tensor in arch.text_tensors() if tensor.in_gguf]
    drafts = [tensor for layer in arch.mtp for tensor in layer.tensors if tensor.in_gguf]
    assert arch.gguf_architecture == figures["gguf_arch"]
    assert sum(tensor.parameters for tensor in text) == figures["gguf_parameters"]
    assert sum(tensor.parameters for tensor in drafts) == figures["mtp_parameters"]
    extra = sum(tensor.parameters for tensor in text if not tensor.in_checkpoint)
    assert extra == figures["converter_extra"]


@pytest.mark.parametrize("name", CONVERTED)
def test_gguf_roles_give_the_converted_size(name):
    """Names and dimensions decide which tensors stay f32, so the size of the file checks both."""
    arch = parse(models()[name]["config"])
    size = sum(
        gguf_bytes(tensor, arch.native.name == "mxfp4") for tensor in arch.text_tensors() if tensor.in_gguf
    )
    assert size == llamacpp_figures()[name]["unquantised_bytes"]


@pytest.mark.parametrize("name", sorted(ONE_OF_EACH.values()))
@pytest.mark.parametrize("wrong", [None, "x", -1, 0, 2.5, [], {}, True, [1, "x"]], ids=repr)
def test_damaged_configs_are_refused_or_understood(name, wrong):
    """No field, whatever stands in it, raises anything but UnsupportedArchitecture."""
    published = models()[name]["config"]
    for path in [(), ("text_config",), ("vision_config",), ("audio_config",)]:
        part = published[path[0]] if path and path[0] in published else None if path else published
        for field in part or ():
            damaged = deepcopy(published)
            (damaged[path[0]] if path else damaged)[field] = wrong
            with suppress(UnsupportedArchitecture):
                parse(damaged)


@pytest.mark.parametrize("field", ["hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size"])
def test_a_missing_field_is_named(field):
    """The error says which field the parser needs."""
    config = dict(models()["llama-3.1-8b-instruct"]["config"])
    del config[field]
    with pytest.raises(UnsupportedArchitecture) as refused:
        parse(config)
    assert refused.value.missing == (field,)


def test_an_endless_model_is_refused():
    """A posted config cannot make the parser build a million layers."""
    config = models()["llama-3.1-8b-instruct"]["config"] | {"num_hidden_layers": 10**6}
    with pytest.raises(UnsupportedArchitecture):
        parse(config)


def test_gemma3_has_five_sliding_layers_for_each_full_one():
    """62 layers: every sixth is full, 10 full and 52 sliding of 1024 tokens."""
    groups = {group.kind: group for group in layer_groups(parse(models()["gemma-3-27b-it"]["config"]))}
    assert groups[LayerKind.FULL].count == 10
    assert groups[LayerKind.SLIDING].count == 52
    sliding = groups[LayerKind.SLIDING].cache
    assert isinstance(sliding, KeyValueCache)
    assert (sliding.reach, sliding.window) == (Reach.SLIDING, 1024)


def test_llama4_chunks_three_of_four_layers():
    """36 of 48 layers see one chunk of 8192 tokens; Maverick has experts in every second layer."""
    layers = parse(models()["llama-4-maverick"]["config"]).layers
    assert sum(layer.kind is LayerKind.CHUNKED for layer in layers) == 36
    routed = [any(t.role == "ffn_gate_exps.weight" for t in layer.tensors) for layer in layers]
    assert routed == [False, True] * 24


def test_gemma4_layers_that_share_keep_unread_projections():
    """E4B: the last 18 of 42 layers own no cache, their stored K and V projections are not active."""
    layers = parse(models()["gemma-4-e4b-it"]["config"]).layers
    sharing = [layer for layer in layers if layer.kind is LayerKind.SHARED_KV]
    assert len(sharing) == 18
    assert layers[-18:] == tuple(sharing)
    idle = {t.role for layer in sharing for t in layer.tensors if not t.active}
    assert idle == {"attn_k.weight", "attn_v.weight", "attn_k_norm.weight"}


def test_gemma4_global_layers_store_no_value_projection():
    """31B: keys serve as values in the checkpoint, yet the cache keeps 4 heads of 512 twice."""
    layers = parse(models()["gemma-4-31b-it"]["config"]).layers
    full = next(layer for layer in layers if layer.kind is LayerKind.FULL)
    assert "attn_v.weight" not in {tensor.role for tensor in full.tensors}
    assert full.cache == KeyValueCache(4, 512, 512)


def test_native_formats():
    """gpt-oss keeps only experts in MXFP4, MiniMax M2.5 has FP8 blocks of 128, Llama is BF16."""
    gpt = parse(models()["gpt-oss-20b"]["config"]).native
    assert dict(gpt.encodings) == {TensorClass.ROUTED_EXPERTS: "mxfp4"}
    minimax = parse(models()["minimax-m2.5"]["config"]).native
    assert minimax.encodings[TensorClass.ATTENTION] == "fp8_block_128"
    assert TensorClass.ROUTER not in minimax.encodings
    assert TensorClass.OUTPUT not in minimax.encodings
    assert not parse(models()["llama-3.1-8b-instruct"]["config"]).native.encodings


def test_ngram_table_has_prime_heads():
    """Qwen4-exp: 16 heads from 20,000,000 rows on, padded to 128: 320,001,536 rows of 160."""
    arch = parse(models()["qwen3.8-flash-next-125b-a6b"]["config"])
    (table,) = [t for t in arch.outer if t.tensor_class is TensorClass.LOOKUP_TABLE]
    assert table.shape == (320_001_536, 160)
    assert not table.active
