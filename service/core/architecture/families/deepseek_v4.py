"""DeepSeek V4: compressed attention, hyper-connections, experts looked up by token in the first layers."""

from dataclasses import replace
from functools import cache

from service.core.architecture.blocks.compressed import (
    CompressedAttention,
    CompressedIndexer,
    compressed_cache,
    compressed_index,
    compressed_indexer_tensors,
    compressed_tensors,
)
from service.core.architecture.blocks.feed_forward import RouterShape, moe
from service.core.architecture.blocks.hyper import hyper_connection, hyper_head
from service.core.architecture.blocks.prediction import left_out_of_gguf, prediction_tensors
from service.core.architecture.blocks.primitives import embeddings
from service.core.architecture.common import positive, read_common
from service.core.architecture.config import Config
from service.core.architecture.families._decoder import (
    CORRECTED,
    layer_count,
    per_layer,
    read_experts,
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
from service.core.architecture.native import LINEAR_CLASSES
from service.core.architecture.tensors import Dtype, Tensor, TensorClass

_OVERLAPPED_RATIO = 4  # the ratio at which V4 blends neighbouring windows and runs an indexer


def read_attention(config: Config, ratio: int) -> CompressedAttention:
    """The mixer of a layer with the given compression ratio."""
    return CompressedAttention(
        hidden=config.integer("hidden_size"),
        heads=config.integer("num_attention_heads"),
        head_dim=config.integer("head_dim"),
        rope_dim=config.integer("qk_rope_head_dim"),
        query_rank=config.integer("q_lora_rank"),
        output_rank=config.integer("o_lora_rank"),
        output_groups=positive(config, "o_groups"),
        window=config.integer("sliding_window"),
        ratio=ratio,
        overlap=ratio == _OVERLAPPED_RATIO,
    )


def read_indexer(config: Config) -> CompressedIndexer:
    """The indexer over compressed entries."""
    return CompressedIndexer(
        heads=config.integer("index_n_heads"),
        head_dim=config.integer("index_head_dim"),
        top_entries=config.integer("index_topk"),
    )


def streamed_layer(
    config: Config,
    attention: CompressedAttention,
    indexer: CompressedIndexer | None,
    after: tuple[Tensor, ...],
) -> Layer:
    """Mixer and experts, each between its hyper-connections."""
    hidden, streams = attention.hidden, config.integer("hc_mult")
    mixer = compressed_tensors(attention)
    if indexer is not None:
        mixer = (*mixer, *compressed_indexer_tensors(attention, indexer))
    tensors = (
        *pre_norm(hidden, mixer, after),
        *hyper_connection("attn", hidden, streams),
        *hyper_connection("ffn", hidden, streams),
    )
    return Layer(
        LayerKind.COMPRESSED if attention.ratio else LayerKind.SLIDING,
        FeedForward.MOE,
        tensors,
        compressed_cache(attention, indexer),
        None if indexer is None else compressed_index(attention, indexer),
    )


def _experts(config: Config, experts: Experts, *, hashed: bool) -> tuple[Tensor, ...]:
    """Routed and shared experts; hashed layers look their experts up by token id instead of a bias.

    The int64 table is kept out of the parameter count, as the published totals keep it out; llama.cpp
    writes it as I32.
    """
    hidden = config.integer("hidden_size")
    if not hashed:
        return moe(hidden, experts, routing=CORRECTED)
    table = Tensor(
        "ffn_gate_tid2eid.weight",
        (config.integer("vocab_size"), experts.per_token),
        TensorClass.LOOKUP_TABLE,
        dtype=Dtype.I64,
        in_checkpoint=False,
        active=False,
    )
    return (*moe(hidden, experts, routing=RouterShape()), table)


def _layer(config: Config, *, ratio: int, hashed: bool) -> Layer:
    """One layer; the indexer exists where windows overlap."""
    attention = read_attention(config, ratio)
    indexer = read_indexer(config) if attention.overlap else None
    return streamed_layer(config, attention, indexer, _experts(config, read_experts(config), hashed=hashed))


def _prediction(config: Config) -> tuple[Layer, ...]:
    """MTP: a window-only layer with its own stream head; the converter drops it."""
    hidden, streams = config.integer("hidden_size"), config.integer("hc_mult")
    layer = _layer(config, ratio=0, hashed=False)
    tensors = (*layer.tensors, *prediction_tensors(hidden), *hyper_head(hidden, streams))
    one = replace(layer, tensors=left_out_of_gguf(tensors))
    return (one,) * config.integer("num_nextn_predict_layers", default=0)


def compressed_architecture(
    config: Config, gguf: str | None, outer: tuple[Tensor, ...], layers: tuple[Layer, ...]
) -> Architecture:
    """What V4 and V4.1 share: one KV head of head_dim, MoE everywhere, output groups as a limit to TP."""
    common, experts = replace(read_common(config), kv_heads=1), read_experts(config)
    groups = ParallelDimension("output_groups", positive(config, "o_groups"))
    base = common.architecture(gguf, outer, layers, (*width_dimensions(0, experts), groups))
    classes = (*LINEAR_CLASSES, TensorClass.OTHER)
    return replace(base, experts=experts, native=mixed_format(config, classes=classes))


def parse(config: Config) -> Architecture:
    """DeepSeek V4."""
    hidden, vocabulary = config.integer("hidden_size"), config.integer("vocab_size")
    ratios = per_layer(config, "compress_ratios", config.integers("compress_ratios"))
    hashed = config.integer("num_hash_layers", default=0)
    make = cache(lambda ratio, looked_up: _layer(config, ratio=ratio, hashed=looked_up))
    layers = tuple(make(ratios[i], i < hashed) for i in range(layer_count(config)))
    outer = embeddings(vocabulary, hidden, tied=config.flag("tie_word_embeddings"))
    outer = (*outer, *hyper_head(hidden, config.integer("hc_mult")))
    return replace(compressed_architecture(config, "deepseek4", outer, layers), mtp=_prediction(config))


PARSERS = {"DeepseekV4ForCausalLM": parse}
