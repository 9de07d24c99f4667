"""Checkpoint formats that mix two encodings: four-bit experts among FP8 or 16-bit layers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from service.core.architecture.config import Config
from service.core.architecture.model import NativeFormat
from service.core.architecture.native import LINEAR_CLASSES, native_format
from service.core.architecture.tensors import TensorClass

_EXPERTS = TensorClass.ROUTED_EXPERTS


def mixed_format(
    config: Config, *, classes: Sequence[TensorClass] = LINEAR_CLASSES, assumed: bool = False
) -> NativeFormat:
    """The format of the checkpoint, with the encoding of its routed experts where that is another.

    classes: what the method converts beside the experts. assumed: no published tensor list confirms them.
    Sources: `expert_dtype` (DeepSeek V4), `format` of compressed-tensors with everything else ignored
    (Kimi K3), `moe_quant_algo` (MiniMax M3.1).
    """
    published = config.get("quantization_config")
    if not isinstance(published, Mapping):
        return native_format(config)
    if "mxfp4" in str(published.get("format", "")):
        return NativeFormat("mxfp4", {_EXPERTS: "mxfp4"}, assumed)
    base = native_format(config, classes=classes, assumed=assumed)
    if "fp4" in (config.get("expert_dtype"), published.get("expert_dtype")):
        return replace(base, encodings={**base.encodings, _EXPERTS: "mxfp4"})
    if str(published.get("moe_quant_algo", "")).lower() == "nvfp4":
        return NativeFormat("nvfp4", {**base.encodings, _EXPERTS: "nvfp4"}, assumed)
    return base
