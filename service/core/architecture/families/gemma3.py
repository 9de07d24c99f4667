"""Gemma 3: five sliding layers for each full one, norms around both blocks, SigLIP beside it."""

from dataclasses import replace

from service.core.architecture.blocks.attention import GroupedQuery, QueryKeyNorm, attention_tensors
from service.core.architecture.blocks.feed_forward import dense
from service.core.architecture.blocks.primitives import embeddings
from service.core.architecture.blocks.vision import siglip_tower
from service.core.architecture.common import layer_kinds, positive, read_common, width_dimension
from service.core.architecture.config import Config
from service.core.architecture.families._plain import sandwich_norm, uniform_layers, windows_of_kinds
from service.core.architecture.model import Architecture, FeedForward


def parse_gemma3(config: Config) -> Architecture:
    """Embeddings are tied by default."""
    common = read_common(config, tied_by_default=True)
    shape = GroupedQuery(
        common.hidden,
        common.heads,
        common.kv_heads,
        common.head_dim,
        qkv_bias=config.flag("attention_bias"),
        output_bias=config.flag("attention_bias"),
        norm=QueryKeyNorm.PER_HEAD,
    )
    after = dense(common.hidden, common.dense_width)
    pattern = positive(config, "sliding_window_pattern", default=6)
    kinds = layer_kinds(config, common.layers, pattern, "full_attention", "sliding_attention")
    arch = common.architecture(
        "gemma3",
        embeddings(common.vocabulary, common.hidden, tied=common.tied),
        uniform_layers(
            shape,
            sandwich_norm(common.hidden, attention_tensors(shape), after),
            FeedForward.DENSE,
            windows_of_kinds(config, kinds),
        ),
        width_dimension("dense_width", common.dense_width),
    )
    vision = siglip_tower(config.vision, common.hidden) if config.vision else ()
    return replace(arch, vision=vision)


PARSERS = {"Gemma3ForConditionalGeneration": parse_gemma3, "Gemma3ForCausalLM": parse_gemma3}
