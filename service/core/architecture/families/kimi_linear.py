"""Kimi Linear, Kimi K3 and K3.1: Kimi Delta Attention beside MLA, with experts that work in a latent."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

from service.core.architecture.blocks.indexer import index_cache, indexer_tensors
from service.core.architecture.blocks.kimi_delta import KimiDelta, kimi_delta_state, kimi_delta_tensors
from service.core.architecture.blocks.latent import latent_cache, latent_tensors
from service.core.architecture.blocks.primitives import linear, norm, vector
from service.core.architecture.blocks.towers import moonvit_tower
from service.core.architecture.common import positive
from service.core.architecture.config import Config
from service.core.architecture.families._decoder import (
    feed_forward,
    is_sparse,
    layer_count,
    read_experts,
    read_latent_attention,
    section,
)
from service.core.architecture.families._plain import pre_norm
from service.core.architecture.families.deepseek_v3 import latent_architecture, read_indexer
from service.core.architecture.model import Architecture, FeedForward, Layer, LayerKind, ParallelDimension
from service.core.architecture.tensors import Split, Tensor, TensorClass


def read_kimi_delta(config: Config) -> KimiDelta:
    """KDA sizes from linear_attn_config; A_log is padded to a power of two (96 heads of Kimi K3: 128)."""
    fields = section(config, "linear_attn_config")
    heads = positive(fields, "num_heads")
    return KimiDelta(
        hidden=positive(config, "hidden_size"),
        heads=heads,
        head_dim=positive(fields, "head_dim"),
        conv_kernel=positive(fields, "short_conv_kernel_size"),
        full_rank_gate=fields.flag("use_full_rank_gate"),
        decay_slots=1 << (heads - 1).bit_length(),
    )


def _layer(config: Config, *, full: bool, indexed: bool, sparse: bool) -> Layer:
    """One layer: MLA (`full`), with an indexer or not, or KDA."""
    hidden, experts = config.integer("hidden_size"), read_experts(config)
    after = feed_forward(hidden, config.integer("intermediate_size"), experts, sparse=sparse)
    kind = FeedForward.DENSE
    if sparse:
        kind = FeedForward.LATENT_MOE if experts.latent_dim else FeedForward.MOE
        after = (*after, *_latent_projection(config, hidden, experts.latent_dim))
    after = (*after, *_attention_residual(config, hidden))
    if not full:
        delta = read_kimi_delta(config)
        tensors = pre_norm(hidden, kimi_delta_tensors(delta), after)
        return Layer(LayerKind.KIMI_DELTA, kind, tensors, states=(kimi_delta_state(delta),))
    attention = read_latent_attention(config)
    mixer, index = latent_tensors(attention), None
    if indexed:
        indexer = read_indexer(config)
        mixer, index = (*mixer, *indexer_tensors(indexer)), index_cache(indexer)
    mixes = LayerKind.LATENT_INDEXED if indexed else LayerKind.LATENT
    return Layer(mixes, kind, pre_norm(hidden, mixer, after), latent_cache(attention), index)


def _latent_projection(config: Config, hidden: int, latent: int | None) -> Iterator[Tensor]:
    """Down to the experts' latent and up again, replicated on every rank, with a norm between."""
    if latent is None:
        return
    part = TensorClass.LATENT_PROJECTION
    yield linear("ffn_routed_down", latent, hidden, part, Split.REPLICATED)
    yield linear("ffn_routed_up", hidden, latent, part, Split.REPLICATED)
    if config.flag("latent_moe_use_norm"):
        yield norm("ffn_routed_norm", latent)


def _attention_residual(config: Config, hidden: int) -> Iterator[Tensor]:
    """Scores of earlier blocks' residuals before attention and MLP (Kimi K3)."""
    if config.integer("attn_res_block_size", default=0):
        for place in ("attn_res", "ffn_res"):
            yield from _residual_score(place, hidden)


def _residual_score(place: str, hidden: int) -> tuple[Tensor, Tensor]:
    """A norm and a projection to one score, which llama.cpp's converter multiplies into one vector."""
    scale = replace(norm(f"{place}_norm", hidden), in_gguf=False)
    return scale, vector(f"{place}_score.weight", hidden, TensorClass.ATTENTION)


def _kinds(config: Config) -> list[tuple[bool, bool, bool]]:
    """(full, indexed, sparse) of every layer; the lists of the config count from 1."""
    full = set(section(config, "linear_attn_config").integers("full_attn_layers") or ())
    indexed: set[int] = set()
    if config.get("dsa_config") is not None:
        indexed = set(section(config, "dsa_config").integers("dsa_layers") or full)
    count = layer_count(config)
    return [(i + 1 in full, i + 1 in indexed, is_sparse(config, i)) for i in range(count)]


def _parse(config: Config, gguf: str) -> Architecture:
    """The text model in the shape of an MLA model, with what Kimi adds around the layers."""
    hidden, heads = config.integer("hidden_size"), read_kimi_delta(config).heads
    make = cache(lambda full, indexed, sparse: _layer(config, full=full, indexed=indexed, sparse=sparse))
    layers = tuple(make(*kind) for kind in _kinds(config))
    base = latent_architecture(config, gguf, layers, ())
    outer = base.outer
    if config.integer("attn_res_block_size", default=0):
        outer = (*outer, *_residual_score("output_res", hidden))
    return replace(
        base,
        outer=outer,
        vision=() if config.vision is None else moonvit_tower(config.vision),
        parallel_dimensions=(*base.parallel_dimensions, ParallelDimension("linear_attention_heads", heads)),
    )


def parse_linear(config: Config) -> Architecture:
    """Kimi Linear, whose config names its context model_max_length."""
    context = positive(config, "max_position_embeddings", "model_max_length")
    named = Config({**config.published, "max_position_embeddings": context})
    return _parse(named, "kimi-linear")


def parse_k3(config: Config) -> Architecture:
    """Kimi K3."""
    return _parse(config, "kimi-k3")


def parse_k31(config: Config) -> Architecture:
    """Kimi K3.1: K3 with an indexer on its MLA layers."""
    return _parse(config, "kimi-k31")


PARSERS = {
    "KimiLinearForCausalLM": parse_linear,
    "KimiK3ForConditionalGeneration": parse_k3,
    "KimiK31ForConditionalGeneration": parse_k31,
}
