"""Which tensors of a safetensors or MLX checkpoint are quantized, and to what."""

from collections.abc import Callable, Mapping

from service.core.architecture.model import Architecture
from service.core.architecture.tensors import Dtype, Tensor, TensorClass
from service.core.weights.encodings import ENCODINGS
from service.core.weights.formats import Format, Selection

Encoder = Callable[[Tensor], str]

# Left at 16 bit by the quantizers of checkpoints (modules_to_not_convert of the published configs).
_SPARED = frozenset(
    {
        TensorClass.EMBEDDING,
        TensorClass.OUTPUT,
        TensorClass.NORM,
        TensorClass.ROUTER,
        TensorClass.VISION,
        TensorClass.LOOKUP_TABLE,
    }
)
_MLX_TABLES = frozenset({TensorClass.EMBEDDING, TensorClass.OUTPUT, TensorClass.LOOKUP_TABLE})
_MLX_GROUP = 64


def unquantized(tensor: Tensor, sixteen: str = "bf16") -> str:
    """The encoding of a tensor that no quantizer touches."""
    return sixteen if tensor.dtype is Dtype.BF16 else tensor.dtype.value


def native_encoder(architecture: Architecture) -> Encoder:
    """The published checkpoint's own mix: classes named by its quantization_config, linear tensors only.

    Lookup tables are embeddings, not linear layers; one that the config names is encoded all the same.
    """
    named: Mapping[TensorClass, str] = architecture.native.encodings

    def encode(tensor: Tensor) -> str:
        encoding = named.get(tensor.tensor_class)
        matrix = tensor.linear or (
            tensor.tensor_class is TensorClass.LOOKUP_TABLE
            and len(tensor.shape) > 1
            and tensor.dtype is Dtype.BF16
        )
        return encoding if encoding and matrix else unquantized(tensor)

    return encode


def format_encoder(chosen: Format, architecture: Architecture) -> Encoder:
    """The tensors that the format's quantizer replaces, everything else as published."""
    encoding = chosen.encoding or "bf16"
    if chosen.selection is Selection.MLX:
        return lambda tensor: _mlx(tensor, encoding)
    experts_only = chosen.selection is Selection.EXPERTS and architecture.experts is not None
    sixteen = encoding if chosen.selection is Selection.NONE else "bf16"

    def encode(tensor: Tensor) -> str:
        routed = tensor.tensor_class is TensorClass.ROUTED_EXPERTS
        replaced = chosen.selection is not Selection.NONE and _linear(tensor)
        if experts_only and not routed:
            replaced = False
        if chosen.selection is Selection.MODULES and routed and len(tensor.shape) > 2:
            replaced = False
        return encoding if replaced else unquantized(tensor, sixteen)

    return encode


def _linear(tensor: Tensor) -> bool:
    return tensor.linear and tensor.tensor_class not in _SPARED and tensor.dtype is Dtype.BF16


def _mlx(tensor: Tensor, encoding: str) -> str:
    """mlx-lm quantizes what has to_quantized and rows of whole groups (utils.py quantize_model)."""
    matrix = len(tensor.shape) > 1 and tensor.shape[-1] % _MLX_GROUP == 0
    if not matrix or tensor.tensor_class is TensorClass.VISION or tensor.dtype is not Dtype.BF16:
        return unquantized(tensor)
    if tensor.tensor_class is TensorClass.ROUTER:
        return "affine_8"
    return encoding if tensor.tensor_class in _MLX_TABLES or tensor.linear else unquantized(tensor)


def encoded_bytes(encoding: str, shape: tuple[int, ...]) -> int:
    """Bytes of a tensor in an encoding of `encodings.ENCODINGS`; KeyError for one that is not there."""
    return ENCODINGS[encoding](shape)
