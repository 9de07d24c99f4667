"""What a published quantization_config says about the checkpoint's own format."""

from collections.abc import Mapping, Sequence
from typing import Any

from service.core.architecture.config import Config
from service.core.architecture.model import NativeFormat
from service.core.architecture.tensors import TensorClass

LINEAR_CLASSES = (
    TensorClass.ATTENTION,
    TensorClass.INDEXER,
    TensorClass.LINEAR_ATTENTION,
    TensorClass.STATE_SPACE,
    TensorClass.DENSE_FFN,
    TensorClass.ROUTED_EXPERTS,
    TensorClass.SHARED_EXPERTS,
    TensorClass.LATENT_PROJECTION,
)

# What a pattern of `modules_to_not_convert` leaves at 16 bit. Norms, routers, embedding and output are
# never converted, so patterns that name those say nothing more.
_EXCLUDED_BY = {
    "self_attn": (TensorClass.ATTENTION, TensorClass.INDEXER),
    "linear_attn": (TensorClass.LINEAR_ATTENTION,),
    "indexer": (TensorClass.INDEXER,),
    "shared_expert": (TensorClass.SHARED_EXPERTS,),
}

# Quantization methods whose checkpoints convert the routed experts only.
_EXPERTS_ONLY = {"mxfp4"}


def native_format(
    config: Config, *, classes: Sequence[TensorClass] = LINEAR_CLASSES, assumed: bool = False
) -> NativeFormat:
    """The checkpoint's format: 16 bit without a quantization_config, else the classes it converts.

    classes: what the method converts before `modules_to_not_convert` takes away.
    assumed: no published tensor list confirms the classes.
    """
    published = config.get("quantization_config")
    if not isinstance(published, Mapping):
        return NativeFormat(_sixteen_bit(config))
    method = str(published.get("quant_method") or "").lower()
    encoding = _encoding(method, published)
    if method in _EXPERTS_ONLY:
        classes = (TensorClass.ROUTED_EXPERTS,)
    kept = _kept(published)
    encodings = {part: encoding for part in classes if part not in kept}
    return NativeFormat(method or encoding, encodings, assumed)


def _sixteen_bit(config: Config) -> str:
    """The name of the checkpoint's 16-bit type."""
    return "fp16" if config.get("dtype", "torch_dtype") == "float16" else "bf16"


def _encoding(method: str, published: Mapping[str, Any]) -> str:
    """The encoding id of a converted matrix; FP8 differs by the block that shares a scale."""
    block = published.get("weight_block_size")
    if method == "fp8" and isinstance(block, Sequence) and block:
        return f"fp8_block_{block[0]}"
    return method


def _kept(published: Mapping[str, Any]) -> set[TensorClass]:
    """Classes that the config's list of unconverted modules leaves at 16 bit."""
    patterns = published.get("modules_to_not_convert") or published.get("ignored_layers") or ()
    return {
        part
        for pattern in patterns
        if isinstance(pattern, str)
        # A pattern with a digit names one module of one layer, such as the first dense MLP.
        and not any(character.isdigit() for character in pattern)
        for name, parts in _EXCLUDED_BY.items()
        if name in pattern
        for part in parts
    }
