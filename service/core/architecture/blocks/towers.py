"""Vision towers of Kimi, DeepSeek, Z.ai, MiniMax and StepFun, as a few counted parts.

Parameter layouts: mlx-vlm 0.7.10 models/{kimi_k3,deepseek_v41}, transformers 5.24.0
models/{glm5_next,minimax_m3_vl,step3p7}.
"""

from collections.abc import Mapping
from math import prod
from typing import Any

from service.core.architecture.blocks.vision import encoder_parameters, linear_parameters, vision_part
from service.core.architecture.common import positive
from service.core.architecture.config import Config
from service.core.architecture.tensors import Tensor
from service.errors import UnsupportedArchitecture


def moonvit_tower(vision: Mapping[str, Any]) -> tuple[Tensor, ...]:
    """Kimi K3: attention narrower or wider than the stream, a learned grid, a projector with a norm."""
    fields = Config(vision)
    hidden, inner, width = (
        positive(fields, "vt_hidden_size"),
        positive(fields, "qkv_hidden_size"),
        positive(fields, "vt_intermediate_size"),
    )
    merged, text = (
        hidden * prod(fields.integers("merge_kernel_size") or (1, 1)),
        positive(fields, "text_hidden_size"),
    )
    layer = 4 * hidden * inner + 2 * hidden * width + 2 * hidden
    positions = positive(fields, "init_pos_emb_height") * positive(fields, "init_pos_emb_width") * hidden
    return (
        vision_part("patch_embedding", 3 * positive(fields, "patch_size") ** 2 * hidden),
        vision_part("position_embedding", positions),
        vision_part("encoder", positive(fields, "vt_num_hidden_layers") * layer + hidden),
        vision_part("projector", merged * merged + merged * text + text),
    )


def deepseek_tower(vision: Mapping[str, Any], text_hidden: int) -> tuple[Tensor, ...]:
    """DeepSeek V4.1: gated MLPs, biases in attention only, space to depth into a two-layer aligner."""
    fields = Config(vision)
    hidden, width = positive(fields, "hidden_size"), positive(fields, "intermediate_size")
    layer = linear_parameters(hidden, 3 * hidden) + linear_parameters(hidden, hidden)
    layer += 3 * hidden * width + 2 * hidden
    merged = hidden * positive(fields, "downsample_ratio") ** 2
    aligner = linear_parameters(merged, text_hidden) + linear_parameters(text_hidden, text_hidden)
    return (
        vision_part("patch_embedding", linear_parameters(3 * positive(fields, "patch_size") ** 2, hidden)),
        vision_part("encoder", positive(fields, "num_hidden_layers") * layer + hidden),
        vision_part("projector", aligner),
        vision_part("markers", 3 * text_hidden),  # image start, end and new line
    )


def glm5_tower(vision: Mapping[str, Any]) -> tuple[Tensor, ...]:
    """GLM-5.3-Flash: norms on queries and keys, a strided convolution, a gated merger."""
    fields = Config(vision)
    hidden, out, context = (
        positive(fields, "hidden_size"),
        positive(fields, "out_hidden_size"),
        positive(fields, "projection_intermediate_size"),
    )
    head = hidden // positive(fields, "num_heads")
    layer = (
        encoder_parameters(hidden, positive(fields, "intermediate_size"), gated=True, norm_bias=False)
        + 2 * head
    )
    patch = (
        positive(fields, "in_channels")
        * positive(fields, "temporal_patch_size")
        * positive(fields, "patch_size") ** 2
    )
    downsample = linear_parameters(hidden * positive(fields, "spatial_merge_size") ** 2, out)
    return (
        vision_part("patch_embedding", linear_parameters(patch, hidden)),
        vision_part("encoder", positive(fields, "depth") * layer + hidden),
        vision_part("downsample", downsample),
        vision_part("projector", out * out + 2 * out + 3 * out * context),
    )


def minimax_tower(vision: Mapping[str, Any], text_hidden: int, projector: int) -> tuple[Tensor, ...]:
    """MiniMax M3: CLIP layers over pairs of frames, two projectors of two layers each."""
    fields = Config(vision)
    hidden, merge = positive(fields, "hidden_size"), positive(fields, "spatial_merge_size", default=2)
    patch = (
        positive(fields, "num_channels", default=3)
        * positive(fields, "temporal_patch_size", default=2)
        * positive(fields, "patch_size") ** 2
    )
    layer = encoder_parameters(hidden, positive(fields, "intermediate_size"))
    first = linear_parameters(hidden, projector) + linear_parameters(projector, text_hidden)
    merged = linear_parameters(text_hidden * merge**2, projector) + linear_parameters(projector, text_hidden)
    return (
        vision_part("patch_embedding", patch * hidden),
        vision_part("encoder", positive(fields, "num_hidden_layers") * layer + 2 * hidden),
        vision_part("projector", first + merged),
    )


def step_tower(vision: Mapping[str, Any], text_hidden: int) -> tuple[Tensor, ...]:
    """Step-3.7 and Step-5: perception encoder with layer scales, two strided convolutions, one matrix."""
    fields = Config(vision)
    hidden, patch = positive(fields, "width"), positive(fields, "patch_size")
    ratio = fields.get("mlp_ratio", default=_STEP_MLP_RATIO)
    if isinstance(ratio, bool) or not isinstance(ratio, (int, float)) or ratio <= 0:
        raise UnsupportedArchitecture(fields.model_type, ("mlp_ratio",))
    width = round(hidden * ratio)
    layer = encoder_parameters(hidden, width) + 2 * hidden
    downsample = 9 * hidden * 2 * hidden + 2 * hidden + 9 * 2 * hidden * 4 * hidden + 4 * hidden
    return (
        vision_part("patch_embedding", 3 * patch**2 * hidden),
        vision_part("position_embedding", (positive(fields, "image_size") // patch) ** 2 * hidden),
        vision_part("encoder", positive(fields, "layers") * layer + 2 * hidden),
        vision_part("downsample", downsample),
        vision_part("projector", 4 * hidden * text_hidden),
    )


# The class default where the config names no ratio (transformers 5.24.0 step3p7: 8960 / 1536).
_STEP_MLP_RATIO = 8960 / 1536
