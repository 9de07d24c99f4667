"""Checkpoint formats of posted configs: the quantization methods that Hugging Face repositories publish.

Sources: quantization_config of transformers 5.24.0 (utils/quantization_config.py), compressed-tensors
quant_args.py, ModelOpt hf_quant_config, mlx-lm 0.32.2 utils.py (`quantization`).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from service.core.architecture.config import Config
from service.core.architecture.model import Architecture, NativeFormat
from service.core.architecture.native import native_format
from service.core.architecture.unread import Direction
from service.core.notes import Note
from service.core.weights.encodings import ENCODINGS

# (values are floating point, bits, group or strategy) of compressed-tensors -> format name and encoding.
_COMPRESSED: Mapping[tuple[bool, int, object], tuple[str, str]] = {
    (True, 8, "block"): ("fp8", "fp8_block_128"),
    (True, 8, "channel"): ("fp8", "fp8_channel"),
    (True, 8, "tensor"): ("fp8", "fp8_tensor"),
    (False, 8, "channel"): ("int8", "int8_channel"),
    (False, 4, 128): ("int4", "int4_group_128"),
    (False, 4, 32): ("int4", "int4_group_32"),
    (True, 4, 16): ("nvfp4", "nvfp4"),
    (True, 4, 32): ("mxfp4", "mxfp4"),
}
_FOUR_BIT_GROUPS = {"awq": ("awq-int4", "awq_group_128"), "gptq": ("gptq-int4", "gptq_group_128")}
_BY_METHOD = {"fp8": ("fp8", "fp8_tensor"), "fbgemm_fp8": ("fp8", "fp8_channel")}
_BY_ALGORITHM = {"fp8": ("fp8", "fp8_tensor"), "nvfp4": ("nvfp4", "nvfp4")}
_MLX_GROUP = 64


def with_readable_format(architecture: Architecture, config: Mapping[str, Any]) -> Architecture:
    """The architecture with a native format whose every encoding has a size.

    A method that is not known is read as 16 bit, which is too large, and a remark says so.
    """
    if set(architecture.native.encodings.values()) <= set(ENCODINGS):
        return architecture
    fields = Config(config)
    published = fields.get("quantization_config")
    found = _known(published) if isinstance(published, Mapping) else None
    if found is None:
        remark = Note(Direction.TOO_LARGE.value, {"fields": ["quantization_config"]})
        native = NativeFormat("bf16", assumed=True)
        return replace(architecture, native=native, remarks=(*architecture.remarks, remark))
    name, encoding = found
    if name.startswith(
        "mlx"
    ):  # not by class: embeddings too, and routers at 8 bit, as the format itself has it
        return replace(architecture, native=NativeFormat(name, assumed=True))
    spared = {"modules_to_not_convert": published.get("ignore"), **published}
    parts = native_format(Config({**config, "text_config": None, "quantization_config": spared})).encodings
    return replace(architecture, native=NativeFormat(name, dict.fromkeys(parts, encoding), assumed=True))


def _known(published: Mapping[str, Any]) -> tuple[str, str] | None:
    """Format name and encoding of a quantization_config."""
    method = str(published.get("quant_method") or "").lower()
    if method in _FOUR_BIT_GROUPS:
        usual = published.get("bits", 4) == 4 and published.get("group_size", 128) == 128
        return _FOUR_BIT_GROUPS[method] if usual else None
    if method == "compressed-tensors":
        return _compressed(published)
    if method == "bitsandbytes":
        return ("bnb-nf4", "nf4") if published.get("load_in_4bit") else ("int8", "int8_channel")
    if method == "modelopt":
        return _BY_ALGORITHM.get(str(published.get("quant_algo")).lower())
    if not method and published.get("group_size") == _MLX_GROUP:
        encoding = f"affine_{published.get('bits')}"
        return (f"mlx-{published.get('bits')}bit", encoding) if encoding in ENCODINGS else None
    return _BY_METHOD.get(method)


def _compressed(published: Mapping[str, Any]) -> tuple[str, str] | None:
    """The weights of the first group; models mix groups of one format."""
    groups = published.get("config_groups")
    first = next(iter(groups.values()), None) if isinstance(groups, Mapping) else None
    weights = first.get("weights") if isinstance(first, Mapping) else None
    if not isinstance(weights, Mapping):
        return None
    bits, group = weights.get("num_bits"), weights.get("group_size")
    if not isinstance(bits, int) or not isinstance(group, int | None):
        return None
    strategy = str(weights.get("strategy"))
    return _COMPRESSED.get((weights.get("type") == "float", bits, strategy if bits > 4 else group))
