"""The tensors of a GGUF file with their bytes."""

from collections.abc import Iterator
from functools import lru_cache

from service.core.architecture.model import Architecture, Layer
from service.core.architecture.tensors import Tensor
from service.core.weights.block_types import GgmlType, tensor_bytes
from service.core.weights.checkpoint import native_encoder
from service.core.weights.gguf_recipe import Placed, choose, ordered, subject
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
    layers = [*architecture.layers, *(_in_gguf(architecture.mtp) if mtp else ())]
    placed: list[Placed] = [
        (layer, tensor)
        for layer, tensor in ordered(architecture.outer, layers)
        if tensor.in_gguf and (unused_kv or not _unused_kv(tensor))
    ]
    types = _types(architecture, recipe, placed, len(layers))
    return tuple(_weighed(placed, types))


def _weighed(placed: list[Placed], types: Iterator[GgmlType]) -> Iterator[Weighed]:
    """Each tensor with its bytes; layers that are alike share their tensors, mostly in the same type."""
    known: dict[int, tuple[GgmlType, int, str]] = {}
    for (layer, tensor), chosen in zip(placed, types, strict=True):
        found = known.get(id(tensor))
        if found is None or found[0] is not chosen:
            found = known[id(tensor)] = (chosen, _bytes(chosen, tensor.shape), chosen.label)
        yield Weighed(tensor, layer, found[1], found[2])


def _types(architecture: Architecture, recipe: str, placed: list[Placed], layers: int) -> Iterator[GgmlType]:
    if recipe in _SIXTEEN:
        encode = native_encoder(architecture)
        name = architecture.gguf_architecture
        for _, tensor in placed:
            native = encode(tensor)
            quantized = None if native in (tensor.dtype.value, "bf16") else native
            yield source_type(tensor, name, _SIXTEEN[recipe], quantized)
        return
    yield from choose(SCHEMES[recipe], subject(architecture, placed, layers), placed)


def _in_gguf(layers: tuple[Layer, ...]) -> Iterator[Layer]:
    return (layer for layer in layers if any(tensor.in_gguf for tensor in layer.tensors))


def _unused_kv(tensor: Tensor) -> bool:
    return not tensor.active and tensor.role.startswith(("attn_k", "attn_v"))
