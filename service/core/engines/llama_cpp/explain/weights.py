"""The weights of each device: its layers, counted by their size, and what stands outside the layers."""

from collections import Counter

from service.core.architecture.tensors import TensorClass
from service.core.derivation.expressions import Expression, add
from service.core.derivation.facts import rule
from service.core.derivation.steps import Topic, Trace, Unit
from service.core.derivation.weights import WeightSteps
from service.core.engines.llama_cpp.plan import Arrangement
from service.core.engines.llama_cpp.split import Device, devices
from service.core.scenario import Scenario
from service.core.sizing import Sourced
from service.core.weights.table import WeightTable

_PLACED = "llama.cpp src/llama-model.cpp: input tensors on the host, output on the last device"
_MOVED = rule("experts of the first layers (-ncmoe), then whole layers (-ngl), until the share is reached")


class Weights:
    """Steps for the weights by place."""

    def __init__(
        self,
        trace: Trace,
        scenario: Scenario,
        table: WeightTable,
        arranged: Arrangement,
        model: WeightSteps,
    ) -> None:
        self._trace, self._arranged, self._model = trace, arranged, model
        self._source = Sourced(table.evidence, f"{table.source}; {_PLACED}")
        self._devices = devices(arranged.placed, scenario.gpu_count, arranged.moved)

    def on_device(self, group: int) -> Expression:
        """Bytes of the weights on a device of the load's group of this number.

        One device holds the model without what stays on the host, and the output matrix where it is a copy;
        several hold whole layers.
        """
        self._trace.about(Topic.WEIGHTS)
        device = self._device(group)
        if len(self._devices) == 1:
            return self._whole()
        sizes = Counter(self._layer_bytes(index) for index in device.layers)
        parts = []
        for size, count in sizes.items():
            layers = self._trace.given(
                "layers_of_size", count, Unit.LAYERS, rule(_PLACED), bytes=size, group=group + 1
            )
            parts.append(layers * self._layer(size))
        return add([*parts, *self._outside(device)])

    def on_host(self) -> Expression:
        """Bytes that stay in system RAM: input tensors, and what was moved there."""
        self._trace.about(Topic.WEIGHTS)
        inputs = self._inputs()
        return inputs + self._moved() if self._arranged.moved.bytes else inputs

    def _whole(self) -> Expression:
        placed, moved = self._arranged.placed, self._arranged.moved
        held = self._model.total - self._inputs()
        if placed.duplicate and not moved.output:
            held += self._trace.follows(
                "output_copy",
                self._model.of(TensorClass.EMBEDDING),
                Unit.BYTES,
                self._source,
                figure=placed.duplicate,
            )
        return held - self._moved() if moved.bytes else held

    def _inputs(self) -> Expression:
        """Token embedding and lookup tables, which the host keeps."""
        classes = (TensorClass.EMBEDDING, TensorClass.LOOKUP_TABLE)
        figure = self._arranged.placed.tables
        return self._trace.follows(
            "input_tensors", self._model.of(*classes), Unit.BYTES, self._source, figure=figure
        )

    def _moved(self) -> Expression:
        return self._trace.given("moved_weights", self._arranged.moved.bytes, Unit.BYTES, _MOVED)

    def _device(self, group: int) -> Device:
        """The first device of a group; groups are in the order of their first device."""
        wanted = self._arranged.load.groups[group]
        return next(
            device
            for device in self._devices
            if device.weights == wanted.weights
            and device.last == wanted.last
            and len(device.layers) == sum(count for _, count in wanted.layers)
        )

    def _layer_bytes(self, index: int) -> int:
        layer, moved = self._arranged.placed.layers[index], self._arranged.moved
        return layer.rest + (0 if index < moved.expert_layers else layer.experts)

    def _layer(self, size: int) -> Expression:
        return self._trace.given("layer_weights", size, Unit.BYTES, self._source)

    def _outside(self, device: Device) -> list[Expression]:
        """Output matrix with the final norms on the last device, vision tower on the first."""
        placed, moved = self._arranged.placed, self._arranged.moved
        if moved.output:
            return []
        parts = []
        if device.last:
            parts.append(self._fact("output_weights", placed.output))
        if device is self._devices[0] and placed.vision:
            parts.append(self._fact("vision_weights", placed.vision))
        return parts

    def _fact(self, name: str, size: int) -> Expression:
        return self._trace.given(name, size, Unit.BYTES, self._source)
