"""Step-3.5 and Step-3.7 Flash: sliding layers with more query heads than full ones, experts in the middle."""

from dataclasses import replace
from functools import cache

from service.core.architecture.blocks.attention import (
    Gate,
    GroupedQuery,
    QueryKeyNorm,
    attention_tensors,
    key_value_cache,
)
from service.core.architecture.blocks.prediction import prediction_tensors
from service.core.architecture.blocks.primitives import embeddings, rope_factors
from service.core.architecture.blocks.towers import step_tower
from service.core.architecture.caches import Reach
from service.core.architecture.common import positive
from service.core.architecture.config import Config
from service.core.architecture.families._decoder import (
    feed_forward,
    layer_count,
    layer_type,
    section,
    width_dimensions,
)
from service.core.architecture.families._native import mixed_format
from service.core.architecture.families._plain import pre_norm
from service.core.architecture.model import (
    Architecture,
    Experts,
    FeedForward,
    Layer,
    LayerKind,
    ParallelDimension,
)

SLIDING = "sliding_attention"


def read_attention(config: Config, *, sliding: bool) -> GroupedQuery:
    """The attention of a full or a sliding layer; KV groups are Step's name for KV heads."""
    own = config
    if sliding and config.get("attention_other_setting") is not None:
        own = section(config, "attention_other_setting")
    heads = positive(own, "num_attention_heads")
    if sliding:
        heads = positive(config, "num_sliding_attention_heads", default=heads)
    return GroupedQuery(
        hidden=positive(config, "hidden_size"),
        heads=heads,
        kv_heads=positive(own, "num_attention_groups"),
        head_dim=positive(own, "head_dim"),
        norm=QueryKeyNorm.PER_HEAD,
        gate=Gate.PER_HEAD if config.flag("use_head_wise_attn_gate") else Gate.NONE,
    )


def read_experts(config: Config) -> Experts:
    """Routed experts and one shared expert under Step's names."""
    return Experts(
        count=positive(config, "moe_num_experts"),
        per_token=positive(config, "moe_top_k", "num_experts_per_tok"),
        width=positive(config, "moe_intermediate_size"),
        shared_count=1,
        shared_width=positive(config, "share_expert_dim"),
    )


def sparse_layers(config: Config) -> frozenset[int]:
    """Layers with experts, published as text: `3,4,5`."""
    listed = str(config.get("moe_layers_enum", default="")).split(",")
    return frozenset(int(part) for part in listed if part.strip().isdecimal())


def step_layer(config: Config, *, sliding: bool, sparse: bool) -> Layer:
    """One decoder layer without an index."""
    attention, width = read_attention(config, sliding=sliding), positive(config, "intermediate_size")
    after = feed_forward(attention.hidden, width, read_experts(config), sparse=sparse)
    reach, window = (Reach.SLIDING, positive(config, "sliding_window")) if sliding else (Reach.FULL, None)
    return Layer(
        LayerKind.SLIDING if sliding else LayerKind.FULL,
        FeedForward.MOE if sparse else FeedForward.DENSE,
        pre_norm(attention.hidden, attention_tensors(attention), after),
        key_value_cache(attention, reach, window),
    )


def step_prediction(config: Config) -> tuple[Layer, ...]:
    """MTP layers: dense, of the types listed behind the model's layers, each with a vocabulary head."""
    hidden, first = positive(config, "hidden_size"), layer_count(config)
    extra = prediction_tensors(hidden, head_rows=positive(config, "vocab_size"))
    make = cache(lambda sliding: step_layer(config, sliding=sliding, sparse=False))
    count = config.integer("num_nextn_predict_layers", default=0)
    layers = (make(layer_type(config, first + i, SLIDING) == SLIDING) for i in range(count))
    return tuple(replace(layer, tensors=(*layer.tensors, *extra)) for layer in layers)


def step_architecture(config: Config, gguf: str | None, layers: tuple[Layer, ...]) -> Architecture:
    """What Step models share; both kinds of layers limit tensor parallelism."""
    full, sliding = read_attention(config, sliding=False), read_attention(config, sliding=True)
    vocabulary, width = positive(config, "vocab_size"), positive(config, "intermediate_size")
    tied, experts = config.flag("tie_word_embeddings"), read_experts(config)
    return Architecture(
        engine_class=config.engine_class,
        model_type=config.model_type,
        gguf_architecture=gguf,
        hidden_size=full.hidden,
        vocabulary=vocabulary,
        max_context_tokens=positive(config, "max_position_embeddings", "max_seq_len"),
        attention_heads=full.heads,
        kv_heads=full.kv_heads,
        head_dim=full.head_dim,
        dense_width=width,
        tied=tied,
        outer=embeddings(vocabulary, full.hidden, tied=tied),
        layers=layers,
        mtp=step_prediction(config),
        vision=() if config.vision is None else step_tower(config.vision, full.hidden),
        experts=experts,
        native=mixed_format(config, assumed=True),
        parallel_dimensions=(
            ParallelDimension("attention_heads", full.heads),
            ParallelDimension("kv_heads", full.kv_heads, replicable=True),
            ParallelDimension("sliding_attention_heads", sliding.heads),
            *width_dimensions(width, experts),
        ),
    )


def parse(config: Config) -> Architecture:
    """Step-3.5 and 3.7; llama.cpp adds the factors of llama3 rope scaling (conversion/step3.py)."""
    sparse = sparse_layers(config)
    make = cache(lambda sliding, routed: step_layer(config, sliding=sliding, sparse=routed))
    kinds = [layer_type(config, i, "full_attention") for i in range(layer_count(config))]
    layers = tuple(make(kind == SLIDING, i in sparse) for i, kind in enumerate(kinds))
    base = step_architecture(config, "step35", layers)
    return replace(base, outer=(*base.outer, rope_factors(base.head_dim // 2)))


PARSERS = {"Step3p5ForCausalLM": parse, "Step3p7ForConditionalGeneration": parse}
