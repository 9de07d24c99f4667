"""Layers that are alike: a model of eighty layers has a handful of kinds, and each is asked for once."""

from collections.abc import Iterable
from dataclasses import dataclass

from service.core.architecture.model import Architecture, Layer
from service.core.architecture.tensors import Tensor
from service.core.identity import ByIdentity


@dataclass(frozen=True, slots=True)
class Alike:
    """Tensors that each of these layers has; without layers, those outside them."""

    tensors: tuple[Tensor, ...]
    layers: tuple[int, ...]


def alike(layers: Iterable[Layer], start: int = 0) -> tuple[Alike, ...]:
    """The layers by the tensors that they share, numbered from `start`; in the order of the first of each."""
    found: dict[int, tuple[tuple[Tensor, ...], list[int]]] = {}
    for number, layer in enumerate(layers, start):
        found.setdefault(id(layer.tensors), (layer.tensors, []))[1].append(number)
    return tuple(Alike(tensors, tuple(numbers)) for tensors, numbers in found.values())


def _stored(architecture: Architecture, mtp: bool) -> tuple[Alike, ...]:
    kinds = [Alike(architecture.outer, ()), *alike(architecture.layers)]
    if mtp:
        kinds += alike(architecture.mtp, len(architecture.layers))
    return tuple(Alike(tuple(t for t in kind.tensors if t.in_checkpoint), kind.layers) for kind in kinds)


# (architecture, with MTP layers, which are numbered behind the others) -> what its checkpoint holds.
checkpoint_contents: ByIdentity[Architecture, bool, tuple[Alike, ...]] = ByIdentity(_stored)
