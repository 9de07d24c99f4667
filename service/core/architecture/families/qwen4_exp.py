"""Qwen4-exp (Qwen3.8 Flash Next): low-rank hyper-connections, sparse attention, an n-gram table.

Layout: transformers 5.24.0 models/qwen4_exp; llama.cpp src/models/qwen4exp.cpp; the draft layer from
mlx-vlm 0.7.10 speculative/drafters/qwen4_exp_mtp.
"""

from collections.abc import Iterator
from dataclasses import replace

from service.core.architecture.blocks.attention import attention_tensors, key_value_cache
from service.core.architecture.blocks.delta import delta_state, delta_tensors
from service.core.architecture.blocks.feed_forward import moe
from service.core.architecture.blocks.prediction import left_out_of_gguf
from service.core.architecture.blocks.primitives import embeddings, linear, norm
from service.core.architecture.blocks.vision import qwen_tower
from service.core.architecture.caches import IndexCache, IndexScheme
from service.core.architecture.common import Common, layer_count, positive, read_common, width_dimension
from service.core.architecture.config import Config
from service.core.architecture.families import _lookup
from service.core.architecture.families.qwen35 import (
    delta_dimensions,
    gated_attention,
    hybrid_kinds,
    read_delta,
)
from service.core.architecture.families.qwen_moe import read_qwen_experts
from service.core.architecture.model import Architecture, FeedForward, Layer, LayerKind
from service.core.architecture.tensors import Split, Tensor, TensorClass


def parse_qwen4_exp(config: Config) -> Architecture:
    """Layers named in ple_layer_ids (counted from 1) also read the n-gram table."""
    common = read_common(config)
    full, linear_layer = _kinds(common)
    kinds = hybrid_kinds(config, common.layers)
    layers = tuple(full if kind == "full_attention" else linear_layer for kind in kinds)
    layers, tables = _lookup.add_lookups(config, common.hidden, layers)
    experts = read_qwen_experts(config)
    arch = common.architecture(
        "qwen4exp",
        (*_outer(common), *tables),
        layers,
        (
            *delta_dimensions(read_delta(common)),
            *width_dimension("expert_width", experts.width),
            *width_dimension("shared_expert_width", experts.shared_width),
        ),
    )
    drafts = layer_count(config, "mtp_num_hidden_layers", default=0)
    draft = replace(full, tensors=left_out_of_gguf((*full.tensors, *_draft(common))))
    vision = qwen_tower(config.vision) if config.vision else ()
    return replace(arch, experts=experts, mtp=(draft,) * drafts, vision=vision)


def _kinds(common: Common) -> tuple[Layer, Layer]:
    """The sparse attention layer and the DeltaNet layer."""
    shape, delta = gated_attention(common), read_delta(common)
    around = (*_residual(common, "hc_attn"), *_residual(common, "hc_ffn"))
    after = moe(common.hidden, read_qwen_experts(common.config), shared_gate=True)
    full = Layer(
        LayerKind.SPARSE,
        FeedForward.MOE,
        (*around, *attention_tensors(shape), *_indexer(common), *after),
        key_value_cache(shape),
        _index_cache(common.config),
    )
    return full, Layer(
        LayerKind.GATED_DELTA_NET,
        FeedForward.MOE,
        (*around, *delta_tensors(delta), *after),
        states=(delta_state(delta),),
    )


def _residual(common: Common, role: str, *, inject: bool = True) -> Iterator[Tensor]:
    """Norm, low-rank mix and injection of the hc_count residual streams around one block."""
    streams, rank = positive(common.config, "hc_count"), positive(common.config, "hc_lowrank")
    width, part = streams * common.hidden, TensorClass.HYPER_CONNECTION
    yield norm(f"{role}_norm", width)
    yield linear(f"{role}_down", rank, width, part, Split.REPLICATED)
    yield linear(f"{role}_up", width, rank, part, Split.REPLICATED)
    if inject:
        yield linear(f"{role}_inject", streams, width, part, Split.REPLICATED)


def _indexer(common: Common) -> tuple[Tensor, ...]:
    """Queries and keys of the index, one projection in the checkpoint and two in GGUF."""
    config, width = common.config, positive(common.config, "indexer_head_dim")
    part = TensorClass.INDEXER
    heads = positive(config, "indexer_n_heads")
    keys = positive(config, "indexer_kv_heads", default=1)
    return (
        linear("indexer.q_proj", heads * width, common.hidden, part, Split.REPLICATED),
        linear("indexer.k_proj", keys * width, common.hidden, part, Split.REPLICATED),
        norm("indexer.q_norm", width),
        norm("indexer.k_norm", width),
    )


def _index_cache(config: Config) -> IndexCache:
    """One key for indexer_compress_ratio tokens; a query reads indexer_budget tokens."""
    width = positive(config, "indexer_head_dim") * positive(config, "indexer_kv_heads", default=1)
    ratio = positive(config, "indexer_compress_ratio")
    return IndexCache(IndexScheme.QSA, width, ratio, positive(config, "indexer_budget"))


def _outer(common: Common) -> tuple[Tensor, ...]:
    """The last mix of the streams carries the final norm."""
    mix = tuple(_residual(common, "output_hc", inject=False))
    tables = embeddings(common.vocabulary, common.hidden, tied=common.tied)
    return (*(t for t in tables if t.role != "output_norm.weight"), *mix)


def _draft(common: Common) -> Iterator[Tensor]:
    """Projections of embedding and hidden streams, and the draft's own last mix."""
    hidden = common.hidden
    yield linear("nextn.fc_embedding", hidden, hidden, TensorClass.OTHER, Split.REPLICATED)
    yield linear("nextn.fc_hidden", hidden, hidden, TensorClass.OTHER, Split.REPLICATED)
    yield norm("nextn.enorm", hidden)
    yield norm("nextn.hnorm", positive(common.config, "hc_count") * hidden)
    yield from _residual(common, "nextn.hc", inject=False)


PARSERS = {
    "Qwen4ExpForConditionalGeneration": parse_qwen4_exp,
    "Qwen4ExpForCausalLM": parse_qwen4_exp,
}
