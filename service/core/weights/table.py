"""The weights of a model in one format, tensor by tensor."""

from dataclasses import dataclass

from service.core.architecture.tensors import Tensor
from service.core.evidence import Evidence


@dataclass(frozen=True, slots=True)
class Weighed:
    """One tensor's bytes in the chosen format; layer: index of its layer, None outside the layers."""

    tensor: Tensor
    layer: int | None
    bytes: int
    encoding: str


@dataclass(frozen=True, slots=True, weakref_slot=True)
class WeightTable:
    """All tensors that an engine loads, with their bytes.

    total_bytes: sum of the tensors, unless a published size replaces a missing recipe.
    published_file_bytes: size of a published file of this format, beside the recipe's bytes.
    estimated: no recipe and no file exist for the format; the bytes follow a neighbouring format.
    """

    quantization: str
    tensors: tuple[Weighed, ...]
    total_bytes: int
    evidence: Evidence
    source: str
    published_file_bytes: int | None = None
    estimated: bool = False
