"""DeepSeek V4.1: compressed keys shared between layers, n-gram tables (Engram), a block drafter (DSpark)."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

from service.core.architecture.blocks.feed_forward import moe
from service.core.architecture.blocks.primitives import embeddings, linear, norm, vector
from service.core.architecture.blocks.towers import deepseek_tower
from service.core.architecture.config import Config
from service.core.architecture.families._decoder import (
    CORRECTED,
    layer_count,
    per_layer,
    read_experts,
    share_tensors,
)
from service.core.architecture.families.deepseek_v4 import (
    compressed_architecture,
    read_attention,
    read_indexer,
    streamed_layer,
)
from service.core.architecture.model import Architecture, Experts, Layer, NativeFormat
from service.core.architecture.tensors import Dtype, Split, Tensor, TensorClass

_TABLE_SCALE_GROUP = "mxfp8"  # one E8M0 scale for 32 values of a row


def _experts(config: Config, experts: Experts) -> tuple[Tensor, ...]:
    """Experts of one layer; the router has a second selection bias for image tokens."""
    image_bias = vector("exp_probs_b_vl.bias", experts.count, TensorClass.ROUTER, dtype=Dtype.F32)
    return (*moe(config.integer("hidden_size"), experts, routing=CORRECTED), image_bias)


def _layer(config: Config, *, ratio: int, owner: bool, indexed: bool) -> Layer:
    """One layer; owners compress keys, index layers choose entries, the others reuse both."""
    attention = replace(
        read_attention(config, ratio), overlap=False, owner=owner or not ratio, position_bias=False
    )
    indexer = replace(read_indexer(config), compresses=False, owner=owner) if indexed else None
    return streamed_layer(config, attention, indexer, _experts(config, read_experts(config)))


def _engram(config: Config, rows: int) -> Iterator[Tensor]:
    """Rows of n-gram embeddings, looked up and projected to a key for each stream and one value.

    The table is never read in full and may live in host memory; each n-gram order has its own hash
    heads, between which tensor parallelism divides it (vLLM 0.33.0 config/engram.py).
    """
    hidden, streams = config.integer("hidden_size"), config.integer("hc_mult")
    width, part = config.integer("engram_head_dim"), TensorClass.LOOKUP_TABLE
    hashes = config.integer("engram_n_heads") * (config.integer("engram_max_ngram_size") - 1)
    yield Tensor("engram_embd.weight", (rows, width), part, Split.VOCABULARY, active=False)
    yield linear("engram_kv", hidden * (streams + 1), hashes * width, TensorClass.ATTENTION)
    for role in ("engram_q", "engram_k"):
        yield Tensor(f"{role}.weight", (streams, hidden), TensorClass.OTHER)


def _drafter_layer(config: Config) -> Layer:
    """One DSpark stage: a window-only layer with fewer experts."""
    count, chosen = config.integer("dspark_n_routed_experts"), config.integer("dspark_num_experts_per_tok")
    experts = replace(read_experts(config), count=count, per_token=chosen)
    attention = replace(read_attention(config, 0), position_bias=False)
    return streamed_layer(config, attention, None, _experts(config, experts))


def _drafter(config: Config) -> tuple[Layer, ...]:
    """The DSpark stages; the first reads target layers, the last ends in Markov and confidence heads."""
    stages = config.integer("num_nextn_predict_layers", default=0)
    if not stages:
        return ()
    hidden, stage = config.integer("hidden_size"), _drafter_layer(config)
    vocabulary, rank = config.integer("vocab_size"), config.integer("dspark_markov_rank")
    targets = len(config.integers("dspark_target_layer_ids") or ())
    first = (
        linear("dspark_main", hidden, targets * hidden, TensorClass.OTHER, Split.REPLICATED),
        norm("dspark_main_norm", hidden),
    )
    last = (
        norm("dspark_norm", hidden),
        Tensor("dspark_markov_embd.weight", (vocabulary, rank), TensorClass.EMBEDDING, Split.VOCABULARY),
        Tensor("dspark_markov_output.weight", (vocabulary, rank), TensorClass.OUTPUT, Split.VOCABULARY),
        Tensor("dspark_confidence.weight", (1, hidden + rank), TensorClass.OUTPUT),
    )
    extras = [first, *[()] * (stages - 2), last] if stages > 1 else [(*first, *last)]
    return tuple(replace(stage, tensors=(*stage.tensors, *extra)) for extra in extras)


def _native(base: NativeFormat) -> NativeFormat:
    """Engram tables are FP8 with a scale for 32 values of a row, beside the linear layers."""
    return replace(base, encodings={**base.encodings, TensorClass.LOOKUP_TABLE: _TABLE_SCALE_GROUP})


def parse(config: Config) -> Architecture:
    """DeepSeek V4.1."""
    hidden = config.integer("hidden_size")
    ratios = per_layer(config, "compress_ratios", config.integers("compress_ratios"))
    owners = set(config.integers("kv_source_layer_ids") or ())
    indexes = set(config.integers("index_source_layer_ids") or ())
    rows = config.integers("engram_num_embeddings") or ()
    tables = dict(zip(config.integers("engram_layer_ids") or (), rows, strict=False))

    @cache
    def make(ratio: int, owner: bool, indexed: bool) -> Layer:
        return _layer(config, ratio=ratio, owner=owner, indexed=indexed)

    def at(i: int) -> Layer:
        layer = make(ratios[i], i in owners, i in indexes)
        return replace(layer, tensors=(*layer.tensors, *_engram(config, tables[i]))) if i in tables else layer

    layers = share_tensors([at(i) for i in range(layer_count(config))])
    outer = embeddings(config.integer("vocab_size"), hidden, tied=config.flag("tie_word_embeddings"))
    base = compressed_architecture(config, None, outer, layers)
    vision = () if config.vision is None else deepseek_tower(config.vision, hidden)
    return replace(base, mtp=_drafter(config), vision=vision, native=_native(base.native))


PARSERS = {"DeepseekV41ForCausalLM": parse}
