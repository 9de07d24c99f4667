"""Which device holds which layers: `-sm layer`, `-ngl` and `-ncmoe` (llama.cpp src/llama-model.cpp)."""

from dataclasses import dataclass
from itertools import pairwise
from math import ceil

from service.core.engines.llama_cpp.shares import Shares


@dataclass(frozen=True, slots=True)
class Offload:
    """What moves to the host: whole layers from the first, and the experts of the first layers.

    layers / expert_layers: how many. output: the output matrix moves too. bytes: of all that moves.
    staging: the largest tensor among it, which a device copies in for long batches (op_offload).
    """

    layers: int = 0
    expert_layers: int = 0
    output: bool = False
    bytes: int = 0
    staging: int = 0


@dataclass(frozen=True, slots=True)
class Device:
    """One accelerator: its weights and the indices of the layers whose cache and state live there."""

    weights: int
    layers: range
    last: bool


def offload(shares: Shares, percent: float) -> Offload:
    """Move at least `percent` of the weight bytes to the host, in whole pieces.

    Experts first, a layer's at a time from the first layer (`--n-cpu-moe`); where these do not suffice,
    the rest of whole layers from the first, with their cache (`-ngl`), and last the output matrix. Tables
    that are on the host anyway do not count towards the percentage.
    """
    target = ceil(shares.total * percent / 100)
    moved = expert_layers = layers = staging = 0
    if target <= 0:
        return Offload()
    for layer in shares.layers:
        if moved >= target or not any(one.experts for one in shares.layers):
            break
        moved += layer.experts
        expert_layers += 1
        staging = max(staging, layer.largest if layer.experts else 0)
    for layer in shares.layers:
        if moved >= target:
            break
        moved += layer.rest
        layers += 1
        staging = max(staging, layer.largest)
    output = moved < target
    # On the host the output is the token embedding itself where the model ties them.
    moved += shares.output - shares.duplicate + shares.vision if output else 0
    return Offload(layers, expert_layers, output, moved, staging)


def devices(shares: Shares, count: int, moved: Offload) -> tuple[Device, ...]:
    """Spread the layers that stay over `count` devices that are alike.

    Layer and output indices are cut into `count` equal parts, because every device has as much free memory
    (`-ts` unset); the output comes last, the vision tower on the first device.
    """
    first, end = moved.layers, len(shares.layers)
    placed = end + 1 - first
    bounds = [first + -(-part * placed // count) for part in range(count + 1)]
    bounds[-1] = end + 1
    result = []
    for number, (start, stop) in enumerate(pairwise(bounds)):
        own = range(start, min(stop, end))
        weights = sum(_on_device(shares, index, moved) for index in own)
        holds_output = number == count - 1 and not moved.output
        weights += shares.output if holds_output else 0
        weights += shares.vision if number == 0 and not moved.output else 0
        result.append(Device(weights, own, number == count - 1))
    return tuple(result)


def _on_device(shares: Shares, index: int, moved: Offload) -> int:
    """Bytes of a placed layer without experts that moved."""
    layer = shares.layers[index]
    return layer.rest + (0 if index < moved.expert_layers else layer.experts)
