"""GLM-4.5 and GLM-4.5 Air (`Glm4MoeForCausalLM`): grouped-query attention with MoE after the first layers."""

from dataclasses import replace
from functools import cache

from service.core.architecture.blocks.attention import (
    GroupedQuery,
    QueryKeyNorm,
    attention_tensors,
    key_value_cache,
)
from service.core.architecture.blocks.prediction import prediction_tensors
from service.core.architecture.blocks.primitives import embeddings
from service.core.architecture.common import read_common
from service.core.architecture.config import Config
from service.core.architecture.families._decoder import (
    feed_forward,
    is_sparse,
    read_experts,
    width_dimensions,
)
from service.core.architecture.families._plain import pre_norm
from service.core.architecture.model import Architecture, FeedForward, Layer, LayerKind


def _attention(config: Config) -> GroupedQuery:
    """Biases on query, key and value only; norms on queries and keys in the large model."""
    return GroupedQuery(
        hidden=config.integer("hidden_size"),
        heads=config.integer("num_attention_heads"),
        kv_heads=config.integer("num_key_value_heads"),
        head_dim=config.integer("head_dim"),
        qkv_bias=config.flag("attention_bias"),
        norm=QueryKeyNorm.PER_HEAD if config.flag("use_qk_norm") else QueryKeyNorm.NONE,
    )


def _layer(config: Config, *, sparse: bool) -> Layer:
    """One decoder layer; the norm after attention is `post_attention_norm` in llama.cpp."""
    hidden, attention = config.integer("hidden_size"), _attention(config)
    after = feed_forward(hidden, config.integer("intermediate_size"), read_experts(config), sparse=sparse)
    tensors = pre_norm(hidden, attention_tensors(attention), after, second_norm="post_attention_norm")
    kind = FeedForward.MOE if sparse else FeedForward.DENSE
    return Layer(LayerKind.FULL, kind, tensors, key_value_cache(attention))


def _prediction(config: Config) -> tuple[Layer, ...]:
    """MTP layers with their own copies of embedding and output, written to GGUF by default."""
    rows = config.integer("vocab_size")
    extra = prediction_tensors(config.integer("hidden_size"), embedding_rows=rows, head_rows=rows)
    layer = _layer(config, sparse=True)
    one = Layer(layer.kind, layer.feed_forward, (*layer.tensors, *extra), layer.cache)
    return (one,) * config.integer("num_nextn_predict_layers", default=0)


def parse(config: Config) -> Architecture:
    """GLM-4.5."""
    common, experts = read_common(config), read_experts(config)
    make = cache(lambda sparse: _layer(config, sparse=sparse))
    base = common.architecture(
        "glm4moe",
        embeddings(common.vocabulary, common.hidden, tied=common.tied),
        tuple(make(is_sparse(config, i)) for i in range(common.layers)),
        width_dimensions(common.dense_width, experts),
    )
    return replace(base, mtp=_prediction(config), experts=experts)


PARSERS = {"Glm4MoeForCausalLM": parse}
