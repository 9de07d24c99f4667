"""What Gemma 4 puts beside its text model: vision and audio towers, or bare projections (Unified).

Parameter layouts: transformers 5.24.0 models/gemma4, gemma4_unified. The published parameter counts leave
out the four scalar bounds of every clipped linear layer, and so do these.
"""

from service.core.architecture.blocks.vision import linear_parameters, vision_part
from service.core.architecture.common import positive
from service.core.architecture.config import Config
from service.core.architecture.tensors import Tensor
from service.errors import UnsupportedArchitecture


def towers(config: Config, text_hidden: int) -> tuple[Tensor, ...]:
    """The parts that the config names, in the order vision, audio."""
    parts: list[Tensor] = []
    vision, audio = config.vision, config.published.get("audio_config")
    if vision is not None:
        fields = Config(vision)
        unified = fields.get("mm_embed_dim") is not None
        parts += _unified_vision(fields, text_hidden) if unified else _vision(fields, text_hidden)
    if isinstance(audio, dict):
        fields = Config(audio)
        unified = fields.get("audio_embed_dim") is not None
        parts += _unified_audio(fields, text_hidden) if unified else _audio(fields, text_hidden)
    return tuple(parts)


def _vision(fields: Config, text_hidden: int) -> list[Tensor]:
    """A tower with two position tables, gated MLPs, norms around both blocks and on queries and keys."""
    hidden, width = positive(fields, "hidden_size"), positive(fields, "intermediate_size")
    heads, head_dim = positive(fields, "num_attention_heads"), positive(fields, "head_dim")
    kv_heads = positive(fields, "num_key_value_heads", default=heads)
    attention = 2 * hidden * heads * head_dim + 2 * hidden * kv_heads * head_dim
    layer = attention + 3 * hidden * width + 4 * hidden + 2 * head_dim
    encoder = positive(fields, "num_hidden_layers") * layer
    if fields.flag("standardize"):
        encoder += 2 * hidden
    return [
        vision_part("patch_embedding", 3 * positive(fields, "patch_size") ** 2 * hidden),
        vision_part("position_embedding", 2 * positive(fields, "position_embedding_size") * hidden),
        vision_part("encoder", encoder),
        vision_part("projector", hidden * text_hidden),
    ]


def _audio(fields: Config, text_hidden: int) -> list[Tensor]:
    """A Conformer: two convolutions, layers of two half MLPs, relative attention and a light convolution."""
    hidden, heads = positive(fields, "hidden_size"), positive(fields, "num_attention_heads")
    channels = fields.integers("subsampling_conv_channels")
    if channels is None or len(channels) != 2:
        raise UnsupportedArchitecture(fields.model_type, ("subsampling_conv_channels",))
    first, second = channels
    convolutions = 9 * first + first + 9 * first * second + second
    subsampling = convolutions + (first // 4) * second * hidden
    mlp = 2 * 4 * hidden * hidden + 2 * hidden
    attention = 5 * hidden * hidden + hidden // heads
    kernel = positive(fields, "conv_kernel_size")
    light = 3 * hidden * hidden + kernel * hidden + 2 * hidden
    layer = 2 * mlp + attention + light + 3 * hidden
    output = positive(fields, "output_proj_dims")
    return [
        vision_part("audio.subsampling", subsampling),
        vision_part("audio.encoder", positive(fields, "num_hidden_layers") * layer),
        vision_part("audio.projector", linear_parameters(hidden, output) + output * text_hidden),
    ]


def _unified_vision(fields: Config, text_hidden: int) -> list[Tensor]:
    """Merged pixel patches, projected without a tower."""
    width = positive(fields, "mm_embed_dim")
    patch = 3 * (positive(fields, "patch_size") * positive(fields, "pooling_kernel_size")) ** 2
    norms = 2 * patch + 4 * width
    projector = positive(fields, "output_proj_dims", default=width) * text_hidden
    return [
        vision_part("patch_embedding", linear_parameters(patch, width) + norms),
        vision_part("position_embedding", 2 * positive(fields, "mm_posemb_size") * width),
        vision_part("projector", projector),
    ]


def _unified_audio(fields: Config, text_hidden: int) -> list[Tensor]:
    """Waveform frames, projected by one matrix."""
    return [vision_part("audio.projector", positive(fields, "audio_embed_dim") * text_hidden)]
