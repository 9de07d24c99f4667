"""The spellings under which configs publish the same size, and the usual name that the generic rule reads."""

from collections.abc import Mapping
from typing import Any

from service.core.architecture.config import Config

# Usual name -> other spellings, the commonest first (attribute_map and classes of transformers 5.24.0).
SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "hidden_size": ("n_embd", "d_model", "dim", "model_dim"),
    "num_hidden_layers": ("n_layer", "n_layers", "num_layers"),
    "num_attention_heads": ("n_head", "n_heads", "num_heads"),
    "num_key_value_heads": (
        "n_kv_heads",
        "num_kv_heads",
        "n_head_kv",
        "num_query_groups",
        "multi_query_group_num",
        "num_attention_groups",
    ),
    "head_dim": ("attention_head_dim", "kv_channels", "d_head", "head_size"),
    "intermediate_size": ("n_inner", "ffn_hidden_size", "ffn_dim", "d_ff"),
    "vocab_size": ("padded_vocab_size", "n_vocab"),
    "max_position_embeddings": (
        "n_positions",
        "max_seq_len",
        "max_sequence_length",
        "seq_length",
        "n_ctx",
        "model_max_length",
    ),
    "num_experts": ("n_routed_experts", "num_local_experts", "moe_num_experts", "n_experts"),
    "num_experts_per_tok": (
        "num_experts_per_token",
        "moe_topk",
        "moe_top_k",
        "moe_k",
        "top_k_experts",
        "experts_per_token",
    ),
    "moe_intermediate_size": ("expert_intermediate_size", "moe_ffn_hidden_size", "expert_ffn_hidden_size"),
    "n_shared_experts": ("num_shared_experts", "num_shared_expert", "moe_num_shared_experts"),
    "shared_expert_intermediate_size": (
        "moe_shared_expert_intermediate_size",
        "shared_intermediate_size",
        "share_expert_dim",
    ),
    "first_k_dense_replace": ("moe_layer_start_index", "num_dense_layers"),
    "layer_types": ("layers_block_type",),
    "attention_chunk_size": (),
}
# Where multimodal configs nest their language model, beside the usual text_config.
_NESTED = ("llm_config", "language_config", "thinker_config")


def language_model(config: Config) -> Config:
    """The config with its language model as text_config, however it was nested."""
    for name in _NESTED:
        nested = config.published.get(name)
        if config.text is config.published and isinstance(nested, Mapping):
            inner = nested.get("text_config")
            text = inner if isinstance(inner, Mapping) else nested
            return Config({**config.published, "text_config": text})
    return config


def usual_names(config: Config) -> Config:
    """The config with every size under its usual name; a name that is there already stays as it is."""
    found: dict[str, Any] = {}
    for name, others in SPELLINGS.items():
        if config.get(name) is None:
            value = config.get(*others)
            if value is not None:
                found[name] = value
    if config.get("num_key_value_heads") is None and config.get("multi_query") is True:
        found.setdefault("num_key_value_heads", 1)
    return Config({**config.published, "text_config": {**config.text, **found}})
