"""The tensors of a GGUF file with their bytes."""

from collections.abc import Callable, Iterable
from functools import lru_cache, partial

from service.core.architecture.model import Architecture
from service.core.weights.block_types import GgmlType, tensor_bytes
from service.core.weights.checkpoint import native_encoder
from service.core.weights.gguf_contents import Placed, gguf_contents
from service.core.weights.gguf_recipe import Chosen, choose
from service.core.weights.gguf_schemes import SCHEMES
from service.core.weights.gguf_source import source_type
from service.core.weights.table import Weighed

_SIXTEEN = {"bf16": GgmlType.BF16, "fp16": GgmlType.F16}

_bytes = lru_cache(maxsize=2**16)(tensor_bytes)


def weigh_gguf(
    architecture: Architecture, recipe: str, *, mtp: bool = False, unused_kv: bool = True
) -> tuple[Weighed, ...]:
    """Every tensor that llama.cpp's converter and llama-quantize write, by layer and name.

    recipe: a key of SCHEMES, or `bf16` / `fp16` for the converter's own output. mtp: the MTP layers that the
    converter knows, appended as further layers (they count as layers for the recipe). unused_kv: also the K
    and V matrices of layers that read another layer's cache; Google's own Gemma 4 files leave them out.
    """
    file = gguf_contents(architecture, mtp, unused_kv)
    types: Callable[[Placed], Iterable[Chosen]]
    if recipe in _SIXTEEN:
        types = _converted(architecture, _SIXTEEN[recipe])
    else:
        types = partial(choose, SCHEMES[recipe], file.subject)
    known: dict[tuple[int, ...], tuple[int, ...]] = {}
    found = [
        (layers[0] if layers else -1, number, placed, chosen, known.setdefault(layers, layers))
        for number, placed in enumerate(file.placed)
        for chosen, layers in types(placed)
    ]
    # As each comes first in the file; a number is that of one tensor, in one type for a layer.
    found.sort(key=lambda entry: entry[:2])
    return tuple(
        Weighed(placed.tensor, layers, _bytes(chosen, placed.tensor.shape), chosen.label)
        for _, _, placed, chosen, layers in found
    )


def _converted(architecture: Architecture, sixteen: GgmlType) -> Callable[[Placed], Iterable[Chosen]]:
    """The converter's own types, the same in every layer."""
    encode = native_encoder(architecture)
    name = architecture.gguf_architecture

    def types(placed: Placed) -> Iterable[Chosen]:
        tensor = placed.tensor
        native = encode(tensor)
        quantized = None if native in (tensor.dtype.value, "bf16") else native
        return ((source_type(tensor, name, sixteen, quantized), placed.layers),)

    return types
