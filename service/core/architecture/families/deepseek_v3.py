"""DeepSeek V3, R1 and Kimi K2 (`DeepseekV3ForCausalLM`), DeepSeek V3.2 with its indexer in every layer."""

from dataclasses import replace
from functools import cache

from service.core.architecture.blocks.indexer import Indexer, index_cache, indexer_tensors
from service.core.architecture.blocks.latent import latent_cache, latent_tensors
from service.core.architecture.blocks.prediction import left_out_of_gguf, prediction_tensors
from service.core.architecture.blocks.primitives import embeddings, vector
from service.core.architecture.common import read_common
from service.core.architecture.config import Config
from service.core.architecture.families._decoder import (
    feed_forward,
    is_sparse,
    layer_count,
    read_experts,
    read_latent_attention,
    width_dimensions,
)
from service.core.architecture.families._native import mixed_format
from service.core.architecture.families._plain import pre_norm
from service.core.architecture.model import Architecture, FeedForward, Layer, LayerKind
from service.core.architecture.tensors import Dtype, Tensor, TensorClass


def read_indexer(config: Config) -> Indexer:
    """The lightning indexer: queries from the query latent, keys from the hidden state."""
    return Indexer(
        hidden=config.integer("hidden_size"),
        query_width=config.integer("q_lora_rank"),
        heads=config.integer("index_n_heads", "index_num_heads"),
        head_dim=config.integer("index_head_dim"),
        top_tokens=config.integer("index_topk"),
        pool=config.integer("index_kpool", default=1),
    )


def latent_layer(config: Config, *, sparse: bool, indexed: bool) -> Layer:
    """One MLA decoder layer, dense or MoE, with or without an indexer of its own."""
    hidden, attention = config.integer("hidden_size"), read_latent_attention(config)
    mixer, index = latent_tensors(attention), None
    if indexed:
        indexer = read_indexer(config)
        mixer, index = (*mixer, *indexer_tensors(indexer)), index_cache(indexer)
    after = feed_forward(hidden, config.integer("intermediate_size"), read_experts(config), sparse=sparse)
    return Layer(
        LayerKind.LATENT_INDEXED if indexed else LayerKind.LATENT,
        FeedForward.MOE if sparse else FeedForward.DENSE,
        pre_norm(hidden, mixer, after),
        latent_cache(attention),
        index,
    )


def prediction_layers(config: Config, *, indexed: bool, copies: bool, in_gguf: bool) -> tuple[Layer, ...]:
    """MTP layers: MoE decoder layers behind the projection of embedding and hidden state.

    copies: the checkpoint repeats embedding and output matrix in each of them.
    """
    rows = config.integer("vocab_size") if copies else 0
    extra = prediction_tensors(config.integer("hidden_size"), embedding_rows=rows, head_rows=rows)
    layer = latent_layer(config, sparse=True, indexed=indexed)
    tensors = (*layer.tensors, *extra)
    tensors = tensors if in_gguf else left_out_of_gguf(tensors)
    one = Layer(layer.kind, layer.feed_forward, tensors, layer.cache, layer.index)
    return (one,) * config.integer("num_nextn_predict_layers", default=0)


def latent_architecture(
    config: Config, gguf: str, layers: tuple[Layer, ...], mtp: tuple[Layer, ...], *, assumed: bool = False
) -> Architecture:
    """An architecture of MLA layers; assumed: the list of quantized tensors is not published."""
    head_dim = config.integer("qk_nope_head_dim") + config.integer("qk_rope_head_dim")
    common = replace(read_common(config), kv_heads=1, head_dim=head_dim)
    outer = embeddings(common.vocabulary, common.hidden, tied=common.tied)
    experts = read_experts(config)
    widths = width_dimensions(common.dense_width, experts)
    base = common.architecture(gguf, outer, layers, widths)
    return replace(base, mtp=mtp, experts=experts, native=mixed_format(config, assumed=assumed))


def _stored_frequencies(config: Config) -> tuple[Tensor, ...]:
    """The rotary frequencies that Kimi K2's layers store though nothing reads them.

    One for two channels of hidden_size / heads, the width that a rotary module takes by default: that is
    what the published count (1,026,408,235,864) holds beside the weights, 61 x 56.
    """
    if config.model_type != "kimi_k2":
        return ()
    width = config.integer("hidden_size") // config.integer("num_attention_heads") // 2
    buffer = vector("rotary_emb.inv_freq", width, TensorClass.OTHER, dtype=Dtype.F32)
    return (replace(buffer, in_gguf=False, active=False),)


def _layers(config: Config, *, indexed: bool) -> tuple[Layer, ...]:
    """The decoder: alike layers are one object."""
    stored = _stored_frequencies(config)

    @cache
    def make(sparse: bool) -> Layer:
        layer = latent_layer(config, sparse=sparse, indexed=indexed)
        return replace(layer, tensors=(*layer.tensors, *stored))

    return tuple(make(is_sparse(config, i)) for i in range(layer_count(config)))


def parse_v3(config: Config) -> Architecture:
    """DeepSeek V3; llama.cpp's converter drops its MTP layer (llama.cpp conversion/deepseek.py)."""
    mtp = prediction_layers(config, indexed=False, copies=True, in_gguf=False)
    return latent_architecture(config, "deepseek2", _layers(config, indexed=False), mtp)


def parse_v32(config: Config) -> Architecture:
    """DeepSeek V3.2; the converter writes its MTP layer with the copies of embedding and output."""
    mtp = prediction_layers(config, indexed=True, copies=True, in_gguf=True)
    return latent_architecture(config, "deepseek32", _layers(config, indexed=True), mtp)


PARSERS = {
    "DeepseekV3ForCausalLM": parse_v3,
    "DeepseekV32ForCausalLM": parse_v32,
}
