"""Time of one decode step, by what it is spent on."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import log2

from service.core.arrays import larger, smaller
from service.core.speed.constants import SpeedConstants
from service.core.speed.result import Bound
from service.core.speed.run import Run

_MICRO = 1e-6
_DEFAULT = "other"


@dataclass(frozen=True, slots=True)
class Step:
    """Seconds of one step of all streams of a replica; `seconds` is their sum.

    Within a pipeline the step of one stream passes every stage, with the streams spread over the stages.
    """

    memory: float
    compute: float
    interconnect: float
    host: float

    @property
    def seconds(self) -> float:
        """The whole step."""
        return self.memory + self.compute + self.interconnect + self.host

    @property
    def bound(self) -> Bound:
        """What takes most of it."""
        parts = {Bound(name): getattr(self, name) for name in self.__slots__}
        return max(parts, key=lambda part: parts[part])

    def times(self, factor: float) -> "Step":
        """The same step, slower by a factor."""
        return Step(*(getattr(self, name) * factor for name in self.__slots__))


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a runtime works on a generation of accelerators, in a format.

    weights, caches: part of the bandwidth at which they are read. products: part of the peak that prompts
    reach. The rest as in `Runtime`.
    """

    weights: float
    caches: float
    products: float
    layer_us: float
    expert_layer_factor: float


def pace(runtime: str, generation: str, grain: str, constants: SpeedConstants) -> Pace:
    """The calibrated pace of llama.cpp or MLX; nothing is read faster than the memory delivers."""
    found = constants.runtime(runtime)
    part = pick(found.efficiency, generation) * found.grains.get(grain, 1.0)
    return Pace(
        weights=min(1.0, part),
        caches=min(1.0, part * found.cache_efficiency),
        products=min(1.0, pick(found.mfu, generation) * found.prefill_grains.get(grain, 1.0)),
        layer_us=found.layer_us,
        expert_layer_factor=found.expert_layer_factor,
    )


def step(run: Run, constants: SpeedConstants, own: Pace | None = None) -> Step:
    """One decode step of the streams of a replica; the run's rates and `own` may be arrays over accelerators.

    own: the pace of llama.cpp or MLX, the run's by default.

    llama.cpp and MLX: (weights + caches / e_kv) / (bandwidth * e * grain) + layers * t_layer + hops, and what
    the products of many streams take beyond these reads.
    Serving: tensor-parallel shares of weights and caches, two all-reduces a layer, and the prefills of the
    other streams that fall between the steps. Sums, not maxima: the parts run in turn.
    """
    if not run.layer_split:
        return _serving_step(run, constants)
    return _layer_split_step(run, constants, own or pace(run.runtime, run.generation, run.grain, constants))


def _layer_split_step(run: Run, constants: SpeedConstants, own: Pace) -> Step:
    weights, host = _tiers(run, constants)
    caches = run.sequences * run.cache.on_rank(1)
    memory = (weights / own.weights + caches / own.caches) / run.bandwidth
    return Step(
        memory=memory,
        compute=larger(0.0, _products(run, own.products) - memory),
        interconnect=(run.gpu_count - 1) * constants.hop_us * _MICRO,
        host=host + _layers(run, own.layer_us, own.expert_layer_factor),
    )


def _products(run: Run, mfu: float) -> float:
    """Seconds of the products of all streams, at the rate of a long prompt: they overlap with the reads."""
    if run.weight_peak is None:
        return 0.0
    return run.sequences * 2 * run.work.active_parameters / (run.weight_peak * mfu)


def _tiers(run: Run, constants: SpeedConstants) -> tuple[float, float]:
    """Bytes of weights that the GPUs read, and seconds in which the host reads its own: experts first."""
    sums, share = run.work.weights, run.work.expert_share(run.sequences)
    held = run.host_share * (sums.fixed_bytes + sums.expert_bytes)
    experts = smaller(held, sums.expert_bytes)
    dense = held - experts
    # Only unified memory has a host tier here: its rate is the GPU's own.
    seconds = experts * share / (run.bandwidth * constants.host_expert_efficiency)
    seconds += dense / (run.bandwidth * constants.host_dense_efficiency)
    read = sums.fixed_bytes - dense + (sums.expert_bytes - experts) * share
    return read, seconds


def _serving_step(run: Run, constants: SpeedConstants) -> Step:
    found, layout = constants.serving, run.layout
    tensor = layout.tensor
    batch = max(1.0, run.sequences / layout.pipeline)
    rate = run.bandwidth * found.efficiency
    # Experts are spread over data-parallel ranks too, which all send them their streams.
    experts = run.work.weights.expert_bytes * run.work.expert_share(batch * layout.data) / layout.data
    reads = (run.work.weights.fixed_bytes + experts) / tensor
    caches = batch * run.cache.on_rank(tensor) / found.cache_efficiency
    exchange = (
        2 * run.work.layers * found.exchange_us * log2(tensor) + (layout.pipeline - 1) * constants.hop_us
    )
    whole = Step(
        memory=(reads + caches) / rate,
        compute=_interference(run, found.interference_mfu),
        interconnect=exchange * _MICRO,
        host=_layers(run, found.layer_us, found.expert_layer_factor),
    )
    return whole.times(found.factors.get(run.engine, 1.0))


def _interference(run: Run, mfu: float) -> float:
    """Prefill of the other streams: each brings its prompt once in as many steps as it has output tokens."""
    if run.sequences <= 1 or run.weight_peak is None:
        return 0.0
    tokens = (run.sequences - 1) * run.prompt_tokens / larger(1, run.output_tokens)
    ranks = run.layout.tensor * run.layout.pipeline
    return tokens * 2 * run.work.active_parameters / (ranks * run.weight_peak * mfu)


def _layers(run: Run, layer_us: float, expert_factor: float) -> float:
    """Seconds of launches and small operations."""
    return layer_us * _MICRO * (run.work.layers + (expert_factor - 1) * run.work.expert_layers)


def pick(by_generation: Mapping[str, float], generation: str) -> float:
    """The constant of a generation, or the one of generations that were never measured."""
    return by_generation.get(generation, by_generation[_DEFAULT])
