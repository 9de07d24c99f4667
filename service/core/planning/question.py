"""What a plan is asked for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from service.core.catalogued import Model
from service.core.cost.buy import Purchase
from service.core.cost.estimate import Known, SpeedOf
from service.core.cost.facts import CostFacts
from service.core.cost.rent import Rental
from service.core.hardware import Gpu
from service.core.notes import Note
from service.core.planning.formats import nominal_bits
from service.core.sizing import Sizing, Verdict
from service.core.speed.result import Speed


@dataclass(frozen=True, slots=True)
class Demands:
    """What an option must reach; None where nothing is demanded. Speeds are held to their estimate.

    max_usd_per_hour: of all its accelerators. min_decode_tokens_per_second: of one sequence.
    """

    max_usd_per_hour: float | None = None
    min_decode_tokens_per_second: float | None = None
    max_ttft_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """The scenario of a plan. engine, quantization, gpu_count: None leaves the choice to the plan.

    values: the other parameters of the scenario that were given, by their API names.
    """

    engine: str | None = None
    quantization: str | None = None
    gpu_count: int | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    demands: Demands = Demands()


@dataclass(frozen=True, slots=True)
class Facts:
    """What a plan looks up: prices, and the speed of a sizing."""

    costs: CostFacts
    speed_of: SpeedOf


@dataclass(frozen=True, slots=True)
class Option:
    """A configuration that runs. rental: its best offer. purchase: its lowest price; None where not known.

    purchase_old: the price is too old to be compared by.
    """

    sizing: Sizing
    speed: Known
    rental: Rental | None
    purchase: Purchase | None
    purchase_old: bool = False

    @property
    def bits(self) -> int:
        """Nominal bits of the format."""
        return nominal_bits(self.sizing.scenario.quantization)

    @property
    def gpu(self) -> Gpu:
        """The accelerator."""
        return self.sizing.scenario.gpu

    @property
    def released(self) -> bool:
        """Whether the engine runs here by its own releases."""
        scenario = self.sizing.scenario
        return scenario.gpu.port(scenario.engine, scenario.backend) is None

    @property
    def supported(self) -> bool:
        """Whether the engine is known to run the model, and runs here by its own releases."""
        scenario = self.sizing.scenario
        support = scenario.model.support.get(scenario.engine)
        return support is not None and support.status == "yes" and self.released

    @property
    def calibrated(self) -> bool:
        """Whether its decode speed is of a class with benchmarks."""
        return isinstance(self.speed, Speed) and not self.speed.decode_basis.indicative

    @property
    def rate(self) -> float | None:
        """Estimated tokens/s of one sequence."""
        return self.speed.decode.estimate if isinstance(self.speed, Speed) else None


@dataclass(frozen=True, slots=True)
class Left:
    """What was left out, as far as it is determined, and why; a configuration that runs misses a demand."""

    reason: Note
    verdict: Verdict
    model: Model | None = None
    gpu: Gpu | None = None
    gpu_count: int | None = None
    engine: str | None = None
    quantization: str | None = None
