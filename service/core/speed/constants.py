"""The calibrated constants of the speed model, as config/speed.yaml has them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

UNMEASURED = "llama.cpp other"
USER_REPORTED = "user_reported"


@dataclass(frozen=True, slots=True)
class Runtime:
    """llama.cpp on one backend, or MLX: layers stay whole, several GPUs work one after the other.

    efficiency: part of the memory bandwidth reached, by GPU generation; cache_efficiency: of that, by reads
    of caches. layer_us: time of a layer beside its reads; expert_layer_factor: times that for a layer with
    routed experts. grains: speed of unpacking a format relative to 4 bit. mfu: part of the dense 16-bit peak
    reached in prefill, by generation; expert_mfu and attention_mfu relative to it; prefill_grains as grains.
    """

    layer_us: float
    expert_layer_factor: float
    efficiency: Mapping[str, float]
    cache_efficiency: float = 0.8
    grains: Mapping[str, float] = field(default_factory=dict)
    mfu: Mapping[str, float] = field(default_factory=dict)
    expert_mfu: float = 0.55
    attention_mfu: float = 0.8
    prefill_grains: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Serving:
    """vLLM, SGLang and TensorRT-LLM: tensor parallelism, continuous batching.

    exchange_us: one all-reduce, times log2 of the ranks. interference_mfu: part of the peak that prefills of
    the other streams reach between the steps. factors: time relative to vLLM. first_token_layer_ms: what a
    first token costs at any length, for each layer, by engine. prompt_mfu: of the peak of the weights'
    precision; expert_prompt_mfu and attention_mfu: of the 16-bit peak.
    """

    efficiency: float
    cache_efficiency: float
    layer_us: float
    expert_layer_factor: float
    exchange_us: float
    interference_mfu: float
    factors: Mapping[str, float]
    first_token_layer_ms: Mapping[str, float]
    prompt_mfu: float
    expert_prompt_mfu: float
    attention_mfu: float


@dataclass(frozen=True, slots=True)
class Interval:
    """P10 and P90 of measured / estimated over `rows` held-out measurements of a class."""

    low: float
    high: float
    rows: int


@dataclass(frozen=True, slots=True)
class SpeedConstants:
    """Everything the speed model takes from measurements.

    intervals: by class; `user_reported` is what a class without measurements gets. calibrated: the
    generations for which each runtime was calibrated; the others are indicative. errors: of held-out
    measurements by class.
    """

    as_of: str
    hop_us: float
    runtimes: Mapping[str, Runtime]
    serving: Serving
    host_expert_efficiency: float
    host_dense_efficiency: float
    intervals: Mapping[str, Interval]
    calibrated: Mapping[str, tuple[str, ...]]
    sources: tuple[str, ...] = ()
    errors: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def runtime(self, name: str) -> Runtime:
        """A runtime's constants, or the middle of llama.cpp's backends for one that was never measured."""
        found = self.runtimes.get(name)
        return self.runtimes[UNMEASURED] if found is None else found

    def is_calibrated(self, runtime: str, generation: str) -> bool:
        """Whether benchmarks of the runtime on this generation of accelerators exist."""
        return generation in self.calibrated.get(runtime, ())


def speed_constants(facts: Mapping[str, Any]) -> SpeedConstants:
    """The constants of validated facts, names as in config/speed.yaml."""
    plain = {
        name: facts[name]
        for name in (
            "as_of",
            "hop_us",
            "host_expert_efficiency",
            "host_dense_efficiency",
        )
    }
    return SpeedConstants(
        **plain,
        runtimes={name: Runtime(**row) for name, row in facts["runtimes"].items()},
        serving=Serving(**facts["serving"]),
        intervals={name: Interval(**row) for name, row in facts["intervals"].items()},
        calibrated={name: tuple(row) for name, row in facts["calibrated"].items()},
        sources=tuple(facts["sources"]),
        errors=facts.get("errors", {}),
    )
