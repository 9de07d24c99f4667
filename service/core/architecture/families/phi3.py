"""Phi-3, Phi-4: query, key and value in one matrix, gate and up in one matrix."""

from collections.abc import Mapping

from service.core.architecture.blocks.attention import GroupedQuery, attention_tensors
from service.core.architecture.blocks.feed_forward import dense
from service.core.architecture.blocks.primitives import embeddings
from service.core.architecture.common import Common, positive, read_common, width_dimension
from service.core.architecture.config import Config
from service.core.architecture.families._plain import full_attention, pre_norm, uniform_layers
from service.core.architecture.model import Architecture, FeedForward
from service.core.architecture.tensors import Dtype, Tensor, TensorClass


def parse_phi3(config: Config) -> Architecture:
    """All layers slide when sliding_window is set (Phi-3 mini 4k)."""
    common = read_common(config)
    shape = GroupedQuery(common.hidden, common.heads, common.kv_heads, common.head_dim, fused_qkv=True)
    after = dense(common.hidden, common.dense_width, fused=True)
    window = None if config.get("sliding_window") is None else positive(config, "sliding_window")
    return common.architecture(
        "phi3",
        (
            *embeddings(common.vocabulary, common.hidden, tied=common.tied),
            *_long_rope_factors(common),
        ),
        uniform_layers(
            shape,
            pre_norm(common.hidden, attention_tensors(shape), after),
            FeedForward.DENSE,
            full_attention(common) if window is None else (window,) * common.layers,
        ),
        width_dimension("dense_width", common.dense_width),
    )


def _long_rope_factors(common: Common) -> tuple[Tensor, ...]:
    """LongRoPE's two factor lists live in the config, in GGUF they are tensors."""
    scaling = common.config.get("rope_scaling", "rope_parameters")
    if not isinstance(scaling, Mapping) or "long_factor" not in scaling:
        return ()
    return tuple(
        Tensor(
            f"rope_factors_{name}.weight",
            (len(scaling[f"{name}_factor"]),),
            TensorClass.OTHER,
            dtype=Dtype.F32,
            in_checkpoint=False,
        )
        for name in ("long", "short")
    )


PARSERS = {"Phi3ForCausalLM": parse_phi3}
