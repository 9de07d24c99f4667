"""Bytes of weights, gradients and optimizer states, and what ZeRO divides over the GPUs."""

from collections.abc import Mapping
from dataclasses import dataclass

from service.core.architecture.model import Architecture
from service.core.architecture.tensors import Dtype, Tensor
from service.core.finetuning.training import Method, Optimizer
from service.core.identity import ByIdentity
from service.core.units import ceil_div
from service.core.weights.table import Weighed
from service.core.weights.weigh import weigh_architecture

SIXTEEN_BIT = 2
NF4 = "bnb-nf4"
_GATHERED_LAYERS = 2  # the one in use and the one that is prefetched


@dataclass(frozen=True, slots=True)
class BytesPerParameter:
    """Bytes that one trained parameter takes."""

    weights: int
    gradients: int
    optimizer: int


# 16-bit weights and gradients; AdamW keeps a 32-bit master copy and two 32-bit moments, 16 bytes in all.
# Source: Rajbhandari et al. 2020, "ZeRO" (arXiv:1910.02054), section 3.1; bitsandbytes optim/adamw.py.
_FULL: Mapping[Optimizer, BytesPerParameter] = {
    Optimizer.ADAMW: BytesPerParameter(2, 2, 4 + 4 + 4),
    Optimizer.ADAMW_8BIT: BytesPerParameter(2, 2, 1 + 1),
    Optimizer.ADAMW_BF16: BytesPerParameter(2, 2, 2 + 2),
}
# peft keeps adapters of a 16-bit model in 32 bits (autocast_adapter_dtype), so they need no master copy.
_ADAPTER: Mapping[Optimizer, BytesPerParameter] = {
    Optimizer.ADAMW: BytesPerParameter(4, 4, 4 + 4),
    Optimizer.ADAMW_8BIT: BytesPerParameter(4, 4, 1 + 1),
    Optimizer.ADAMW_BF16: BytesPerParameter(2, 2, 2 + 2),
}


def bytes_per_parameter(method: Method, optimizer: Optimizer) -> BytesPerParameter:
    """What a trained parameter takes: of the model in a full fine-tuning, of the adapters otherwise."""
    return (_FULL if method is Method.FULL else _ADAPTER)[optimizer]


@dataclass(frozen=True, slots=True)
class Base:
    """The model as a training loads it: text only, no MTP layers.

    total_bytes: of all weights. gathered_bytes: of the two largest layers' worth that ZeRO-3 has whole at a
    time. scratch_bytes: the largest quantized matrix at 16 bit, 0 where nothing is quantized.
    """

    parameters: int
    total_bytes: int
    gathered_bytes: int
    scratch_bytes: int = 0


def base(architecture: Architecture, method: Method) -> Base:
    """The model's weights in 16 bit, or for QLoRA in nf4 where bitsandbytes replaces an nn.Linear."""
    return (_nf4 if method is Method.QLORA else _sixteen_bit)(architecture)


def shard(amount: int, gpu_count: int, *, divided: bool) -> int:
    """The part of an amount on one GPU, rounded up."""
    return ceil_div(amount, gpu_count) if divided else amount


def _trained(tensor: Tensor) -> bool:
    return tensor.in_checkpoint and tensor.dtype is not Dtype.I64


def _measure(architecture: Architecture) -> Base:
    layers = [sum(t.parameters for t in layer.tensors if _trained(t)) for layer in architecture.layers]
    parameters = sum(layers) + sum(t.parameters for t in architecture.outer if _trained(t))
    largest = max(layers, default=0)
    return Base(parameters, SIXTEEN_BIT * parameters, _GATHERED_LAYERS * SIXTEEN_BIT * largest)


def _measure_nf4(architecture: Architecture) -> Base:
    table = weigh_architecture(architecture, NF4)
    layers = (sum(weighed.bytes for weighed in tensors) for _, tensors in table.kinds())
    return Base(
        parameters=_sixteen_bit(architecture).parameters,
        total_bytes=table.total_bytes,
        gathered_bytes=_GATHERED_LAYERS * max(layers, default=0),
        scratch_bytes=SIXTEEN_BIT * max(map(_quantized, table.tensors), default=0),
    )


def _quantized(weighed: Weighed) -> int:
    return weighed.tensor.parameters if weighed.encoding == "nf4" else 0


_sixteen_bit: ByIdentity[Architecture, Base] = ByIdentity(_measure)
_nf4: ByIdentity[Architecture, Base] = ByIdentity(_measure_nf4)
