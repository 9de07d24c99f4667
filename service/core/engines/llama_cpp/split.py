"""Which device holds which layers: `-sm layer`, `-ngl` and `-ncmoe` (llama.cpp src/llama-model.cpp)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import ceil
from typing import NamedTuple

from service.core.engines.llama_cpp.shares import Shares
from service.core.identity import ByIdentity


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
    the rest of whole layers from the first, with their cache (`-ngl`), and last the output matrix. The
    percentage is of what the GPUs would hold: tables that are on the host anyway are no part of it.
    """
    target = ceil((shares.total - shares.tables) * percent / 100)
    moved = expert_layers = layers = staging = 0
    if target <= 0:
        return _NOTHING_MOVED
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
    output = moved < target or percent >= _ALL
    # On the host the output is the token embedding itself where the model ties them.
    moved += shares.output - shares.duplicate + shares.vision if output else 0
    return Offload(layers, expert_layers, output, moved, staging)


def devices(shares: Shares, count: int, moved: Offload) -> tuple[Device, ...]:
    """Spread the layers that stay over `count` devices that are alike.

    Layer and output indices are cut into `count` equal parts, because every device has as much free memory
    (`-ts` unset); the output comes last, the vision tower on the first device.
    """
    end, sums = len(shares.layers), _sums(shares)
    result = []
    for number, own in enumerate(layer_ranges(end, count, moved.layers)):
        weights = sums.rest[own.stop] - sums.rest[own.start]
        with_experts = min(max(own.start, moved.expert_layers), own.stop)
        weights += sums.experts[own.stop] - sums.experts[with_experts]
        holds_output = number == count - 1 and not moved.output
        weights += shares.output if holds_output else 0
        weights += shares.vision if number == 0 and not moved.output else 0
        result.append(Device(weights, own, number == count - 1))
    return tuple(result)


def layer_ranges(layers: int, count: int, first: int = 0) -> list[range]:
    """The layers of each of `count` devices, from the first one that stays on a device."""
    placed = layers + 1 - first
    bounds = [min(first + -(-part * placed // count), layers) for part in range(count + 1)]
    return [range(start, max(start, stop)) for start, stop in pairwise(bounds)]


class _Sums(NamedTuple):
    """Bytes of the layers before each, and of all of them."""

    rest: Sequence[int]
    experts: Sequence[int]


def _accumulate(shares: Shares) -> _Sums:
    rest = accumulate((layer.rest for layer in shares.layers), initial=0)
    experts = accumulate((layer.experts for layer in shares.layers), initial=0)
    return _Sums(tuple(rest), tuple(experts))


_sums: ByIdentity[Shares, _Sums] = ByIdentity(_accumulate, capacity=4096)
_NOTHING_MOVED, _ALL = Offload(), 100
