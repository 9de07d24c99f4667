"""Architectures without a parser: what the usual fields give, and what is said of the rest."""

from typing import Any

import pytest

from service.core.architecture.caches import KeyValueCache, LatentCache, Reach
from service.core.architecture.config import Config
from service.core.architecture.generic import parse_generic
from service.core.architecture.parse import known_classes, parse, parse_any
from service.core.architecture.summary import (
    kv_bytes_per_token_16bit,
    text_parameter_table,
    total_parameters,
    window_bytes_per_sequence_16bit,
)
from service.core.posted import build_architecture
from service.core.weights.weigh import weigh_architecture
from service.errors import UnsupportedArchitecture
from tests.published import models

CACHE, LARGE, SMALL, EITHER = (
    f"config_fields_read_{way}" for way in ("cache_too_large", "too_large", "too_small", "either_way")
)
PLAIN: dict[str, Any] = {
    "architectures": ["SomethingNewForCausalLM"],
    "model_type": "something_new",
    "hidden_size": 64,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "intermediate_size": 160,
    "vocab_size": 1000,
    "max_position_embeddings": 4096,
    "tie_word_embeddings": False,
}
# Attention 2 x 64 x 64 + 2 x 64 x 16, MLP 3 x 64 x 160, two norms.
LAYER = 2 * 64 * 64 + 2 * 64 * 16 + 3 * 64 * 160 + 2 * 64


def said(config: dict[str, Any]) -> dict[str, Any]:
    """Code of each remark -> the fields that it names."""
    return {remark.code: remark.parameters.get("fields") for remark in parse_any(config).remarks}


def context_bytes(architecture: Any) -> int:
    """Cache of one sequence of 32K tokens at 16 bit."""
    window = window_bytes_per_sequence_16bit(architecture)
    return kv_bytes_per_token_16bit(architecture) * 32_768 + window


def test_a_plain_decoder_is_counted_in_full():
    """Every matrix of an ordinary dense decoder follows from the usual fields."""
    architecture = parse_any(PLAIN)
    assert total_parameters(architecture) == 2 * 1000 * 64 + 64 + 4 * LAYER
    assert kv_bytes_per_token_16bit(architecture) == 4 * 2 * (8 + 8) * 2
    assert architecture.generic
    assert said(PLAIN) == {"architecture_generic": None}


# Configs and parameter counts as published on Hugging Face; what the generic rule leaves out is in brackets.
PUBLISHED = [
    # OLMo 2 7B (norms on queries and keys)
    (
        {
            "architectures": ["Olmo2ForCausalLM"], "model_type": "olmo2", "hidden_size": 4096,
            "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32,
            "intermediate_size": 11008, "vocab_size": 100352, "max_position_embeddings": 4096,
            "tie_word_embeddings": False, "hidden_act": "silu",
        },
        7_298_617_344,
    ),
    # Falcon 7B (biases of norms)
    (
        {
            "architectures": ["FalconForCausalLM"], "model_type": "falcon", "hidden_size": 4544,
            "num_hidden_layers": 32, "num_attention_heads": 71, "multi_query": True, "vocab_size": 65024,
            "max_position_embeddings": 2048, "tie_word_embeddings": True,
        },
        6_921_720_704,
    ),
    # GPT-2 (position embedding, biases)
    (
        {
            "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": 768, "n_layer": 12,
            "n_head": 12, "n_positions": 1024, "n_ctx": 1024, "vocab_size": 50257,
            "activation_function": "gelu_new", "tie_word_embeddings": True,
        },
        124_439_808,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("config", "parameters"), PUBLISHED, ids=lambda v: str(v)[:40])
def test_published_counts_are_met_within_one_percent(config: dict[str, Any], parameters: int):
    """Models of classes without a parser have nearly their published number of parameters."""
    assert config["architectures"][0] not in known_classes()
    assert total_parameters(parse_any(config)) == pytest.approx(parameters, rel=0.01)


# Sizes that are published as one value a layer, which the rule does not guess from.
REFUSED = {"hunyuan-a13b-instruct": ("moe_intermediate_size",)}


@pytest.mark.parametrize("name", sorted(models()))
def test_the_generic_rule_says_how_it_errs(name: str):
    """Read without its parser, each catalog model is met within 6 %, or a remark names the direction."""
    config = models()[name]["config"]
    own = parse(config)
    if name in REFUSED:
        with pytest.raises(UnsupportedArchitecture) as refused:
            parse_generic(Config(config))
        assert refused.value.missing == REFUSED[name]
        return
    generic = parse_generic(Config(config))
    codes = {remark.code for remark in generic.remarks}
    assert "architecture_generic" in codes
    weights = sum(text_parameter_table(generic).values()) / sum(text_parameter_table(own).values())
    assert weights < 1.065 or codes & {CACHE, LARGE, EITHER}
    assert weights > 0.94 or codes & {CACHE, SMALL, EITHER}
    cache = context_bytes(generic) / context_bytes(own)
    assert cache < 1.01 or codes & {CACHE, EITHER}
    assert cache > 0.99 or codes & {SMALL, EITHER}


def test_most_dense_models_are_read_exactly():
    """More than half of the catalog has the same cache and, within 0.1 %, the same weights under the rule."""
    exact = 0
    for entry in models().values():
        try:
            generic = parse_generic(Config(entry["config"]))
        except UnsupportedArchitecture:
            continue
        own = parse(entry["config"])
        weights = sum(text_parameter_table(generic).values()) / sum(text_parameter_table(own).values())
        exact += abs(weights - 1) < 0.001 and context_bytes(generic) == context_bytes(own)
    assert exact >= 40


def test_every_missing_field_is_named_at_once():
    """A caller learns all that is missing from one answer."""
    with pytest.raises(UnsupportedArchitecture) as refused:
        parse_any({"architectures": ["SomethingNewForCausalLM"], "hidden_size": 64, "kv_lora_rank": 8})
    assert set(refused.value.missing) == {
        "num_hidden_layers", "num_attention_heads", "vocab_size", "max_position_embeddings",
        "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim",
    }  # fmt: skip


def test_an_encoder_decoder_is_refused():
    """A model with an encoder is no decoder, and the field that says so is named."""
    with pytest.raises(UnsupportedArchitecture) as refused:
        parse_any(PLAIN | {"is_encoder_decoder": True})
    assert refused.value.missing == ("is_encoder_decoder",)


def test_experts_under_usual_names():
    """Routed experts in all but the first layer, one shared expert of their width."""
    config = PLAIN | {
        "num_local_experts": 16, "num_experts_per_tok": 2, "moe_intermediate_size": 32,
        "n_shared_experts": 1, "first_k_dense_replace": 1,
    }  # fmt: skip
    architecture = parse_any(config)
    moe = LAYER - 3 * 64 * 160 + 16 * 64 + (16 + 1) * 3 * 64 * 32
    assert total_parameters(architecture) == 2 * 1000 * 64 + 64 + LAYER + 3 * moe
    assert architecture.experts is not None
    assert (architecture.experts.count, architecture.experts.per_token) == (16, 2)


def test_a_latent_rank_means_latent_attention():
    """kv_lora_rank and the rotated part are what a token keeps."""
    ranks = {"kv_lora_rank": 32, "qk_rope_head_dim": 8, "qk_nope_head_dim": 16, "v_head_dim": 16}
    layers = parse_any(PLAIN | ranks).layers
    assert {layer.cache for layer in layers} == {LatentCache(32, 8)}


def test_layer_types_give_windows():
    """Sliding layers keep their window; a type that is not known is read as full attention, and said."""
    kinds = ["sliding_attention", "full_attention", "sliding_attention", "linear_attention"]
    config = PLAIN | {"layer_types": kinds, "sliding_window": 128, "linear_num_key_heads": 4}
    caches = [layer.cache for layer in parse_any(config).layers]
    full = KeyValueCache(2, 8, 8)
    sliding = KeyValueCache(2, 8, 8, Reach.SLIDING, 128)
    assert caches == [sliding, full, sliding, full]
    assert said(config)[CACHE] == ["layer_types", "linear_num_key_heads"]


@pytest.mark.parametrize(
    ("fields", "code", "named"),
    [
        ({"sliding_window": 512}, CACHE, ["sliding_window"]),
        ({"mamba_d_state": 16}, CACHE, ["mamba_d_state"]),
        ({"tie_word_embeddings": None}, LARGE, ["tie_word_embeddings"]),
        ({"vision_config": {"depth": 2}}, SMALL, ["vision_config"]),
        ({"index_head_dim": 128}, SMALL, ["index_head_dim"]),
        ({"intermediate_size": None}, EITHER, ["intermediate_size"]),
    ],
)
def test_what_is_not_understood_is_named_with_its_direction(
    fields: dict[str, Any], code: str, named: list[str]
):
    """Each field that was left out stands in the remark of the direction in which that errs."""
    assert said(PLAIN | fields)[code] == named


def test_fields_that_say_nothing_are_not_named():
    """A null, a zero or a false switches a mechanism off, so there is nothing to say of it."""
    config = PLAIN | {"num_nextn_predict_layers": 0, "vision_config": None, "use_cla": False}
    assert said(config) == {"architecture_generic": None}


def test_another_head_of_a_known_type_has_its_layers():
    """`LlamaModel` has the layers of `LlamaForCausalLM`, and the remark says whose."""
    config = models()["llama-3.1-8b-instruct"]["config"]
    sibling = parse_any(config | {"architectures": ["LlamaForSequenceClassification"]})
    assert sibling.layers == parse(config).layers
    assert sibling.generic
    assert sibling.remarks[0].parameters["read_as"] == "LlamaForCausalLM"
    assert sibling.engine_class == "LlamaForSequenceClassification"


def test_a_config_without_a_class_is_read_by_its_type():
    """model_type names the class where `architectures` is left out."""
    config = dict(models()["qwen3-8b"]["config"])
    del config["architectures"]
    assert parse_any(config) == parse(models()["qwen3-8b"]["config"])


def test_published_quantizations_give_the_published_sizes():
    """Kimi K2 Thinking: INT4 experts in groups of 32 make 594 GB; Qwen3 8B in MLX's 4 bit makes 4.6 GB."""
    weights = {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 32}
    packed = {
        "quant_method": "compressed-tensors",
        "config_groups": {"group_0": {"weights": weights}},
        "ignore": ["lm_head", "re:.*self_attn.*", "re:.*shared_experts.*"],
    }
    kimi = models()["kimi-k2-instruct"]["config"] | {"quantization_config": packed}
    assert weigh_architecture(build_architecture(kimi), "native").total_bytes / 1e9 == pytest.approx(
        594, rel=0.005
    )
    mlx = models()["qwen3-8b"]["config"] | {"quantization_config": {"group_size": 64, "bits": 4}}
    assert weigh_architecture(build_architecture(mlx), "native").total_bytes / 1e9 == pytest.approx(
        4.6, rel=0.01
    )


@pytest.mark.parametrize("nested", ["text_config", "llm_config", "language_config"])
def test_a_nested_language_model_is_found(nested: str):
    """An unknown multimodal class is read by its language model; its tower is left out, and named."""
    text = models()["qwen3-8b"]["config"]
    config = {"architectures": ["SeeingForConditionalGeneration"], "model_type": "seeing", nested: text}
    config["vision_config"] = {"hidden_size": 8}
    architecture = parse_any(config)
    assert architecture.layers == parse(text).layers
    assert said(config)[SMALL] == ["vision_config"]
