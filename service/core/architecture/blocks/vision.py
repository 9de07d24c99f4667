"""Vision towers as a few tensors: their bytes count, their inner structure does not.

Parameter layouts: transformers 5.24.0 models/{qwen3_5,siglip,gemma3,pixtral,mistral3,llama4}.
"""

from collections.abc import Mapping
from typing import Any

from service.core.architecture.common import positive
from service.core.architecture.config import Config
from service.core.architecture.tensors import Tensor, TensorClass


def vision_part(name: str, parameters: int) -> Tensor:
    """Everything of one part of the tower, `vision.<name>`; in GGUF it is a file of its own."""
    return Tensor(f"vision.{name}", (parameters,), TensorClass.VISION, in_gguf=False)


def linear_parameters(inputs: int, outputs: int, *, bias: bool = True) -> int:
    """Weight and bias of an `nn.Linear`."""
    return inputs * outputs + (outputs if bias else 0)


def encoder_parameters(
    hidden: int, width: int, *, gated: bool = False, bias: bool = True, norm_bias: bool = True
) -> int:
    """One encoder layer: four attention matrices, an MLP of two (gated: three) matrices, two norms."""
    attention = 4 * linear_parameters(hidden, hidden, bias=bias)
    inward = (2 if gated else 1) * linear_parameters(hidden, width, bias=bias)
    outward = linear_parameters(width, hidden, bias=bias)
    return attention + inward + outward + 2 * hidden * (2 if norm_bias else 1)


def qwen_tower(vision: Mapping[str, Any]) -> tuple[Tensor, ...]:
    """Qwen3.5's tower: 3-D patches, learned positions, a merger of spatial_merge_size squared patches."""
    fields = Config(vision)
    hidden = positive(fields, "hidden_size")
    merged = hidden * positive(fields, "spatial_merge_size") ** 2
    patch = positive(fields, "in_channels") * positive(fields, "temporal_patch_size")
    patch *= positive(fields, "patch_size") ** 2
    merger = (
        2 * hidden
        + linear_parameters(merged, merged)
        + linear_parameters(merged, positive(fields, "out_hidden_size"))
    )
    return (
        vision_part("patch_embedding", linear_parameters(patch, hidden)),
        vision_part("position_embedding", positive(fields, "num_position_embeddings") * hidden),
        vision_part(
            "encoder",
            positive(fields, "depth") * encoder_parameters(hidden, positive(fields, "intermediate_size")),
        ),
        vision_part("projector", merger),
    )


def siglip_tower(vision: Mapping[str, Any], text_hidden: int) -> tuple[Tensor, ...]:
    """SigLIP with Gemma 3's projector: one matrix and a norm without bias."""
    fields = Config(vision)
    hidden, patch = positive(fields, "hidden_size"), positive(fields, "patch_size")
    channels = positive(fields, "num_channels", default=3)
    positions = (positive(fields, "image_size") // patch) ** 2
    layer = encoder_parameters(hidden, positive(fields, "intermediate_size"))
    return (
        vision_part("patch_embedding", linear_parameters(channels * patch**2, hidden)),
        vision_part("position_embedding", positions * hidden),
        vision_part("encoder", positive(fields, "num_hidden_layers") * layer + 2 * hidden),
        vision_part("projector", hidden * text_hidden + hidden),
    )


def pixtral_tower(
    vision: Mapping[str, Any], text_hidden: int, merge: int, *, projector_bias: bool
) -> tuple[Tensor, ...]:
    """Pixtral (gated MLP, no biases) with Mistral 3's patch merger and two projector matrices."""
    fields = Config(vision)
    hidden = positive(fields, "hidden_size")
    layer = encoder_parameters(
        hidden, positive(fields, "intermediate_size"), gated=True, bias=False, norm_bias=False
    )
    projector = hidden + hidden * merge**2 * hidden
    projector += linear_parameters(hidden, text_hidden, bias=projector_bias)
    projector += linear_parameters(text_hidden, text_hidden, bias=projector_bias)
    patch = positive(fields, "num_channels", default=3) * positive(fields, "patch_size") ** 2 * hidden
    return (
        vision_part("patch_embedding", patch),
        vision_part("encoder", positive(fields, "num_hidden_layers") * layer + hidden),
        vision_part("projector", projector),
    )


def llama4_tower(vision: Mapping[str, Any], text_hidden: int) -> tuple[Tensor, ...]:
    """Llama 4: a class token, pixel shuffle into a two-layer MLP, one projector matrix."""
    fields = Config(vision)
    hidden, width = positive(fields, "hidden_size"), positive(fields, "intermediate_size")
    patches = (positive(fields, "image_size") // positive(fields, "patch_size")) ** 2 + 1
    encoder = positive(fields, "num_hidden_layers") * encoder_parameters(hidden, width) + 4 * hidden
    out = positive(fields, "projector_output_dim")
    adapter = linear_parameters(width, positive(fields, "projector_input_dim"), bias=False) + out * out
    return (
        vision_part(
            "patch_embedding",
            positive(fields, "num_channels", default=3) * positive(fields, "patch_size") ** 2 * hidden,
        ),
        vision_part("position_embedding", (patches + 1) * hidden),
        vision_part("encoder", encoder),
        vision_part("adapter", adapter),
        vision_part("projector", positive(fields, "vision_output_dim") * text_hidden),
    )
