"""What one forward pass reads and computes for the weights of a model in one format."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from service.core.architecture.model import Architecture, FeedForward, Layer, LayerKind
from service.core.architecture.tensors import TensorClass
from service.core.catalogued import Model
from service.core.identity import ByIdentity
from service.core.weights.derived import FromWeights
from service.core.weights.formats import Family
from service.core.weights.table import Weighed, WeightTable

_EXPERTS = (FeedForward.MOE, FeedForward.LATENT_MOE)
# The number format that matrix products run in, by how an encoding's name begins; others run in 16 bit.
_PRECISIONS = {"fp8": "fp8", "mxfp8": "fp8", "int8": "int8", "nvfp4": "fp4", "mxfp4": "fp4"}


@dataclass(frozen=True, slots=True)
class WeightSums:
    """Sums over a weight table; lookup tables and vision are left out, an embedding counts as output only.

    fixed_*: read whole in every step. expert_*: all routed experts. precision: number format of most bytes.
    """

    fixed_bytes: int
    expert_bytes: int
    fixed_parameters: int
    expert_parameters: int
    precision: str


@dataclass(frozen=True, slots=True)
class Work:
    """The weights that a step reads and the layers that it passes.

    layers: blocks of a mixer with its feed-forward; a layer that has only one of both counts half.
    expert_layers: those with routed experts, counted alike.
    """

    weights: WeightSums
    layers: float
    expert_layers: float
    experts: int
    experts_per_token: int

    def expert_share(self, tokens: float) -> float:
        """Part of the routed experts that `tokens` tokens touch when each chooses evenly: 1-(1-k/E)**B."""
        if not self.experts:
            return 0.0
        return 1.0 - float((1 - self.experts_per_token / self.experts) ** tokens)

    def bytes_read(self, tokens: float) -> float:
        """Bytes of weights that a pass over `tokens` tokens reads."""
        return self.weights.fixed_bytes + self.weights.expert_bytes * self.expert_share(tokens)

    @property
    def active_expert_parameters(self) -> float:
        """Parameters of the routed experts that one token passes."""
        return self.weights.expert_parameters * self.experts_per_token / self.experts if self.experts else 0.0

    @property
    def active_parameters(self) -> float:
        """Parameters that one token is multiplied with."""
        return self.weights.fixed_parameters + self.active_expert_parameters


def work(table: WeightTable, architecture: Architecture) -> Work:
    """The work of one forward pass; the table is summed once while it is remembered."""
    return _work(_sums(table), architecture)


def _work(sums: WeightSums, architecture: Architecture) -> Work:
    experts = architecture.experts
    layers, expert_layers = _layers(architecture)
    return Work(
        weights=sums,
        layers=layers,
        expert_layers=expert_layers,
        experts=experts.count if experts else 0,
        experts_per_token=experts.per_token if experts else 0,
    )


def _count(architecture: Architecture) -> tuple[float, float]:
    layers = sum(_share(layer) for layer in architecture.layers)
    return layers, sum(_share(layer) for layer in architecture.layers if layer.feed_forward in _EXPERTS)


_layers: ByIdentity[Architecture, tuple[float, float]] = ByIdentity(_count)


def _share(layer: Layer) -> float:
    """A whole layer, or half of one where mixers and feed-forwards are layers of their own (Nemotron-H)."""
    alone = layer.kind is LayerKind.FEED_FORWARD or layer.feed_forward is FeedForward.NONE
    return 0.5 if alone else 1.0


def _sum(table: WeightTable) -> WeightSums:
    output = any(item.tensor.tensor_class is TensorClass.OUTPUT for item in table.tensors if _is_read(item))
    bytes_by, parameters_by, encodings = [0, 0], [0, 0], Counter[str]()
    for item in table.tensors:
        if _is_summed(item, output):
            routed = _is_routed(item)
            bytes_by[routed] += item.all_bytes
            parameters_by[routed] += item.count * item.tensor.parameters
            encodings[item.encoding] += item.all_bytes
    (fixed, experts), (fixed_parameters, expert_parameters) = bytes_by, parameters_by
    return WeightSums(fixed, experts, fixed_parameters, expert_parameters, _most(encodings))


def _most(encodings: Mapping[str, int]) -> str:
    """The number format of most bytes."""
    formats = Counter[str]()
    for encoding, size in encodings.items():
        formats[_precision(encoding)] += size
    return formats.most_common(1)[0][0] if formats else "fp16"


_sums: ByIdentity[WeightTable, WeightSums] = ByIdentity(_sum)
_works: FromWeights[Work] = FromWeights(lambda model, table: _work(_sums(table), model.architecture))


def work_of(model: Model, quantization: str, family: Family | None) -> Work:
    """The work of a model in a format; of catalog models it is kept without their weight tables."""
    return _works(model, quantization, family=family)


def _is_read(item: Weighed) -> bool:
    return item.tensor.active and item.tensor.tensor_class not in (
        TensorClass.LOOKUP_TABLE,
        TensorClass.VISION,
    )


def _is_summed(item: Weighed, output: bool) -> bool:
    """Whether a step reads the tensor; an embedding only where no output matrix stands beside it."""
    return _is_read(item) and not (output and item.tensor.tensor_class is TensorClass.EMBEDDING)


def _is_routed(item: Weighed) -> bool:
    return item.tensor.tensor_class is TensorClass.ROUTED_EXPERTS


def _precision(encoding: str) -> str:
    return next((name for start, name in _PRECISIONS.items() if encoding.startswith(start)), "fp16")
