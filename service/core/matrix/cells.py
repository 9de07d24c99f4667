"""The cells of one group of accelerators: from one plan to arrays over its members."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from service.core.cost.facts import Offer
from service.core.cost.money import rounded
from service.core.cost.rent import rentals
from service.core.engines import ENGINES
from service.core.matrix.groups import Group
from service.core.matrix.offers import NOTHING, Bytes, Offers
from service.core.matrix.result import CODES, SPEEDS
from service.core.matrix.speeds import Rates, Speeds
from service.core.scenario import Scenario
from service.core.size import host_is_short, is_tight, unsupported
from service.core.sizing import EnginePlan, Verdict
from service.core.speed.constants import SpeedConstants

_LARGEST = 2**63 - 1
_FITS, _TIGHT = CODES[Verdict.FITS], CODES[Verdict.TIGHT]


@dataclass(frozen=True, slots=True)
class Facts:
    """What a matrix looks up: the constants of the speed model, and prices."""

    speed: SpeedConstants
    offers: Sequence[Offer]


@dataclass(frozen=True, slots=True)
class Cells:
    """Figures of one plan. terms: bytes by name, alike on all members; the rest has one entry for each."""

    terms: Mapping[str, int]
    usable: Bytes
    longest: Bytes
    verdicts: NDArray[np.int8]
    decode: Rates
    usd_per_hour: Rates


class GroupCells:
    """What the members of a group have of their own, looked up once for all plans."""

    def __init__(self, group: Group, scenario: Scenario, facts: Facts) -> None:
        self._group, self._facts = group, facts
        self._engine = ENGINES[group.engine]
        self._offers = Offers(group, scenario)
        self._speeds = Speeds(group, facts.speed)
        self._prices: dict[int, Rates] = {}
        self._refusals: dict[int, NDArray[np.bool_]] = {}
        self._longest: tuple[object, Bytes] | None = None
        self._decoded: dict[object, Rates] = {}

    def cells(self, scenario: Scenario) -> Cells:
        """The cells of a scenario, which is the group's own but for model, format and context."""
        plan = self._engine.plan(scenario, limits=not self._offers.shared)
        usable = self._offers.usable(scenario, plan)
        verdicts = self._verdicts(scenario, plan, usable)
        runs = (verdicts == _FITS) | (verdicts == _TIGHT)
        decode = np.full((len(SPEEDS), len(runs)), np.nan)
        if runs.any():
            decode[:, runs] = self._decode(scenario)[:, runs]
        return Cells(
            terms=_terms(plan),
            usable=usable,
            longest=self._longest_contexts(scenario, plan),
            verdicts=verdicts,
            decode=decode,
            usd_per_hour=np.where(runs, self._usd_per_hour(scenario.gpu_count), np.nan),
        )

    def _verdicts(self, scenario: Scenario, plan: EnginePlan, usable: Bytes) -> NDArray[np.int8]:
        """As `judge` has it, for all members at once."""
        total = min(plan.fullest.total, _LARGEST)
        found = np.where(is_tight(total, usable), _TIGHT, _FITS)  # type: ignore[arg-type]  # an array
        found[total > usable] = CODES[Verdict.DOES_NOT_FIT]
        if plan.shortages or host_is_short(scenario, plan):
            found[:] = CODES[Verdict.DOES_NOT_FIT]
        found[(usable == NOTHING) | (not self._engine.modelled)] = CODES[Verdict.UNKNOWN]
        found[self._refused(scenario) | bool(plan.refusals)] = CODES[Verdict.UNSUPPORTED]
        return found.astype(np.int8)

    def _refused(self, scenario: Scenario) -> NDArray[np.bool_]:
        """Members on which the engine does not run the model."""
        key = id(scenario.model)  # models live as long as the question
        if key not in self._refusals:
            moved = (replace(scenario, gpu=member.gpu) for member in self._group.members)
            self._refusals[key] = np.array([bool(unsupported(one)) for one in moved])
        return self._refusals[key]

    def _longest_contexts(self, scenario: Scenario, plan: EnginePlan) -> Bytes:
        """Found once for a model in a format, where the engine says that contexts change nothing."""
        if not self._offers.shared:
            return self._offers.longest(scenario, plan)
        key = (id(scenario.model), scenario.quantization)
        if self._longest is None or self._longest[0] != key:
            self._longest = (key, self._offers.longest(scenario, plan))
        return self._longest[1]

    def _decode(self, scenario: Scenario) -> Rates:
        """Decode speed does not follow from the context, only from the prompt and output that fit it."""
        key = (
            id(scenario.model),
            scenario.quantization,
            scenario.prompt_tokens,
            scenario.output_tokens,
            scenario.kv_cache_dtype,
            scenario.layout,
        )
        if key not in self._decoded:
            self._decoded[key] = self._speeds.decode(scenario)
        return self._decoded[key]

    def _usd_per_hour(self, gpu_count: int) -> Rates:
        """Rent of the accelerators by their best offer."""
        if gpu_count not in self._prices:
            found = (rentals(member.gpu, gpu_count, self._facts.offers) for member in self._group.members)
            self._prices[gpu_count] = np.array(
                [float(rounded(offers[0].usd_per_hour)) if offers else np.nan for offers in found]
            )
        return self._prices[gpu_count]


def _terms(plan: EnginePlan) -> Mapping[str, int]:
    """Bytes over all GPUs, of the fullest one, and in system RAM; absurd ones are cut to 64 bits."""
    whole = plan.total
    found = {f"{name}_bytes": getattr(whole, name) for name in ("total", *whole.__slots__)}
    found |= {"per_gpu_bytes": plan.fullest.total, "host_bytes": plan.host_bytes}
    return {name: min(amount, _LARGEST) for name, amount in found.items()}
