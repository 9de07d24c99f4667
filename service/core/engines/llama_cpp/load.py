"""What the fullest device holds at a given pool; evaluated many times by the limits, so built to be cheap."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from service.core.architecture.model import Architecture, Layer
from service.core.arrays import larger
from service.core.engines.llama_cpp.cache import layer_cache_bytes, transposed_value_width
from service.core.engines.llama_cpp.compute import Graph, layer_stage_bytes, output_stage_bytes
from service.core.engines.llama_cpp.layers import Counts, Kinds
from service.core.engines.llama_cpp.pool import Pool
from service.core.engines.llama_cpp.split import Device
from service.core.engines.llama_cpp.state import layer_state_bytes
from service.core.sizing import Memory

# GGML_SCHED_MAX_COPIES: inputs in flight when several devices work as a pipeline.
PIPELINE_COPIES = 4


@dataclass(frozen=True, slots=True)
class Group:
    """`count` devices that hold the same: weights in bytes and, for each kind of layer, how many of it.

    weights: one number, or an array over formats, which the pool's arrays over contexts must broadcast with.
    """

    weights: int
    layers: Counts
    last: bool
    count: int = 1


@dataclass(frozen=True, slots=True)
class Load:
    """Everything but the pool that decides the memory of the devices.

    kinds: one layer of each kind that is alike in what it keeps. host: layers on the host, by kind.
    overhead: bytes of the context of each device. staging: weights copied in from the host.
    drafts: draft tokens a step. drafting: a draft context of the model's own layers has its own graph.
    pipelined: several devices work as a pipeline, which keeps its inputs several times.
    """

    architecture: Architecture
    graph: Graph
    kinds: tuple[Layer, ...]
    groups: tuple[Group, ...]
    host: Counts
    overhead: int
    staging: int = 0
    drafts: int = 0
    drafting: bool = False
    pipelined: bool = False

    def memories(self, pool: Pool) -> tuple[Memory, ...]:
        """The memory of one device of each group, in order."""
        costs = self._costs(pool)
        plain, final = self._compute(pool)
        return tuple(
            Memory(
                weights=group.weights,
                kv_cache=sum(costs[kind][0] * count for kind, count in group.layers),
                recurrent_state=sum(costs[kind][1] * count for kind, count in group.layers),
                compute_buffers=final if group.last else plain,
                runtime_overhead=self.overhead,
            )
            for group in self.groups
        )

    def _compute(self, pool: Pool) -> tuple[int, int]:
        """Compute buffers of a device without and with the output layer."""
        outputs = output_stage_bytes(self.graph, pool, pool.sequences * (1 + self.drafts))
        layers = layer_stage_bytes(self.graph, pool, PIPELINE_COPIES if self.pipelined else 1)
        final = larger(layers, outputs) + self.staging
        if self.drafting:
            own = layer_stage_bytes(self.graph, pool) if self.pipelined else layers
            final = final + larger(own, outputs)
        if len(self.groups) == 1:
            return final, final
        return larger(layers, output_stage_bytes(self.graph, pool, 0)) + self.staging, final

    def host_bytes(self, pool: Pool) -> int:
        """Cache and state of the layers that are on the host."""
        if not self.host:
            return 0
        costs = self._costs(pool)
        return sum(sum(costs[kind]) * count for kind, count in self.host)

    def fullest(self, pool: Pool) -> int:
        """Bytes of the device that holds most."""
        costs = [cache + state for cache, state in self._costs(pool)]
        plain, final = self._compute(pool)
        most = 0
        for group in self.groups:
            kept = sum(costs[kind] * count for kind, count in group.layers)
            most = larger(most, group.weights + kept + (final if group.last else plain))
        return self.overhead + most

    def _costs(self, pool: Pool) -> list[tuple[int, int]]:
        """Cache and state bytes of a layer of each kind."""
        widest = transposed_value_width(self.architecture, pool)
        return [
            (
                layer_cache_bytes(layer, pool, widest),
                layer_state_bytes(layer, pool.sequences, pool.rollback),
            )
            for layer in self.kinds
        ]


def group(devices: Iterable[Device], kinds: Kinds) -> tuple[Group, ...]:
    """Devices that hold the same weights and kinds of layers, counted; in the order of the first of each."""
    counted = Counter((device.weights, kinds.among(device.layers), device.last) for device in devices)
    return tuple(Group(*alike, count) for alike, count in counted.items())
