"""Formats in the order of what they keep of a model, and which of them a plan tries."""

import re
from collections.abc import Iterable
from functools import lru_cache

from service.core.architecture.model import Architecture
from service.core.architecture.tensors import Tensor, TensorClass
from service.core.catalogued import Model
from service.core.engines.base import Engine
from service.core.identity import ByIdentity
from service.core.weights.block_types import GgmlType
from service.core.weights.derived import FromWeights
from service.core.weights.formats import FORMATS, Family
from service.core.weights.weigh import is_native

AS_PUBLISHED = 16
USUAL_BITS = 4  # formats below are ranked after all others
_DIGITS = re.compile(r"\d+")
# Short on purpose: each step is a sizing. Other formats are tried when they are asked for by name.
LADDERS: dict[Family, tuple[str, ...]] = {
    Family.GGUF: ("native", "q8_0", "q6_k", "q5_k_m", "q4_k_m", "iq4_xs", "q3_k_m", "q2_k"),
    Family.SAFETENSORS: ("native", "fp8", "awq-int4"),
    Family.MLX: ("bf16", "mlx-8bit", "mlx-6bit", "mlx-4bit", "mlx-3bit"),
}
# Kept outside the GPU by some engine, or not loaded by default.
_MAY_STAY_OUTSIDE = (TensorClass.EMBEDDING, TensorClass.LOOKUP_TABLE, TensorClass.VISION)


@lru_cache(256)
def nominal_bits(quantization: str) -> int:
    """Bits that a format's name promises for a weight; 16 for the weights as published.

    An order, not a measured loss: formats of the same number may differ, and a quantized checkpoint that
    was trained that way loses nothing.
    """
    if quantization == "native":
        return AS_PUBLISHED
    found = _DIGITS.search(quantization)
    return int(found[0]) if found else AS_PUBLISHED


def ladder(engine: Engine, architecture: Architecture) -> tuple[str, ...]:
    """Formats that a plan tries on an engine, best first.

    Where the engine loads the published weights, formats of as many bits as they have are left out.
    """
    home = FORMATS[engine.default_format].family
    formats = tuple(name for name in LADDERS[home] if name in engine.formats)
    if "native" not in formats:
        return formats
    if not engine.loads_native(architecture):
        return tuple(name for name in formats if name != "native")
    published = nominal_bits(architecture.native.name)
    return ("native", *(name for name in formats if name != "native" and nominal_bits(name) < published))


def _always_resident(architecture: Architecture) -> int:
    alike: dict[int, int] = {}  # layers that are alike share their tensors
    total = _resident_of(architecture.outer)
    for layer in architecture.layers:
        key = id(layer.tensors)
        if key not in alike:
            alike[key] = _resident_of(layer.tensors)
        total += alike[key]
    return total


def _resident_of(tensors: Iterable[Tensor]) -> int:
    return sum(
        tensor.parameters
        for tensor in tensors
        if tensor.tensor_class not in _MAY_STAY_OUTSIDE
        and tensor.in_gguf
        and tensor.in_checkpoint
        and tensor.active
    )


_resident = ByIdentity(_always_resident)


format_bytes: FromWeights[int] = FromWeights(lambda _, table: table.total_bytes)
"""Bytes of a model's weights in a format; arguments as of `weigh`."""


def least_bytes(model: Model, quantization: str) -> int:
    """Bytes that the weights take on GPUs at the very least; scales and kept tensors only add to it."""
    return int(_resident(model.architecture) * _least_bits(model.architecture, quantization) / 8)


def _least_bits(architecture: Architecture, quantization: str) -> float:
    """Bits of the smallest storage type of a format; promoted tensors only add to it."""
    if is_native(FORMATS[quantization], architecture):
        native = architecture.native
        return AS_PUBLISHED if native.name == "bf16" and not native.encodings else USUAL_BITS
    return _stored_bits(quantization)


@lru_cache(256)
def _stored_bits(quantization: str) -> float:
    types = (stored for stored in GgmlType if quantization.startswith(stored.label))
    stored = max(types, key=lambda found: len(found.label), default=None)
    if stored is None:
        return nominal_bits(quantization)
    return 8 * stored.block_bytes / stored.block_elements
